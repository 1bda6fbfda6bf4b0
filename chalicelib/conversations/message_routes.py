"""Routes that append, change, replace and delete a conversation's messages."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import clock, errors
from chalicelib.agents import store as agents
from chalicelib.clients import store as clients
from chalicelib.conversations import message_list_routes, records, reply_check, store, transcript, visitors
from chalicelib.conversations.rendering import RESERVED_BYTES
from chalicelib.conversations.state import (
    MAX_BODY_BYTES,
    MAX_BODY_VALUES,
    MAX_TURNS_BYTES,
    State,
    StateChange,
    apply_change,
    check_limits,
    empty_state,
    prepare_change,
)
from chalicelib.http import auth, bodies, cors, etag, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.conversations import models
else:
    models = LazyModule("chalicelib.conversations.models")

routes = Blueprint(__name__)

_Check = Callable[[store.ConversationRow | None], object]
_ADDED = "Messages added successfully"
_COUNTED = "updateConversationMetadata"
_add_operation = Operation(
    body="models.NewMessages",
    data="list[models.Message]",
    query=("after",),
    optional_members=message_list_routes.MEMBERS,
    headers=("If-Match", "If-None-Match"),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge, errors.LimitReached, *reply_check.ERRORS),
)


@routes.route("/agents/{agent_id}/interact/{user_id}/messages", methods=["POST"], cors=cors.VISITORS)
@_add_operation
def add_messages(agent_id: str, user_id: str) -> Response:
    """Add messages to the end of a conversation. The first message creates the conversation.

    A message whose `mid` is already stored is not added again; the response contains the stored message.
    Therefore, requests can be retried safely. A message without `mid` gets a new id.

    With `replace`, a message whose `mid` is stored replaces the stored message, and does not count as new.

    With `inReplyTo`, messages are added only to the conversation that their author has seen, and not while a person is
    chatting. Otherwise, the request fails with 409, and `conversation` contains the state and the newest message.

    With `assignToUserId`, the client takes over: a conversation without an assignee is assigned to the client, and the
    state becomes `human-chatting`. With `state`, the state becomes this value. A retry changes neither again.

    A visitor token adds messages as the user, so `from` must be `human` or absent. Any other sender is rejected with
    403. The service sets the message's `ts` and ignores its `channel`.
    """
    return _append(agent_id, user_id, etag.check_preconditions)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}/messages", methods=["POST"])
@_add_operation
def add_conversation_messages(agent_id: str, convo_id: str) -> Response:
    """Add messages to the end of an existing conversation, or with `If-None-Match: *`, to a new conversation.

    The body works as in `POST /agents/{agent_id}/interact/{user_id}/messages`.
    """
    return _append(agent_id, convo_id, etag.check_preconditions if etag.is_creation() else _require_match)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}/messages", methods=["PATCH"])
@Operation(
    body="models.NewTurns",
    max_bytes=MAX_BODY_BYTES,
    max_values=MAX_BODY_VALUES,
    data="list[models.Message]",
    warns=True,
    headers=("If-Match",),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge, errors.LimitReached),
)
def replace_messages(agent_id: str, convo_id: str) -> Response:
    """Replace all of a conversation's messages. A message without `mid` gets an id that is derived from its content.

    `lgMessages` is ignored. The service always updates the conversation's counters, so it also ignores
    `updateConversationMetadata`. `warnings` lists `lgMessages`, and `updateConversationMetadata` if it is false.
    """
    body: models.NewTurns = bodies.read()
    agent, row = _read(agent_id, convo_id)
    etag.pin(row)  # a retry must not replace messages that the caller has not read
    now = clock.seconds()
    change = prepare_change(models.StateIn.model_construct(turns=body.turns), now)
    before = transcript.read_state(row, change.text)
    after = apply_change(before, change, now)
    messages = transcript.all_messages(after.turns)
    _save_changed(row, agent, before, after)
    counted = (
        [errors.MemberIssue(path=_COUNTED, message=bodies.IGNORED)] if body.updateConversationMetadata is False else []
    )
    return etag.tagged(responses.success("Messages replaced successfully", messages, counted), row)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}/messages/{message_id}", methods=["PATCH"])
@Operation(
    body="models.MessageChange",
    data="models.Message",
    warns=True,
    headers=("If-Match",),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge),
)
def change_message(agent_id: str, convo_id: str, message_id: str) -> Response:
    """Change a message. Omitted members keep their values, and `null` clears a member.

    `mid` is ignored, and `warnings` lists it. A changed message does not count as new.
    """
    change: models.MessageChange = bodies.read()
    agent, row = _read(agent_id, convo_id)
    before = transcript.read_state(row)
    after = transcript.edit_message(before, message_id, {**change.message}, clock.seconds())
    _save_changed(row, agent, before, after)
    changed = transcript.by_mid(json.loads(after.turns))[message_id]
    ignored = [errors.MemberIssue(path="message.mid", message=bodies.IGNORED)] if "mid" in change.message else []
    message = transcript.message_of_turn(changed)
    return etag.tagged(responses.success("Message updated successfully", message, ignored), row)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}/messages/{message_id}", methods=["DELETE"])
@Operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale))
def delete_message(agent_id: str, convo_id: str, message_id: str) -> Response:
    """Delete a message from a conversation. If the message is sent again, it is stored but does not count as new."""
    agent, row = _read(agent_id, convo_id)
    before = transcript.read_state(row)
    change = StateChange(models.StateIn(delete=models.Deletion(mids=[message_id])))
    after = apply_change(before, change, clock.seconds())
    if after is before:
        raise errors.NotFound.of("message")
    _save_changed(row, agent, before, after)
    return responses.success("Message deleted successfully")


def _read(agent_id: str, conversation_id: str) -> tuple[Document, store.ConversationRow]:
    """Return the agent and the existing conversation. Raise NotFound if either is missing. Check the preconditions."""
    loaded = records.load(agent_id, conversation_id)
    return loaded.agent.open(), _require_match(loaded.row)


def _require_match(row: store.ConversationRow | None) -> store.ConversationRow:
    return etag.require_match(row, "conversation")


def _save_changed(row: store.ConversationRow, agent: Document, before: State, after: State) -> None:
    """Stage a changed state that contains all turns. Raise LimitReached or TooLarge if it exceeds a limit."""
    if after is not before:
        check_limits(agent, before, after)
        _require_response_size(after.turns.decode())
        store.save(row, before, after, agents.display_name(agent))


def _append(agent_id: str, conversation_id: str, check: _Check) -> Response:
    """Add the request's messages. Return a response with all of them, or with those after the query's position."""
    body, position = visitors.restrict_messages(bodies.read()), message_list_routes.position()
    added, row, after = add(agent_id, conversation_id, body, check)
    if row is None or position is None:
        return etag.tagged(responses.success(_ADDED, added), row)
    return etag.tagged(message_list_routes.response(_ADDED, row, transcript.read_delta(row, position, after)), row)


def add(
    agent_id: str, conversation_id: str, body: "models.NewMessages", check: _Check
) -> tuple[list[Document], store.ConversationRow | None, State]:
    """Stage new messages, and the conversation if it does not exist. Return all messages as stored, the row, the state.

    `check` receives the conversation before the change. Raise NotFound if the agent does not exist.
    """
    now = clock.seconds()
    mids = list(dict.fromkeys(mid for message in body.messages if (mid := message.get("mid"))))
    workspace_id, to = auth.caller().workspace_id, body.assignToUserId
    keys = transcript.index_keys(store.key(workspace_id, agent_id, conversation_id).partition, mids)
    loaded = records.load(agent_id, conversation_id, *keys, *([clients.key(workspace_id, to)] if to else []))
    agent, row = loaded.agent.open(), loaded.row
    visitors.require_own(agent, row)
    check(row)
    if to and loaded.extra_rows.pop() is None:
        raise errors.NotFound.of("client")
    new = transcript.new_turns(body.messages, now)
    before = transcript.read_end(row) if row else empty_state(conversation_id)
    stored = transcript.find_stored(row, before, dict(zip(mids, loaded.extra_rows, strict=True))) if row else {}
    current = before
    if row and body.replace and (changed := transcript.changed_turns(new, stored)):
        before, stored = transcript.read_state(row), stored | changed
        current = transcript.replace_turns(before, changed, now)
    after = transcript.add_turns(current, new, stored, now)
    if after is not current:
        reply_check.require_turn(body.inReplyTo, row, before)
        after = after._replace(metadata=_transfer(after.metadata, to, body.state))
    if after is not before:
        row = save_added(loaded, agent, before, after)
    return [transcript.message_of_turn(stored.get(turn["messages"]["mid"], turn)) for turn in new], row, after


def _transfer(metadata: Document, to: str | None, state: str | None) -> Document:
    """Return the metadata after new messages that the client `to` writes, or that set `state`. Either may be None."""
    state = state or (store.WITH_PERSON if to else metadata.get("state"))
    change = {"chatAssignedTo": metadata.get("chatAssignedTo") or to, "state": state}
    return {**metadata, **{name: value for name, value in change.items() if value}}


def save_added(
    loaded: records.AgentAndConversation, agent: Document, before: State, after: State
) -> store.ConversationRow:
    """Stage a state with new messages. Raise LimitReached or TooLarge if it exceeds a limit."""
    check_limits(agent, before, after)
    saved = records.save(loaded, agent, before, after)
    _require_room(saved, after)
    if loaded.row:  # in a new conversation, a crash would leave orphaned index items
        transcript.extend_index(saved, after)
    return saved


def _require_room(row: store.ConversationRow, state: State) -> None:
    """Raise TooLarge if a staged state has more turns than the state route can accept or return."""
    mark, first = transcript.last_mark(row), transcript.first_byte(row, state)
    text = state.turns[mark.end - first :].decode()
    if first + len(state.turns) > MAX_TURNS_BYTES:
        raise errors.TooLarge("The turns of a conversation must be at most 2 MiB of JSON.")
    _require_response_size(text, mark.escaped)


def _require_response_size(text: str, escaped: int = 0) -> None:
    """Raise TooLarge if these turns, plus `escaped` bytes of other turns, do not fit into a state response."""
    if not responses.fits(text, RESERVED_BYTES + escaped):
        raise errors.TooLarge("The turns do not fit into a response; send fewer or shorter messages.")
