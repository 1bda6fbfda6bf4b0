"""Routes that list a conversation's messages: in pages, or those after a position, which is called a delta read."""

import re
from itertools import count

from chalice.app import Blueprint, Response

from chalicelib import errors, storage
from chalicelib.conversations import listing, records, store, transcript, visitors
from chalicelib.conversations.rendering import render_status
from chalicelib.conversations.state import MAX_MESSAGES
from chalicelib.http import auth, cors, current_request, etag, pages, parameters, responses
from chalicelib.http.operation import Operation

routes = Blueprint(__name__)

AFTER = re.compile(r"([0-9]{1,7}-[0-9a-f]{16})?")
VERSION = re.compile(r"([!-~]{1,100}\.[0-9a-z]{1,32})?")
ORDERS = ("asc", "desc")
# A delta read's response members other than `data`.
MEMBERS = ("after", "conversation", "reset", "version")
_OF_PAGES = ("limit", "cursor", "order")
_READ = "Messages retrieved successfully"
_list_operation = Operation(
    data="list[models.Message]",
    query=(*_OF_PAGES, "after", "version"),
    position=transcript.POSITION,
    headers=("If-None-Match",),
    bounded=True,
    optional_members=MEMBERS,
    raises=(errors.NotFound,),
)


@routes.route("/agents/{agent_id}/interact/{user_id}/messages", methods=["GET"], cors=cors.VISITORS)
@_list_operation
def list_messages_at_edge(agent_id: str, user_id: str) -> Response:
    """List a conversation's messages, or read the messages after a position.

    This route corresponds to `GET /v3/agents/{agent_id}/convos/{convo_id}/messages`, but accepts agent keys and visitor
    tokens. Visitor tokens cannot read `chatAssignedTo`.
    """
    return _list(agent_id, user_id)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}/messages", methods=["GET"])
@_list_operation
def list_messages(agent_id: str, convo_id: str) -> Response:
    """List a conversation's messages, newest first. New messages do not affect a cursor.

    With `order=asc`, the oldest message comes first. Without `limit`, such a page contains as many messages as fit in
    a response (6 MB), which is the whole conversation. A message's `from` and `ts` default to its turn's values.

    With `after`, read the messages after that position, oldest first. In that case, `limit`, `cursor` and `order` must
    be absent. If the position is empty, or earlier messages have changed, `reset` is true. In that case, `data`
    contains the newest 50 messages, which replace all earlier messages. If `version` is current, the read costs less,
    and the response has no `ETag`.
    """
    return _list(agent_id, convo_id)


def position() -> str | None:
    """Return the query parameter `after`, or None if it is absent. An empty text is no position. Raise Invalid."""
    return _query_text("after", AFTER)


def version() -> str | None:
    """Return the query parameter `version`, which may be empty, or None if it is absent. Raise Invalid."""
    return _query_text("version", VERSION)


def response(message: str, row: store.ConversationRow, delta: transcript.Delta, **members: object) -> Response:
    """Return the response with a delta, the row's version, state and assignee, and additional envelope members."""
    body = {
        **responses.success_members(message),
        **members,
        "data": delta.messages,
        "reset": delta.reset,
        "after": delta.after,
        "version": listing.version_of(row),
        "conversation": render_status(store.read_metadata(row)),
    }
    return responses.json_response(body)


def _query_text(name: str, pattern: re.Pattern[str]) -> str | None:
    value = current_request.query_value(name)
    if value is not None and not pattern.fullmatch(value):
        raise errors.Invalid.member(name, "must be empty, or the value in an earlier response")
    return value


def _list(agent_id: str, conversation_id: str) -> Response:
    limit, cursor, after, known = parameters.limit(), parameters.cursor(), position(), version()
    oldest_first = parameters.choice("order", ORDERS) == "asc"
    if after is not None:
        if any(current_request.query_value(name) is not None for name in _OF_PAGES):
            raise errors.Invalid.member("after", "must be sent without limit, cursor and order")
        return _delta(agent_id, conversation_id, after, known)
    if oldest_first and current_request.query_value("limit") is None:
        limit = MAX_MESSAGES
    page, start = _page_oldest_first if oldest_first else _page_newest_first, int(cursor) if cursor else None
    return storage.retry_on_conflict(lambda: page(_load(agent_id, conversation_id), start, limit))


def _page_newest_first(row: store.ConversationRow, before: int | None, limit: int) -> Response:
    """Return a response that contains the messages numbered below `before`. The oldest message is number 1.

    Raise ConditionFailed as `transcript.read_state` does.
    """
    # A caller may have set any `messagesNum` for a conversation without messages. Unlike `range`, `count` accepts every
    # number.
    numbers = count(store.read_metadata(row)["messagesNum"], -1)
    numbered = zip(numbers, transcript.newest_messages(row), strict=False)
    earlier = ((number, message) for number, message in numbered if before is None or number < before)
    examined = (pages.Examined(str(number), message, number > 1) for number, message in earlier)
    return etag.tagged(pages.bounded_page(_READ, examined, limit), row)


def _page_oldest_first(row: store.ConversationRow, after: int | None, limit: int) -> Response:
    """Return a response that contains the messages numbered above `after`. The oldest message is number 1.

    Raise ConditionFailed as `transcript.read_state` does.
    """
    start = after or 0
    messages = transcript.messages_from(row, start, limit + 1)  # the extra message shows that another page follows
    last = start + len(messages)
    numbered = enumerate(messages[:limit], start + 1)
    examined = (pages.Examined(str(number), message, number < last) for number, message in numbered)
    return etag.tagged(pages.bounded_page(_READ, examined, limit), row)


def _delta(agent_id: str, conversation_id: str, after: str, known: str | None) -> Response:
    """Return the response to a delta read after a position. `known` is the version that the caller knows, if any.

    Raise NotFound if the agent or the conversation does not exist. If the index shows the version that the caller
    knows, the agent is not read. Until its cascading delete reaches the conversation, such a read finds nothing new.
    """
    if after and known:
        entry = listing.find_unchanged(auth.caller().workspace_id, agent_id, conversation_id, known)
        if entry and visitors.is_bound_to(entry) and not store.has_expired(store.read_metadata(entry)):
            return response(_READ, entry, transcript.Delta([], reset=False, after=after), hasMore=False)
    return storage.retry_on_conflict(lambda: _read_delta(agent_id, conversation_id, after))


def _read_delta(agent_id: str, conversation_id: str, after: str) -> Response:
    row = _load(agent_id, conversation_id)
    return etag.tagged(response(_READ, row, transcript.read_delta(row, after), hasMore=False), row)


def _load(agent_id: str, conversation_id: str) -> store.ConversationRow:
    loaded = records.load(agent_id, conversation_id)
    visitors.require_own(loaded.agent.open(), loaded.row)
    return errors.require(loaded.row, "conversation")
