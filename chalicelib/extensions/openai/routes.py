"""Routes of the OpenAI Conversations API. An item is a message of the conversation, and metadata are its labels."""

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Request, Response

from chalicelib import clock, errors, ids, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import filtered_lists, message_routes, records, store, transcript, v3_routes
from chalicelib.conversations.state import State, empty_state, with_write_time
from chalicelib.extensions.openai import items, reader
from chalicelib.http import auth, bodies, cors, pages, parameters, responses
from chalicelib.http.operation import Operation
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.extensions.openai import models

routes = Blueprint(__name__)

_CONVERSATIONS = "/agents/{agent_id}/openai/v1/conversations"
_CONVERSATION = f"{_CONVERSATIONS}/{{convo_id}}"
_DELETION = (errors.NotFound, errors.Stale)
_ADDITION = (errors.NotFound, errors.TooLarge, errors.LimitReached)


@routes.route(_CONVERSATIONS, methods=["GET"], cors=cors.CORS)
@Operation(bare="models.OpenObject", query=("limit", "after"), raises=(errors.NotFound,))
def list_openai_conversations(agent_id: str) -> Response:
    """List an agent's conversations, newest first. OpenAI has no such operation."""
    limit, after, workspace_id = parameters.limit(), parameters.text("after"), auth.caller().workspace_id
    if after is None:
        agents.read_eventually(workspace_id, agent_id)
    last = after and _read(agent_id, parameters.identifier("after", after))[0].created
    entries = filtered_lists.of_agent(workspace_id, agent_id, None, None, last, limit)
    stored = (one for one in entries if one.record and not store.has_expired(store.read_metadata(one.record)))
    return _page((one._replace(record=_conversation(one.record)) for one in stored), limit)


@routes.route(_CONVERSATIONS, methods=["POST"], cors=cors.CORS)
@Operation(body="models.NewOpenAiConversation", bare="models.OpenObject", raises=_ADDITION)
def create_openai_conversation(agent_id: str) -> Response:
    """Create a conversation, with up to 20 items. `metadata` becomes its labels."""
    body: models.NewOpenAiConversation = bodies.read()
    conversation_id, now = ids.new_id(), clock.seconds()
    loaded, empty = records.load(agent_id, conversation_id), empty_state(conversation_id)
    before = State(with_write_time({**empty.metadata, "labels": body.metadata}, now), empty.turns)
    after = transcript.add_turns(before, transcript.new_turns(items.to_messages(body.items or []), now), {}, now)
    return responses.json_response(_conversation(message_routes.save_added(loaded, loaded.agent.open(), before, after)))


@routes.route(_CONVERSATION, methods=["GET"], cors=cors.CORS)
@Operation(bare="models.OpenObject", raises=(errors.NotFound,))
def read_openai_conversation(agent_id: str, convo_id: str) -> Response:
    """Read a conversation. `metadata` contains its labels."""
    return responses.json_response(_conversation(_read(agent_id, convo_id)[0]))


@routes.route(_CONVERSATION, methods=["POST"], cors=cors.CORS)
@Operation(body="models.NewOpenAiMetadata", bare="models.OpenObject", raises=(*_DELETION, errors.TooLarge))
def change_openai_conversation(agent_id: str, convo_id: str) -> Response:
    """Replace a conversation's labels with `metadata`."""
    labels, row = bodies.read().metadata, _read(agent_id, convo_id)[0]
    v3_routes.save_metadata("", row, lambda metadata: {**metadata, "labels": labels})
    return responses.json_response(_conversation(row))


@routes.route(_CONVERSATION, methods=["DELETE"], cors=cors.CORS)
@Operation(bare="models.OpenObject", raises=_DELETION)
def delete_openai_conversation(agent_id: str, convo_id: str) -> Response:
    """Delete a conversation with its items. Its id can be reused."""
    store.delete(_read(agent_id, convo_id)[0])
    return responses.json_response({"id": convo_id, "object": "conversation.deleted", "deleted": True})


@routes.route(f"{_CONVERSATION}/items", methods=["POST"], cors=cors.CORS)
@Operation(body="models.OpenAiItems", bare="models.OpenObject", query=("include[]",), raises=(*_ADDITION, errors.Stale))
def create_openai_items(agent_id: str, convo_id: str) -> Response:
    """Add items to the end of a conversation. An item whose `id` is already stored is not added again.

    An item's `id` is the message's `mid`. An item without `id`, or with a placeholder, gets a new id. An item of the
    bot with the id of a user's message is rejected.
    """
    from chalicelib.conversations.models import NewMessages  # other requests need no pydantic model

    body = NewMessages.model_construct(messages=items.to_messages(bodies.read().items))
    added, *_ = message_routes.add(agent_id, convo_id, body, lambda row: errors.require(row, "conversation"))
    items.require_bots_ids(body.messages, added)
    return _page(_examined(added), len(added))


@routes.route(f"{_CONVERSATION}/items", methods=["GET"], cors=cors.CORS)
@Operation(bare="models.OpenObject", query=("limit", "after", "order", "include[]"), raises=(errors.NotFound,))
def list_openai_items(agent_id: str, convo_id: str) -> Response:
    """List a conversation's items, newest first, or with `order=asc`, oldest first.

    A message that was not stored as an item appears as an item of the type `message` with its text.
    """
    limit, after = parameters.limit(), parameters.text("after")
    is_asc = parameters.choice("order", ("asc", "desc")) == "asc"
    messages = storage.retry_on_conflict(lambda: reader.read(*_read(agent_id, convo_id, after), limit + 1, is_asc))
    return _page(_examined(errors.require(messages, "item")), limit)


@routes.route(f"{_CONVERSATION}/items/{{message_id}}", methods=["GET"], cors=cors.CORS)
@Operation(bare="models.OpenObject", query=("include[]",), raises=(errors.NotFound,))
def read_openai_item(agent_id: str, convo_id: str, message_id: str) -> Response:
    """Read an item of a conversation."""
    turn = storage.retry_on_conflict(lambda: reader.find(*_read(agent_id, convo_id, message_id)))
    return responses.json_response(items.to_item(transcript.message_of_turn(errors.require(turn, "item"))))


@routes.route(f"{_CONVERSATION}/items/{{message_id}}", methods=["DELETE"], cors=cors.CORS)
@Operation(bare="models.OpenObject", headers=("If-Match",), raises=_DELETION)
def delete_openai_item(agent_id: str, convo_id: str, message_id: str) -> Response:
    """Delete an item from a conversation, and return the conversation."""
    message_routes.delete_message(agent_id, convo_id, message_id)
    return responses.json_response(_conversation(_read(agent_id, convo_id)[0]))


def add_error(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """Return the response. Add an `error` in OpenAI's format to the errors of these operations (middleware)."""
    response = get_response(request)
    if response.status_code >= 400 and request.path.startswith(_CONVERSATIONS):
        body = json.loads(response.body)
        param = next((issue["path"] for issue in body.get("issues", ())), None)
        kind = "server_error" if response.status_code >= 500 else "invalid_request_error"
        error = {"message": body["message"], "type": kind, "param": param, "code": body["code"]}
        response.body = storage.encode_json({**body, "error": error}).decode()
    return response


def _read(agent_id: str, convo_id: str, mid: str | None = None) -> tuple[store.ConversationRow, transcript.IndexRows]:
    """Return the conversation, and the message's index item by id. Raise NotFound."""
    mids, key = [mid] if mid else [], store.key(auth.caller().workspace_id, agent_id, convo_id)
    loaded = records.load(agent_id, convo_id, *transcript.index_keys(key.partition, mids))
    return errors.require(loaded.row, "conversation"), dict(zip(mids, loaded.extra_rows, strict=True))


def _conversation(row: store.ConversationRow) -> Document:
    """Return a conversation in OpenAI's format."""
    own = {"id": storage.split_key(row.conversation)[-1], "created_at": ids.timestamp_of(row.created) // 1000}
    return {**own, "object": "conversation", "metadata": store.read_metadata(row).get("labels") or {}}


def _examined(messages: list[Document]) -> Iterable[pages.Examined]:
    """Yield the items in these messages."""
    return (pages.Examined("", items.to_item(one), one is not messages[-1]) for one in messages)


def _page(entries: Iterable[pages.Examined], limit: int) -> Response:
    """Return a response with the first `limit` entries, or fewer if they do not fit in a response."""
    texts, position = pages.take_bounded(iter(entries), limit)
    data = [*map(json.loads, texts)]
    ends = {"first_id": data[0]["id"] if data else "", "last_id": data[-1]["id"] if data else ""}
    return responses.json_response({"object": "list", "data": data, **ends, "has_more": position is not None})
