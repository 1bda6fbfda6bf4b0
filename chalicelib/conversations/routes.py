"""Conversations over HTTP: their list, their creation, and the state route (§4.1, §4.2, §4.3)."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import clock, errors, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import listing, store
from chalicelib.conversations.state import State, apply, check_limits, empty, prepare
from chalicelib.http import auth, cors, etag, messages
from chalicelib.http.operation import operation
from chalicelib.storage import Document, encode_json, sequence

if TYPE_CHECKING:
    from chalicelib.conversations.models import StateIn

routes = Blueprint(__name__)

# For the rest of the answer beside the turns: a state that was stored can always be read.
_ROOM = 500_000


@routes.route("/v3/agents/{agent_id}/convos", methods=["POST"])
@operation(body="models.ConversationIn", data="models.CreatedConversation")
def create_conversation(agent_id: str) -> Response:
    """Create a conversation of an agent; its id is made here. All members of `conversation` are optional."""
    from chalicelib.conversations.models import ConversationIn

    given = messages.body(ConversationIn).conversation.merge_into({})
    conversation_id, now = clock.new_id(), clock.seconds()
    counts = {"ts": now, "messagesNum": 0, "interactionsNum": 0, "lastModified": now}
    state = empty(conversation_id)
    row = _create(agent_id, conversation_id, State({**state.metadata, **counts, **given}, state.turns))
    created = {"id": conversation_id, "title": given.get("title"), "createdAt": clock.iso(now)}
    return etag.tagged(messages.success("Conversation created successfully", created), row)


@routes.route("/v2/agents/{agent_id}/convos", methods=["GET"], cors=cors.CORS)
@operation(data="list[models.ConvoMeta]", query=("page", "cursor"))
def list_conversations(agent_id: str) -> Response:
    """List the conversations of an agent, newest first, 20 on a page.

    With `cursor`, the `nextCursor` of an earlier answer, the list goes on behind the last conversation of
    that answer, whatever has been created meanwhile; with `page` a new conversation shifts the pages.
    """
    cursor, page = messages.cursor(), messages.page()

    def choose(known: listing.Numbers) -> list[int]:
        return known.page(page) if cursor is None else _behind(cursor, known)

    conversations, more = store.listed(auth.caller().workspace_id, agent_id, choose)
    return messages.listing(
        "Agent conversations retrieved successfully",
        _shown(conversations),
        None if more is None else messages.to_cursor(str(more)),
    )


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}", methods=["DELETE"])
@operation(headers=("If-Match",))
def delete_conversation(agent_id: str, convo_id: str) -> Response:
    """Delete a conversation. The pages of the list close up; its id can be used again."""

    def delete() -> None:
        workspace_id = auth.caller().workspace_id
        last = _numbers(sequence.find(workspace_id, agent_id))
        store.delete(etag.require_match(store.find(workspace_id, agent_id, convo_id), "conversation"), last)

    storage.retry_on_conflict(delete)
    return messages.success("Conversation deleted successfully")


@routes.route("/agents/{agent_id}/interact/{user_id}/state", methods=["POST"], cors=cors.CORS)
@operation(body="models.StateIn", whole="models.StateOut", headers=("If-Match", "If-None-Match"))
def exchange_state(agent_id: str, user_id: str) -> Response:
    """Read, replace, shorten or describe the state of a conversation.

    Without a member: read. `turns` replaces the whole state, then the messages of `delete` go, then
    `metadata` merges. The first write creates the conversation. `oldTurns` is the state before; it is left
    out when the answer would grow beyond what a function can answer, and then `agentData`.
    """
    from chalicelib.conversations.models import StateIn

    change = messages.optional_body(StateIn)
    # A replacement rests on what its sender has read: applied to something newer it would undo it unseen.
    attempts = 1 if change.turns is not None and not etag.pins_a_version() else 5
    return storage.retry_on_conflict(lambda: _exchange(agent_id, user_id, change), attempts)


def _exchange(agent_id: str, user_id: str, asked: "StateIn") -> Response:
    from chalicelib.agents import record

    workspace_id = auth.caller().workspace_id
    keys = [agents.key(workspace_id, agent_id), store.key(workspace_id, agent_id, user_id)]
    if asked.model_fields_set:
        keys.append(sequence.key(workspace_id, agent_id))
    agent_row, row, *last = storage.find_many(keys)
    agent = agents.found(agent_row).open()
    messages.request().context["platformName"] = record.platform(agent)
    etag.check_preconditions(row)
    now = clock.seconds()
    change = prepare(asked, now)
    before = store.read_state(row, change.text) if row else empty(user_id)
    after = apply(before, change, now)
    check_limits(agent, before, after)
    # Saved by an earlier run of the request: what was before it is not known any more.
    is_done = row is not None and clock.is_own(row.written)
    turns = after.turns.decode()
    if after is not before and not messages.fits(turns, _ROOM):
        raise errors.TooLarge("turns are too large to be answered.")
    answer = _state_answer(agent_id, user_id, agent, None if is_done else before, after, turns)
    if after is not before and row is not None:
        store.save(row, before, after, agents.display_name(agent))
    elif after is not before:
        row = store.create(workspace_id, agent_id, user_id, after, _numbers(*last), agents.display_name(agent))
    return etag.tagged(answer, row)


def _behind(cursor: str, known: listing.Numbers) -> list[int]:
    if not cursor.isdecimal() or int(cursor) > known.high:
        raise messages.unknown_cursor()
    return known.below(int(cursor))


def _create(agent_id: str, conversation_id: str, state: State) -> store.ConversationRow:
    workspace_id = auth.caller().workspace_id
    last = _numbers(sequence.find(workspace_id, agent_id))
    return store.create(workspace_id, agent_id, conversation_id, state, last)


def _numbers(last: sequence.SequenceRow | None) -> sequence.SequenceRow:
    """The agent's sequence row; without one the agent is not there, or not any more."""
    last = sequence.unless_deleted(last)
    if last is None:
        raise errors.NotFound.of("agent")
    return last


def _state_answer(
    agent_id: str, user_id: str, agent: Document, before: State | None, after: State, turns: str
) -> Response:
    """The answer as text: the turns are passed on as they are stored. Without `oldTurns` where `before` is None."""
    from chalicelib.agents import record

    done = "retrieved" if after is before else "saved"
    members: Document = {
        "platformName": record.platform(agent),
        "success": True,
        "message": f"Conversation state {done} successfully",
        "chatState": _shown([after.metadata])[0],
        "actionMessages": [],
        "agentData": record.v2_form(agent),
        "origin": after.metadata.get("origin"),
        "userID": user_id,
        "agentID": agent_id,
    }
    start = _text(members)
    if before:
        with_old = f'{start},"turns":{turns},"oldTurns":{before.turns.decode()}}}'
        if messages.fits(with_old):
            return messages.text_answer(with_old)
    whole = f'{start},"turns":{turns}}}'
    if messages.fits(whole):
        return messages.text_answer(whole)
    return messages.text_answer(f'{_text({**members, "agentData": None})},"turns":{turns}}}')


def _text(members: Document) -> str:
    """The members that are there, as the beginning of a JSON object."""
    return encode_json({name: value for name, value in members.items() if value is not None}).decode()[:-1]


def _shown(conversations: list[Document]) -> list[Document]:
    """The members of metadata that the specification has."""
    from chalicelib.conversations.models import ConvoMeta

    known = ConvoMeta.model_fields
    return [{name: value for name, value in one.items() if name in known} for one in conversations]
