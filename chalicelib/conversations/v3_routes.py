"""The v3 conversation routes: lists, reads, changes and assignment."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import clock, errors, storage
from chalicelib.agents import store as agents
from chalicelib.clients import store as clients
from chalicelib.conversations import filtered_lists, filters, records, store, transcript
from chalicelib.conversations.rendering import render_v3
from chalicelib.conversations.state import with_write_time
from chalicelib.credentials import scopes
from chalicelib.http import auth, bodies, etag, pages, parameters, responses
from chalicelib.http.operation import Operation
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.conversations import models

routes = Blueprint(__name__)

_WITHOUT_PERSON = "ai-chatting"
_LISTED = "Conversations retrieved successfully"


@routes.route("/v3/agents/{agent_id}/convos", methods=["GET"])
@Operation(
    data="list[models.ConvoMetaV3]",
    query=("page", "limit", "cursor", "inbox", *filters.NAMES),
    bounded=True,
    raises=(errors.NotFound,),
)
def list_agent_conversations(agent_id: str) -> Response:
    """List an agent's conversations that match all filters, newest first.

    `q` searches the user's name, email and phone, the title, and the beginning of the newest message.

    With `inbox=true`, the list contains only conversations that wait for a person, in the state `requested_chat` or
    `human-chatting`. They are ordered by their request for a person or, while a person chats, by their last change.

    A request examines up to 500 conversations, so a page may be short or empty. While `hasMore` is true, pass
    `nextCursor` as `cursor` to continue. Changes may take a second to appear in the list.
    """
    limit, cursor, conditions = parameters.limit(), parameters.cursor(), filters.Filters.from_request()
    workspace_id = auth.caller().workspace_id
    if parameters.page() > 1:
        raise errors.Invalid.member("page", "must be 1; pass nextCursor as cursor to continue")
    if parameters.flag("inbox"):
        entries = filtered_lists.inbox(workspace_id, cursor, limit)
    else:
        entries = filtered_lists.of_agent(workspace_id, agent_id, conditions.since, conditions.until, cursor, limit)
    agents.read_eventually(workspace_id, agent_id)
    return pages.bounded_page(_LISTED, _matching(entries, conditions, storage.join_key(workspace_id, agent_id)), limit)


@routes.route("/v3/convos", methods=["GET"])
@Operation(
    data="list[models.ConvoMetaV3]",
    query=("limit", "cursor", "inbox", *filters.NAMES),
    requires=("inbox",),
    bounded=True,
)
def list_inbox() -> Response:
    """List all agents' waiting conversations, the newest request for a person or last change first.

    A waiting conversation is in the state `requested_chat` or `human-chatting`. `inbox=true` is required, because there
    is no list of all conversations. Pages and filters work as they do for a single agent.
    """
    limit, cursor, conditions = parameters.limit(), parameters.cursor(), filters.Filters.from_request()
    if not parameters.flag("inbox"):
        raise errors.Invalid.member("inbox", "must be true")
    entries = filtered_lists.inbox(auth.caller().workspace_id, cursor, limit)
    return pages.bounded_page(_LISTED, _matching(entries, conditions), limit)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}", methods=["GET"])
@Operation(data="models.ConvoMetaV3", headers=("If-None-Match",), raises=(errors.NotFound,))
def read_conversation(agent_id: str, convo_id: str) -> Response:
    """Read a conversation. `messages` contains up to 20 of its newest messages, newest first.

    `GET …/messages` lists all messages.
    """
    row = errors.require(records.load(agent_id, convo_id).row, "conversation")
    newest = islice(transcript.last_messages(row), parameters.PAGE_SIZE)
    data = {**render_v3(row, store.read_metadata(row)), "messages": [*newest]}
    return etag.tagged(responses.success("Conversation retrieved successfully", data), row)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}", methods=["PATCH"])
@Operation(
    body="models.ConversationChange",
    data="models.ConvoMetaV3",
    warns=True,
    headers=("If-Match", "Prefer"),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge),
)
def change_conversation(agent_id: str, convo_id: str) -> Response:
    """Change a conversation's metadata. Lists and objects are replaced, and `null` clears a member.

    The messages do not change. Members that are unknown to the service are stored as sent, and `warnings` lists them.
    """
    body: models.ConversationChange = bodies.read()
    row = etag.require_match(records.load(agent_id, convo_id).row, "conversation")
    return save_metadata("Conversation updated successfully", row, body.conversation.merge_into)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}/assign", methods=["POST"])
@Operation(
    body="models.Assignment",
    bare="models.AssignedConversation",
    headers=("If-Match",),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge),
)
def assign_conversation(agent_id: str, convo_id: str) -> Response:
    """Assign a conversation to a client of the workspace, or return it to the agent with `null`.

    `assignedUser` is the client. A token that cannot read clients gets only its id.
    If the body contains no `state`, the state becomes `human-chatting`, or `ai-chatting` for `null`. A conversation
    usually begins in the state `ai-chatting`. The state becomes `requested_chat` when the user asks for a person,
    `human-chatting` when it is assigned, and finally `ended_chat`. Transitions are not enforced, and any other string
    is accepted.
    """
    body: models.Assignment = bodies.read()
    to = body.assignToUserId
    assignee = [clients.key(auth.caller().workspace_id, to)] if to else []
    loaded = records.load(agent_id, convo_id, *assignee)
    row = etag.require_match(loaded.row, "conversation")
    if None in loaded.extra_rows:
        raise errors.NotFound.of("client")
    state = body.state or (_WITHOUT_PERSON if to is None else store.WITH_PERSON)
    change = {"chatAssignedTo": to, "delegatedBy": body.delegatedBy, "state": state}
    user = {"assignedUser": _assigned_user(loaded.extra_rows[0])} if to else {}
    return save_metadata("Conversation assigned successfully", row, lambda metadata: {**metadata, **change}, **user)


def _matching(
    examined: Iterable[pages.Examined], conditions: filters.Filters, agent: str | None = None
) -> Iterator[pages.Examined]:
    """Yield the examined entries, with records only for matches. If `agent` is set, matches must belong to it."""
    for position, row, has_more in examined:
        record = None
        if row is not None and agent in (None, row.agent):
            metadata = store.read_metadata(row)
            is_listed = conditions.match(row, metadata) and not store.has_expired(metadata)
            record = render_v3(row, metadata) if is_listed else None
        yield pages.Examined(position, record, has_more)


def _assigned_user(client: clients.ClientRow) -> Document:
    """Return a client's id and, if the caller may read clients, the client's name and email."""
    granted, document = auth.caller().scopes, client.open()
    may_read = granted is None or scopes.covers(granted, scopes.scope_for("clients", "GET"))
    names = [name for name in ("name", "email") if may_read and name in document]
    return {"id": client.client_id, **{name: document[name] for name in names}}


def save_metadata(
    message: str, row: store.ConversationRow, change: Callable[[Document], Document], **members: Document
) -> Response:
    """Save the metadata if it changes, and return a response with the conversation. None clears a member.

    `members` are added to the envelope.
    """
    before = store.read_metadata(row)
    after = {name: value for name, value in change(before).items() if value is not None}
    if not storage.json_equal(before, after):
        after = with_write_time(after, clock.seconds())
        store.save_metadata(row, before, after)
    body = {**responses.success_members(message), **members, "data": render_v3(row, after)}
    return etag.tagged(responses.json_response(body), row)
