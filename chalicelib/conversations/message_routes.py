"""The routes of messages: adding them to the end of a conversation, changing, replacing and deleting them."""

import json
from typing import TYPE_CHECKING, NamedTuple

from chalice.app import Blueprint, Response

from chalicelib import clock, errors, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import retention, store, visitors
from chalicelib.conversations.rendering import RESERVED
from chalicelib.conversations.state import (
    LIMIT,
    MAX_BODY_BYTES,
    MAX_BODY_VALUES,
    Change,
    State,
    apply,
    check_limits,
    empty,
    prepare,
)
from chalicelib.conversations.transcript import append, edit, message_index, parser, turns
from chalicelib.http import auth, bodies, cors, etag, responses
from chalicelib.http.lazy import LazyModule
from chalicelib.http.operation import Operation
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.conversations import models
else:
    models = LazyModule("chalicelib.conversations.models")

routes = Blueprint(__name__)

_ADDED = "Messages added successfully"


@routes.route("/agents/{agent_id}/interact/{user_id}/messages", methods=["POST"], cors=cors.VISITORS)
@Operation(
    body="models.NewMessages",
    data="list[models.Message]",
    headers=("If-Match",),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge, errors.LimitReached),
)
def add_messages(agent_id: str, user_id: str) -> Response:
    """Add messages at the end of a conversation. The first message creates the conversation.

    A message whose `mid` the conversation has is not added again; the answer shows it as it is stored. So a request can
    be repeated. A message without `mid` gets a new one.

    A visitor token adds messages of the user: `from` is `human` or absent, which means the same. Another sender is 403.
    The service sets the `ts` of such a message, and ignores its `channel`.
    """
    loaded = _load(agent_id, user_id)
    etag.check_preconditions(loaded.row)
    return _append(agent_id, user_id, loaded)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}/messages", methods=["POST"])
@Operation(
    body="models.NewMessages",
    data="list[models.Message]",
    headers=("If-Match",),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge, errors.LimitReached),
)
def add_conversation_messages(agent_id: str, convo_id: str) -> Response:
    """Add messages at the end of an existing conversation.

    A message whose `mid` the conversation has is not added again; the answer shows it as it is stored. So a request can
    be repeated. A message without `mid` gets a new one.
    """
    loaded = _load(agent_id, convo_id)
    etag.require_match(loaded.row, "conversation")
    return _append(agent_id, convo_id, loaded)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}/messages", methods=["PATCH"])
@Operation(
    body="models.Messages",
    max_bytes=MAX_BODY_BYTES,
    max_values=MAX_BODY_VALUES,
    data="list[models.Message]",
    headers=("If-Match",),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge, errors.LimitReached),
)
def replace_messages(agent_id: str, convo_id: str) -> Response:
    """Replace all messages of a conversation. A message without `mid` gets one that follows from its content."""
    asked: models.Messages = bodies.read()
    agent, row = _read(agent_id, convo_id)
    etag.pin(row)  # a retry must not replace messages that the caller has not read
    now = clock.seconds()
    change = prepare(models.StateIn.model_construct(turns=edit.as_turns(asked.messages)), now)
    before = store.read_state(row, change.text)
    after = apply(before, change, now)
    shown = parser.all_messages(after.turns)
    _save_changed(row, agent, before, after)
    return etag.tagged(responses.success("Messages replaced successfully", shown), row)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}/messages/{message_id}", methods=["PATCH"])
@Operation(
    body="models.MessageChange",
    data="models.Message",
    warns=True,
    headers=("If-Match",),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge),
)
def change_message(agent_id: str, convo_id: str, message_id: str) -> Response:
    """Change a message. Members that you leave out keep their values, and `null` clears a member.

    `mid` is ignored, and `warnings` lists it. A changed message is not a new one.
    """
    change: models.MessageChange = bodies.read()
    agent, row = _read(agent_id, convo_id)
    before = store.read_state(row)
    after = edit.edit(before, message_id, {**change.message}, clock.seconds())
    _save_changed(row, agent, before, after)
    changed = append.by_mid(json.loads(after.turns))[message_id]
    ignored = [errors.Issue(path="message.mid", message=bodies.IGNORED)] if "mid" in change.message else []
    return etag.tagged(responses.success("Message updated successfully", parser.flat(changed), ignored), row)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}/messages/{message_id}", methods=["DELETE"])
@Operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale))
def delete_message(agent_id: str, convo_id: str, message_id: str) -> Response:
    """Delete a message of a conversation. Sent again later, it is stored, but is not a new message of the user."""
    agent, row = _read(agent_id, convo_id)
    before = store.read_state(row)
    asked = models.StateIn(delete=models.Deletion(mids=[message_id]))
    after = apply(before, Change(asked), clock.seconds())
    if after is before:
        raise errors.NotFound.of("message")
    _save_changed(row, agent, before, after)
    return responses.success("Message deleted successfully")


def _read(agent_id: str, conversation_id: str) -> tuple[Document, store.ConversationRow]:
    """The agent and the existing conversation, in one request. Raises NotFound, PreconditionFailed and Invalid."""
    workspace_id = auth.caller().workspace_id
    agent, row = storage.find_many(
        [agents.key(workspace_id, agent_id), store.key(workspace_id, agent_id, conversation_id)]
    )
    document = agents.confirm(agent, workspace_id, agent_id).open()
    return document, etag.require_match(store.unless_expired(row), "conversation")


def _save_changed(row: store.ConversationRow, agent: Document, before: State, after: State) -> None:
    """Stage a changed state that was read whole. Raises LimitReached and TooLarge."""
    if after is not before:
        check_limits(agent, before, after)
        _require_answerable(after.turns.decode())
        store.save(row, before, after, agents.display_name(agent))


class _Loaded(NamedTuple):
    """What an append reads: the agent, the conversation, and the index items of the messages.

    The conversation is `row`, or `expired` if it has expired; neither if it does not exist.
    """

    agent: Document
    row: store.ConversationRow | None
    expired: store.ConversationRow | None
    places: message_index.Places


def _load(agent_id: str, conversation_id: str) -> _Loaded:
    """Read the agent eventually and the others strongly consistently, in one request. Raises NotFound."""
    asked: models.NewMessages = visitors.restrict_messages(bodies.read())
    workspace_id = auth.caller().workspace_id
    mids = list(dict.fromkeys(mid for message in asked.messages if (mid := message.get("mid"))))
    key = store.key(workspace_id, agent_id, conversation_id)
    keys = [agents.key(workspace_id, agent_id), key, *message_index.keys(key.partition, mids)]
    agent, stored, *places = storage.find_many(keys)
    row = store.unless_expired(stored)
    document = agents.confirm(agent, workspace_id, agent_id).open()
    visitors.require_own(document, row)
    return _Loaded(document, row, None if row else stored, dict(zip(mids, places, strict=True)))


def _append(agent_id: str, conversation_id: str, loaded: _Loaded) -> Response:
    """Stage the new messages, in a new conversation if there is no row; answer the whole request as it is stored."""
    asked: models.NewMessages = bodies.read()
    agent, row, _, places = loaded
    now = clock.seconds()
    new = append.prepare(asked.messages, now)
    before = store.read_end(row) if row else empty(conversation_id)
    stored = _find_stored(row, before, places) if row else {}
    after = append.apply(before, new, stored, now)
    if after is not before:
        check_limits(agent, before, after)
        row = _save(agent_id, conversation_id, loaded, before, after)
    shown = [parser.flat(stored.get(turn["messages"]["mid"], turn)) for turn in new]
    return etag.tagged(responses.success(_ADDED, shown), row)


def _find_stored(row: store.ConversationRow, before: State, places: message_index.Places) -> dict[str, Document]:
    """The turns, by the ids of their messages, of those messages that the conversation has."""
    recent = append.by_mid(one.turn for one in message_index.open_elements(row, before))
    found = {mid: recent[mid] for mid in places if mid in recent}
    return found | message_index.find_stored(row, {mid: place for mid, place in places.items() if mid not in found})


def _save(agent_id: str, conversation_id: str, loaded: _Loaded, before: State, after: State) -> store.ConversationRow:
    """Stage the conversation, and write its index. Raises TooLarge."""
    row, name = loaded.row, agents.display_name(loaded.agent)
    if row is None:
        workspace_id = auth.caller().workspace_id
        days = retention.days_of(workspace_id, loaded.agent)
        row = store.create(workspace_id, agent_id, conversation_id, after, name, days=days, expired=loaded.expired)
        visitors.bind(row)
        _require_room(row, after)
    else:
        store.save(row, before, after, name)
        _require_room(row, after)
        message_index.extend(row, after)  # not of a new conversation: a crash would leave items without one
    return row


def _require_room(row: store.ConversationRow, state: State) -> None:
    """Raise TooLarge for a state with more turns than the state route accepts and answers. After staging the state."""
    mark, first = message_index.last_mark(row), turns.first_byte(row, state)
    text = state.turns[mark.end - first :].decode()
    if first + len(state.turns) > LIMIT:
        raise errors.TooLarge("The turns of a conversation must be at most 2 MiB of JSON.")
    _require_answerable(text, mark.escaped)


def _require_answerable(text: str, escaped: int = 0) -> None:
    """Raise TooLarge for turns that the state route cannot answer; `escaped` is the length of others in an answer."""
    if not responses.fits(text, RESERVED + escaped):
        raise errors.TooLarge("The turns of a conversation must fit into an answer.")
