"""Delta reads: the route at the edge, and what the other message routes do with a position in the query."""

import re

from chalice.app import Blueprint, Response

from chalicelib import errors, storage
from chalicelib.conversations import listing, records, store, transcript, visitors
from chalicelib.conversations.rendering import render_status
from chalicelib.http import auth, cors, current_request, etag, responses
from chalicelib.http.operation import Operation

routes = Blueprint(__name__)

AFTER = re.compile(r"([0-9]{1,7}-[0-9a-f]{16})?")
VERSION = re.compile(r"([!-~]{1,100}\.[0-9a-z]{1,32})?")
# A delta read's query parameters, and its response members other than `data`.
QUERY, MEMBERS = ("after", "version"), ("after", "conversation", "reset", "version")
_READ = "Messages retrieved successfully"


@routes.route("/agents/{agent_id}/interact/{user_id}/messages", methods=["GET"], cors=cors.VISITORS)
@Operation(
    data="list[models.Message]",
    query=QUERY,
    headers=("If-None-Match",),
    bounded=True,
    optional_members=MEMBERS,
    raises=(errors.NotFound,),
)
def read_new_messages(agent_id: str, user_id: str) -> Response:
    """Read the messages after a position, oldest first.

    Without a position, or if earlier messages have changed, `reset` is true. In that case, `data` contains the newest
    50 messages, which replace all earlier messages. Visitor tokens cannot read
    `chatAssignedTo`.

    If `version` is current, the read costs less, and the response has no `ETag`.
    """
    return read(agent_id, user_id, position() or "", version())


def read(agent_id: str, conversation_id: str, after: str, known: str | None) -> Response:
    """Return the response to a delta read after a position. `known` is the version that the caller knows, if any.

    Raise NotFound if the agent or the conversation does not exist. If the index shows the version that the caller
    knows, the agent is not read. Until its cascading delete reaches the conversation, such a read finds nothing new.
    """
    if after and known:
        entry = listing.find_unchanged(auth.caller().workspace_id, agent_id, conversation_id, known)
        if entry and visitors.is_bound_to(entry) and not store.has_expired(store.read_metadata(entry)):
            return response(_READ, entry, transcript.Delta([], reset=False, after=after), hasMore=False)
    return storage.retry_on_conflict(lambda: _read(agent_id, conversation_id, after))


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


def _read(agent_id: str, conversation_id: str, after: str) -> Response:
    loaded = records.load(agent_id, conversation_id)
    visitors.require_own(loaded.agent.open(), loaded.row)
    row = errors.require(loaded.row, "conversation")
    return etag.tagged(response(_READ, row, transcript.read_delta(row, after), hasMore=False), row)
