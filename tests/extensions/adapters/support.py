"""The adapters extension in the core tests."""

from typing import Any

from tests.api import Api
from tests.builders import message

SAVE = "PUT /v3/agents/{agent_id}/convos/{convo_id}"
DELETE_CONVERSATION = "DELETE /agents/{agent_id}/interact/{user_id}"
DELETE_MESSAGE = f"{DELETE_CONVERSATION}/messages/{{message_id}}"
CREATED_WHEN_NAMED = {SAVE: {"convo_id"}}
TESTED_SAVES = [SAVE, DELETE_CONVERSATION, DELETE_MESSAGE]
_TITLE = {"conversation": {"title": "Saved"}}
COSTS: list[tuple[Any, ...]] = [
    ("session save", SAVE, {"BatchGetItem": 1, "PutItem": 1}, _TITLE, "", {"convo_id": "session-1"}),
    ("session save of nothing", SAVE, {"BatchGetItem": 1}, {"conversation": {}}, "", {"convo_id": "session-2"}),
    ("message delete, edge", DELETE_MESSAGE, {"BatchGetItem": 1, "PutItem": 1}, None, "", {"user_id": "session-3"}),
    ("session delete", DELETE_CONVERSATION, {"BatchGetItem": 1, "DeleteItem": 1}, None, "", {"user_id": "session-4"}),
]
DELETIONS = [("message delete, edge", DELETE_MESSAGE), ("conversation delete, edge", DELETE_CONVERSATION)]
REPEATED = [("session create", SAVE, _TITLE, {"convo_id": "new"}, 201), ("session save", SAVE, _TITLE)]


def cost_values(api: Api) -> dict[str, str]:
    """Create a conversation with the message `m1` for each case of `COSTS`. The cases contain the path values."""
    for number in range(1, len(COSTS) + 1):
        api.post(f"/agents/support/interact/session-{number}/messages", {"messages": [message("Hello", mid="m1")]})
    return {}


def wrong_members() -> dict[str, list[tuple[Any, str, str]]]:
    """Return invalid bodies: (body, member path, rule)."""
    from tests.bad_input.service import CANARY, NUMBER
    from tests.bad_input.wrong_members import LIST, MISSING, OBJECT, TEXT, UNKNOWN

    return {
        SAVE: [
            ({}, "conversation", MISSING),
            ({"conversation": [CANARY]}, "conversation", OBJECT),
            ({"conversation": {"title": NUMBER}}, "conversation.title", TEXT),
            ({"conversation": {"tags": CANARY}}, "conversation.tags", LIST),
            ({"conversation": {"unknown": CANARY}}, "conversation.unknown", UNKNOWN),
        ]
    }
