"""The copies extension in the core tests."""

from typing import Any

import pytest

from chalicelib.extensions.copies import copies

_CLONE, _IMPORT = "POST /v3/agents/{agent_id}/clone", "POST /v3/agents/import"
_BODY = {
    "template": {
        "title": "Copy",
        "assignedToolsIds": ["tools.0"],
        "tools": [{"name": "Copy", "fields": [{"key": "x"}]}],
    }
}
_PLACE = "must be a tool's position in tools, such as tools.0"
CREATION_COSTS: list[tuple[Any, ...]] = [
    ("agent clone", _CLONE, {"Query": 1, "TransactWriteItems": 1}),
    ("template read", "GET /v3/agents/{agent_id}/template", {"Query": 1}),
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
            ({}, "template", MISSING),
            ({"template": [CANARY]}, "template", OBJECT),
            ({"template": {}, "agent": CANARY}, "agent", UNKNOWN),
            ({"template": {"unknown": CANARY}}, "template.unknown", UNKNOWN),
            ({"template": {"title": NUMBER}}, "template.title", TEXT),
            ({"template": {"tools": [{"name": NUMBER}]}}, "template.tools.0.name", TEXT),
            ({"template": {"tools": [{"name": "book", "unknown": CANARY}]}}, "template.tools.0.unknown", UNKNOWN),
            ({"template": {"assignedToolsIds": [CANARY]}}, "template.assignedToolsIds.0", _PLACE),
            (
                {"template": {"nodes": [{"toolsIds": ["tools.0", CANARY]}], "tools": [{"name": "book"}]}},
                "template.nodes.0.toolsIds.1",
                _PLACE,
            ),
        ]
    }


def reach_record_limits(patch: pytest.MonkeyPatch) -> None:
    """Make every copy of an agent with tools too large."""
    patch.setattr(copies, "MAX_TOOLS", 0)
