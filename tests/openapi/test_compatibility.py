"""Since version 1.1.0, operations and members change only in ways that do not break existing clients."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib import extensions
from tests.openapi.compatibility import LAST, breaking_changes
from tests.openapi.document import document

Document = dict[str, Any]


def test_clients_of_the_last_release_can_use_this_version() -> None:
    last = json.loads(LAST.read_text(encoding="utf-8"))
    if missing := {*last["extensions"]} - {*extensions.present()}:
        pytest.skip(f"this copy lacks the extensions {sorted(missing)}")
    assert breaking_changes(last, document()) == []


def _remove_operation(api: Document) -> None:
    del api["paths"]["/v2/agents/{agent_id}"]["get"]


def _remove_member(api: Document) -> None:
    del api["components"]["schemas"]["Tool"]["properties"]["description"]


def _require_member(api: Document) -> None:
    api["components"]["schemas"]["NewTool"]["required"] = ["name", "description"]


def _remove_parameter(api: Document) -> None:
    api["paths"]["/v3/agents/search"]["get"]["parameters"] = []


def _make_optional(api: Document) -> None:
    api["components"]["schemas"]["Tool"]["required"].remove("id")


def _change_type(api: Document) -> None:
    api["components"]["schemas"]["Tool"]["properties"]["id"] = {"type": ["string", "integer"]}


def _narrow_values(api: Document) -> None:
    api["components"]["schemas"]["NewTool"]["properties"]["name"] = {"type": "string", "enum": ["lookup"]}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_remove_operation, "GET /v2/agents/{agent_id}: the operation is missing"),
        (_remove_member, "data.description is no longer returned"),
        (_require_member, "tool.description is required"),
        (_remove_parameter, "GET /v3/agents/search: query search is no longer accepted"),
        (_make_optional, "data.id can be absent"),
        (_change_type, "data.id can also be ['integer']"),
        (_narrow_values, "tool.name accepts fewer values"),
    ],
)
def test_a_breaking_change_is_reported(change: Callable[[Document], None], expected: str) -> None:
    changed = copy.deepcopy(document())
    change(changed)
    assert [one for one in breaking_changes(document(), changed) if expected in one]


def test_an_additional_member_or_operation_breaks_nothing() -> None:
    reduced = copy.deepcopy(document())
    _remove_operation(reduced)
    _remove_parameter(reduced)
    del reduced["components"]["schemas"]["Tool"]["properties"]["description"]
    assert breaking_changes(reduced, document()) == []
