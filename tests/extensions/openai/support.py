"""The openai extension in the core tests."""

from typing import Any

import pytest

from chalicelib.conversations import message_routes, store
from chalicelib.conversations.state import check_limits
from tests.api import Api
from tests.builders import message

CONVERSATIONS = "/agents/{agent_id}/openai/v1/conversations"
CONVERSATION = f"{CONVERSATIONS}/{{convo_id}}"
ITEMS, ITEM = f"{CONVERSATION}/items", f"{CONVERSATION}/items/{{message_id}}"
CREATE, CHANGE, ADD = f"POST {CONVERSATIONS}", f"POST {CONVERSATION}", f"POST {ITEMS}"
_ITEM: dict[str, Any] = {"role": "user", "content": "Hello"}
_NEW = {"items": [_ITEM], "metadata": {"order": "1001"}}
_AT: dict[str, dict[str, str]] = {str(number): {"convo_id": f"openai-{number}"} for number in range(1, 5)}
_READ, _WRITE = {"BatchGetItem": 1}, {"BatchGetItem": 1, "PutItem": 1}
COSTS: list[tuple[Any, ...]] = [
    ("conversation list, OpenAI", f"GET {CONVERSATIONS}", {"GetItem": 1, "Query": 1}),
    (
        "conversation list after a conversation, OpenAI",
        f"GET {CONVERSATIONS}",
        {"BatchGetItem": 1, "Query": 1},
        None,
        "?after=openai-1",
    ),
    ("message create, OpenAI", CREATE, _WRITE, _NEW),
    ("conversation read, OpenAI", f"GET {CONVERSATION}", _READ, None, "", _AT["1"]),
    ("conversation change, OpenAI", CHANGE, _WRITE, {"metadata": {"order": "1002"}}, "", _AT["1"]),
    ("conversation change of nothing, OpenAI", CHANGE, _READ, {"metadata": None}, "", _AT["2"]),
    ("message add, OpenAI", ADD, _WRITE, {"items": [_ITEM]}, "", _AT["1"]),
    ("message add again, OpenAI", ADD, _READ, {"items": [{**_ITEM, "id": "m1"}]}, "", _AT["1"]),
    ("message list, OpenAI", f"GET {ITEMS}", _READ, None, "", _AT["1"]),
    ("message list after a message, OpenAI", f"GET {ITEMS}", _READ, None, "?after=m1&order=asc", _AT["1"]),
    ("message read, OpenAI", f"GET {ITEM}", _READ, None, "", _AT["1"]),
    ("message delete, OpenAI", f"DELETE {ITEM}", {"BatchGetItem": 2, "PutItem": 1}, None, "", _AT["3"]),
    ("conversation delete, OpenAI", f"DELETE {CONVERSATION}", {"BatchGetItem": 1, "DeleteItem": 1}, None, "", _AT["4"]),
]
DELETIONS = [("message delete, OpenAI", f"DELETE {ITEM}"), ("conversation delete, OpenAI", f"DELETE {CONVERSATION}")]
REPEATED = [
    ("message create, OpenAI", CREATE, _NEW),
    ("conversation change, OpenAI", CHANGE, {"metadata": {"order": "1002"}}),
    ("message add, OpenAI", ADD, {"items": [_ITEM, {"type": "reasoning", "id": "rs-1", "summary": []}]}),
]
TOO_LARGE = {"create_openai_conversation": _NEW, "change_openai_conversation": {"metadata": {"order": "Other"}}}
TESTED_PARAMETERS = ["include[]"]
OWN_PARAMETERS = {f"GET {CONVERSATIONS}": ["after"], f"GET {ITEMS}": ["after"]}
TESTED_SAVES = [f"DELETE {ITEM}"]
NOT_IDEMPOTENT = ("message create, OpenAI", "message add, OpenAI")


def cost_values(api: Api) -> dict[str, str]:
    """Create a conversation with the message `m1` for each case of `COSTS`. The cases contain the path values."""
    for values in _AT.values():
        path = f"/agents/support/interact/{values['convo_id']}/messages"
        assert api.post(path, {"messages": [message("Hello", mid="m1")]}).status == 200
    return {}


def reach_limits(patch: pytest.MonkeyPatch) -> None:
    """Make every request that adds messages exceed the agent's limit."""
    limited = {"messagesLimit": 0.5}
    patch.setattr(f"{message_routes.__name__}.check_limits", lambda _, *states: check_limits(limited, *states))


def reach_record_limits(patch: pytest.MonkeyPatch) -> None:
    """Make the metadata of every conversation too large."""
    patch.setattr(store, "_MAX_METADATA_JSON", 0)


def wrong_members() -> dict[str, list[tuple[Any, str, str]]]:
    """Return invalid bodies: (body, member path, rule)."""
    from chalicelib.ids import IDENTIFIER_RULE
    from tests.bad_input.service import CANARY, NUMBER
    from tests.bad_input.wrong_members import LIST, MISSING, OBJECT, TEXT, UNKNOWN

    roles, content = "must be user, assistant, system or developer", "must be a string, or an array of objects"
    known, own = "must be the type of a complete item", {"role": "user", "content": CANARY}
    items = [
        ({"items": CANARY}, "items", LIST),
        ({"items": [CANARY]}, "items.0", OBJECT),
        ({"items": [{"unknown": CANARY}]}, "items.0.type", known),
        ({"items": [{"type": NUMBER}]}, "items.0.type", known),
        ({"items": [{"type": "item_reference", "id": CANARY}]}, "items.0.type", known),
        ({"items": [own, {"role": CANARY, "content": "Hello"}]}, "items.1.role", roles),
        ({"items": [{"role": "user", "content": NUMBER}]}, "items.0.content", content),
        ({"items": [{"role": "user", "content": [CANARY]}]}, "items.0.content", content),
        ({"items": [{**own, "id": f"{CANARY}/"}]}, "items.0.id", f"must be {IDENTIFIER_RULE}"),
        ({"items": [{**own, "id": ".."}]}, "items.0.id", f"must be {IDENTIFIER_RULE}"),
        ({"items": [{**own, "id": NUMBER}]}, "items.0.id", f"must be {IDENTIFIER_RULE}"),
        ({"items": [{**own, "id": "a"}, {**own, "id": "a"}]}, "items.1.id", "is duplicated"),
        ({"items": [own] * 21}, "items", "must have at most 20 items"),
        ({"items": [own], "unknown": CANARY}, "unknown", UNKNOWN),
    ]
    metadata = [
        ({"metadata": CANARY}, "metadata", OBJECT),
        ({"metadata": {"order": NUMBER}}, "metadata.order", TEXT),
        ({"metadata": {"order": CANARY * 100}}, "metadata.order", "must have at most 512 characters"),
        ({"metadata": {f"{number}": CANARY for number in range(17)}}, "metadata", "must have at most 16 items"),
    ]
    return {
        CREATE: [*items, *metadata],
        CHANGE: [({}, "metadata", MISSING), ({"metadata": {}, "unknown": CANARY}, "unknown", UNKNOWN), *metadata],
        ADD: [({}, "items", MISSING), ({"items": []}, "items", "must have at least 1 item"), *items],
    }
