"""The transcripts extension in the core tests."""

from typing import Any

_LIST = "GET /v3/agents/{agent_id}/convos"
_BUSY = {"agent_id": "busy"}
COSTS: list[tuple[Any, ...]] = [
    ("search", f"{_LIST}/search", {"GetItem": 1, "Query": 1, "BatchGetItem": 3}, None, "?q=none", _BUSY),
    ("export", f"{_LIST}/export", {"GetItem": 1, "Query": 1, "BatchGetItem": 1}, None, "", _BUSY),
    ("export of two", f"{_LIST}/export", {"GetItem": 1, "BatchGetItem": 1}, None, "?convoIds=ann&convoIds=talk"),
    ("export of a conversation", f"{_LIST}/{{convo_id}}/export", {"BatchGetItem": 1}),
]
