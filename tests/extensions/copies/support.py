"""The copies extension in the core tests."""

from typing import Any

import pytest

from chalicelib.extensions.copies import copies

_CLONE, _IMPORT = "POST /v3/agents/{agent_id}/clone", "POST /v3/agents/import-template"
_BODY = {
    "agentTemplate": {
        "name": "Copy",
        "agentData": {"assignedToolsIds": ["tools.0"]},
        "tools": [{"name": "Copy", "fields": [{"key": "x"}]}],
    }
}
_PLACE = "must be a tool's position in tools, such as tools.0, or a tool's id"
CREATION_COSTS: list[tuple[Any, ...]] = [
    ("agent clone", _CLONE, {"Query": 1, "TransactWriteItems": 1}),
    ("template read", "GET /v3/agents/{agent_id}/export-template", {"Query": 1}),
    ("agent import", _IMPORT, {"TransactWriteItems": 1}, _BODY),
]
REPEATED = [("agent clone", _CLONE), ("agent import", _IMPORT, _BODY)]
NOT_IDEMPOTENT = ("agent clone", "agent import")


def wrong_members() -> dict[str, list[tuple[Any, str, str]]]:
    """Return invalid bodies: (body, member path, rule)."""
    from tests.bad_input.service import CANARY, NUMBER
    from tests.bad_input.wrong_members import MISSING, OBJECT, TEXT, UNKNOWN

    return {
        _IMPORT: [
            ({}, "agentTemplate", MISSING),
            ({"agentTemplate": [CANARY]}, "agentTemplate", OBJECT),
            ({"agentTemplate": {}, "agent": CANARY}, "agent", UNKNOWN),
            ({"agentTemplate": {}, "agentName": NUMBER}, "agentName", TEXT),
            ({"agentTemplate": {"unknown": CANARY}}, "agentTemplate.unknown", UNKNOWN),
            ({"agentTemplate": {"name": NUMBER}}, "agentTemplate.name", TEXT),
            ({"agentTemplate": {"agentData": {"lang": NUMBER}}}, "agentTemplate.agentData.lang", TEXT),
            ({"agentTemplate": {"tools": [{"name": NUMBER}]}}, "agentTemplate.tools.0.name", TEXT),
            (
                {"agentTemplate": {"tools": [{"name": "book", "unknown": CANARY}]}},
                "agentTemplate.tools.0.unknown",
                UNKNOWN,
            ),
            (
                {"agentTemplate": {"agentData": {"assignedToolsIds": [CANARY]}}},
                "agentTemplate.agentData.assignedToolsIds.0",
                _PLACE,
            ),
            (
                {"agentTemplate": {"nodes": [{"toolsIds": ["tools.0", CANARY]}], "tools": [{"name": "book"}]}},
                "agentTemplate.nodes.0.toolsIds.1",
                _PLACE,
            ),
        ]
    }


def reach_record_limits(patch: pytest.MonkeyPatch) -> None:
    """Make every copy of an agent with tools too large."""
    patch.setattr(copies, "MAX_TOOLS", 0)
