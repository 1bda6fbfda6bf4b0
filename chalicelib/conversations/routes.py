"""Conversation routes: creation, list, deletion, and the state route (§4.1, §4.2, §4.3)."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import clock, errors, ids
from chalicelib.agents import store as agents
from chalicelib.conversations import listing, records, retention, store, transcript, visitors
from chalicelib.conversations.rendering import render_metadata, state_response
from chalicelib.conversations.state import (
    MAX_BODY_BYTES,
    MAX_BODY_VALUES,
    State,
    apply_change,
    check_limits,
    empty_state,
    prepare_change,
)
from chalicelib.http import auth, bodies, cors, current_request, etag, parameters, privileges, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation

if TYPE_CHECKING:
    from chalicelib.agents import forms
    from chalicelib.conversations import models
else:
    forms = LazyModule("chalicelib.agents.forms")

routes = Blueprint(__name__)


@routes.route("/agents/{agent_id}/interact/{user_id}/state", methods=["POST"], cors=cors.VISITORS)  # §4.3
@Operation(
    body="models.StateIn",
    body_optional=True,
    max_bytes=MAX_BODY_BYTES,
    max_values=MAX_BODY_VALUES,
    bare="models.StateOut",
    warns=True,
    headers=("If-Match", "If-None-Match"),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge, errors.LimitReached),
)
def exchange_state(agent_id: str, user_id: str) -> Response:
    """Read or change a conversation's state.

    An empty body only reads the state. A change is applied in this order: `turns` replaces all turns, `delete` removes
    messages, and `metadata` is merged. The first change creates the conversation. The turns are limited to 2 MiB of
    JSON and 30,000 messages.

    A visitor token can read its conversation, and change `userName`, `userEmail` and `userPhone`. It can make ten
    changes in a row, then one every six minutes; further changes fail with 429. `metadata.ts` is ignored, and any other
    change is rejected with 403. For a visitor token, `agentData` and `chatState` contain only members that are marked
    `x-public`.

    The response contains the new state, and the previous turns as `oldTurns`. If the response is too large, `oldTurns`
    is omitted first, then `agentData`.
    """
    body: models.StateIn = visitors.restrict_change(bodies.read())
    loaded = records.load(agent_id, user_id)
    agent, row = privileges.for_agent_key(loaded.agent.open()), loaded.row
    current_request.request().context["platformName"] = forms.platform(agent)  # for later error responses (§4.3)
    visitors.require_own(agent, row)
    etag.check_preconditions(row)

    now = clock.seconds()
    change = prepare_change(body, now)
    if change.turns is not None:
        etag.pin(row)  # a retry must not replace turns that the caller has not read
    before = transcript.read_state(row, change.text) if row else empty_state(user_id)
    after = apply_change(before, change, now)
    check_limits(agent, before, after)
    response = state_response(agent_id, user_id, agent, before, after)
    if after is not before:
        row = records.save(loaded, agent, before, after)
        visitors.count_change(row)
    return etag.tagged(response, row)


@routes.route("/v3/agents/{agent_id}/convos", methods=["POST"])  # §4.1
@Operation(
    body="models.ConversationIn",
    data="models.CreatedConversation",
    creates=True,
    warns=True,
    headers=("Prefer",),
    raises=(errors.NotFound, errors.TooLarge),
)
def create_conversation(agent_id: str) -> Response:
    """Create a conversation for an agent, with optional metadata. The service assigns the id.

    Members that are unknown to the service are stored as sent, and `warnings` lists them.
    """
    body: models.ConversationIn = bodies.read()
    members = body.conversation.merge_into({})
    workspace_id, conversation_id, now = auth.caller().workspace_id, ids.new_id(), clock.seconds()
    counts = {"ts": now, "messagesNum": 0, "interactionsNum": 0, "lastModified": now}
    state = empty_state(conversation_id)
    state = State({**state.metadata, **counts, **members}, state.turns)
    days = retention.days_of(workspace_id, agents.read_eventually(workspace_id, agent_id).open())
    row = store.create(workspace_id, agent_id, conversation_id, state, days=days)
    title = {"title": members["title"]} if "title" in members else {}
    created = {"id": conversation_id, **title, "createdAt": clock.iso(now)}
    return etag.tagged(responses.success("Conversation created successfully", created), row)


@routes.route("/v2/agents/{agent_id}/convos", methods=["GET"], cors=cors.CORS)  # §4.2
@Operation(data="list[models.ConvoMeta]", query=("page", "cursor"), raises=(errors.NotFound,))
def list_conversations(agent_id: str) -> Response:
    """List an agent's conversations, newest first, 20 per page.

    To continue a list, send its `nextCursor` as `cursor`. New conversations do not affect a cursor, but they shift the
    pages that `page` selects. A new conversation may take a second to appear in the list.

    From the fifth page on, `page` may ignore conversations that were created or deleted in the last two minutes, so
    pages may overlap or leave a gap. To get every conversation, use the cursor.
    """
    workspace_id, cursor, number = auth.caller().workspace_id, parameters.cursor(), parameters.page()
    key = agents.key(workspace_id, agent_id)
    if cursor is None:
        agent, entries = listing.list_page(key, workspace_id, agent_id, number)
    else:
        agent, entries = listing.list_after(key, workspace_id, agent_id, cursor)
    agents.reread_if_missing(agent, workspace_id, agent_id)
    page = entries[: listing.PAGE_SIZE]
    stored = [store.read_metadata(row) for row in listing.with_metadata(page)]
    conversations = [render_metadata(metadata) for metadata in stored if not store.has_expired(metadata)]
    more = page[-1].created if len(entries) > len(page) else None
    return responses.listing("Agent conversations retrieved successfully", conversations, more)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}", methods=["DELETE"])
@Operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale))
def delete_conversation(agent_id: str, convo_id: str) -> Response:
    """Delete a conversation. Its id can be reused."""
    store.delete(etag.require_match(records.load(agent_id, convo_id).row, "conversation"))
    return responses.success("Conversation deleted successfully")
