"""The tool_calls extension in the core tests."""

from typing import Any

import pytest

from chalicelib.extensions.tool_calls import calls

_TEST = "POST /v3/tools/{tool_id}/test"
COSTS: list[tuple[Any, ...]] = [("tool test", _TEST, {"GetItem": 1}, {"arguments": {}})]
NO_WRITES = [("tool test", _TEST, {"arguments": {"number": "1042"}})]


def wrong_members() -> dict[str, list[tuple[Any, str, str]]]:
    """Return invalid bodies: (body, member path, rule)."""
    from tests.bad_input.service import CANARY, NUMBER
    from tests.bad_input.wrong_members import MISSING, OBJECT, UNKNOWN

    return {
        _TEST: [
            ({}, "arguments", MISSING),
            *(({"arguments": value}, "arguments", OBJECT) for value in (None, [CANARY], CANARY, NUMBER)),
            ({"arguments": {}, "unknown": CANARY}, "unknown", UNKNOWN),
        ]
    }


def reach_conflicts(patch: pytest.MonkeyPatch) -> None:
    """Make every stored tool impossible to call."""
    patch.setattr(calls, "_METHODS", ())
