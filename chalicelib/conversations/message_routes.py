"""The routes of single messages: adding them to the end of a conversation."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import clock, errors, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import append, store
from chalicelib.conversations.state import State, check_limits, empty
from chalicelib.http import auth, cors, etag, messages
from chalicelib.http.lazy import LazyModule
from chalicelib.http.operation import operation
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.conversations import models
else:
    models = LazyModule("chalicelib.conversations.models")

routes = Blueprint(__name__)

_ADDED = "Messages added successfully"


@routes.route("/agents/{agent_id}/interact/{user_id}/messages", methods=["POST"], cors=cors.CORS)
@operation(
    body="models.NewMessages",
    data="list[models.Message]",
    headers=("If-Match", "If-None-Match"),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge, errors.LimitReached),
    examples="conversations.ADD_MESSAGES",
)
def add_messages(agent_id: str, user_id: str) -> Response:
    """Add messages at the end of a conversation. The first message creates the conversation.

    A message whose `mid` the conversation has is not added again; the answer shows it as it is stored. So a request can
    be repeated. A message without `mid` gets a new one.
    """
    asked: models.NewMessages = messages.body()
    agent, row = _load(agent_id, user_id)
    etag.check_preconditions(row)
    return _append(agent_id, user_id, agent, row, asked)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}/messages", methods=["POST"])
@operation(
    body="models.NewMessages",
    data="list[models.Message]",
    headers=("If-Match", "If-None-Match"),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge, errors.LimitReached),
    examples="conversations.ADD_MESSAGES",
)
def add_conversation_messages(agent_id: str, convo_id: str) -> Response:
    """Add messages at the end of an existing conversation.

    A message whose `mid` the conversation has is not added again; the answer shows it as it is stored. So a request can
    be repeated. A message without `mid` gets a new one.
    """
    asked: models.NewMessages = messages.body()
    agent, row = _load(agent_id, convo_id)
    found = etag.require_match(row, "conversation")
    return _append(agent_id, convo_id, agent, found, asked)


def _load(agent_id: str, conversation_id: str) -> tuple[Document, store.ConversationRow | None]:
    """Read the agent eventually and the conversation strongly consistently, in one request. Raises NotFound."""
    workspace_id = auth.caller().workspace_id
    keys = [agents.key(workspace_id, agent_id), store.key(workspace_id, agent_id, conversation_id)]
    agent, row = storage.find_many(keys)
    return agents.confirm(agent, workspace_id, agent_id).open(), row


def _append(
    agent_id: str,
    conversation_id: str,
    agent: Document,
    row: store.ConversationRow | None,
    asked: "models.NewMessages",
) -> Response:
    """Stage the new messages, in a new conversation if there is no row; answer all of the request as they are stored."""
    now = clock.seconds()
    turns = append.prepare(asked.messages, now)
    before = store.read_end(row, 0) if row else empty(conversation_id)
    stored = {one.mid: one.turn for one in append.elements(before.turns, 0) if one.mid}
    after = append.apply(before, turns, stored, now)
    append.require_room(len(after.turns))
    check_limits(agent, before, after)
    if after is not before:
        row = _save(agent_id, conversation_id, row, before, after, agents.display_name(agent))
    shown = [append.flat(stored.get(turn["messages"]["mid"], turn)) for turn in turns]
    return etag.tagged(messages.success(_ADDED, shown), row)


def _save(
    agent_id: str,
    conversation_id: str,
    row: store.ConversationRow | None,
    before: State,
    after: State,
    agent_name: str | None,
) -> store.ConversationRow:
    if row is None:
        return store.create(auth.caller().workspace_id, agent_id, conversation_id, after, agent_name)
    store.save(row, before, after, agent_name)
    return row
