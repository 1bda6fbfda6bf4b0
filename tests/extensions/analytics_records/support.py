"""The analytics_records extension in the core tests."""

from typing import Any

_DELETE_V2, _DELETE_V3 = "DELETE /v2/agents/{agent_id}/analytics", "DELETE /v3/agents/{agent_id}/analytics"
_READS = {"GetItem": 1, "Query": 1}
COSTS: list[tuple[Any, ...]] = [
    ("analytics list", "GET /v2/agents/{agent_id}/analytics", _READS),
    ("analytics delete", _DELETE_V2, _READS, None, "?start_ts=0&stop_ts=9"),
    (
        "analytics delete v3",
        _DELETE_V3,
        {**_READS, "TransactWriteItems": 1},
        None,
        "?from=0&to=4000000000",
        {"agent_id": "other"},
    ),
]
DELETIONS = [("analytics delete", _DELETE_V3), ("analytics delete v2", _DELETE_V2)]
TIMES = ["start_ts", "stop_ts"]
