"""Rows of every class are exported, and deleted with their owner, as the class's `storage.Lifecycle` declares."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pynamodb.attributes import BinaryAttribute, BooleanAttribute, NumberAttribute, TTLAttribute

from chalicelib import clock, ids, maintenance, storage
from chalicelib.storage import parent_scoped_ids
from chalicelib.workspaces.store import NewWorkspace
from infra.operator import records, removal
from tests.api import Api
from tests.deletion.cascades import maintain, task_messages
from tests.storage.row_classes import RowClass, attributes_of, keys_of, row_classes
from tests.webhooks import pipeline
from tests.workspaces.commands import succeed
from tests.workspaces.exports import other_account, suspended_export
from tests.workspaces.workspace_rows import stored_classes


@pytest.fixture
def every_row(full: NewWorkspace) -> NewWorkspace:
    """Create a workspace with a row of every class. The rows may refer to different agents and conversations."""
    missing = {row for row in row_classes() if row.lifecycle.owner != "stage"} - stored_classes(full.workspace_id)
    (webhook, *_) = records.find_rows("webhook", full.workspace_id, "")
    for row in missing:
        storage.save_many([new(row, full.workspace_id, webhook.webhook_id)])
    assert stored_classes(full.workspace_id) >= missing
    return full


def new(row: RowClass, workspace_id: str, webhook_id: str) -> Any:
    """Return a row of this class that has its keys and a value for each required attribute."""
    prefix = storage.split_key(parent_scoped_ids.partition(workspace_id, "support"))[1]
    values = {"workspace": workspace_id, "agent": "support", "conversation": "ann", "prefix": prefix}
    values |= {"webhook": webhook_id, "ULID": ids.new_id()}
    forms = [form.split(" or ")[0] for form in row.lifecycle[: len(keys_of(row))]]
    created = row(*(form.format_map(Zeros(values)) for form in forms))
    for name, attribute in attributes_of(row).items():
        if not attribute.null and attribute.default is None:
            setattr(created, name, value_of(attribute))
    return created


class Zeros(dict[str, str]):
    """Placeholder values. The default of each is `0`."""

    def __missing__(self, name: str) -> str:
        return "0"


def value_of(attribute: Any) -> Any:
    values: dict[type[Any], Callable[[], Any]] = {
        BinaryAttribute: lambda: b"0",
        BooleanAttribute: lambda: True,
        TTLAttribute: lambda: clock.to_datetime(clock.seconds() + 1_000),
        NumberAttribute: lambda: 0,
    }
    return next((value() for class_, value in values.items() if isinstance(attribute, class_)), "0")


def test_a_row_of_every_class_is_deleted_with_its_workspace(every_row: NewWorkspace) -> None:
    succeed("suspend", every_row.workspace_id, "--yes")
    removal.delete(every_row.workspace_id)
    assert stored_classes(every_row.workspace_id) == set()


def test_a_row_of_every_class_of_an_agent_is_deleted_with_it(every_row: NewWorkspace, no_waiting: list[float]) -> None:
    api, stream = Api(every_row.workspace_key), pipeline.Stream()
    for agent_id in ("support", "support-2"):
        assert api.delete(f"/v3/agents/{agent_id}").status == 200
    for _ in range(3):
        no_waiting.append(90)
        pipeline.follow(stream.read())
        maintain(task_messages(*maintenance._HANDLERS))
    assert {
        row for row in stored_classes(every_row.workspace_id) if row.lifecycle.owner in ("agent", "conversation")
    } == set()


def test_a_row_of_every_class_of_a_kind_is_exported(full: NewWorkspace, tmp_path: Path) -> None:
    of_kinds = {row for row in row_classes() if not row.lifecycle.export.startswith("no: ")}
    assert of_kinds - stored_classes(full.workspace_id) == set()
    suspended_export(full.workspace_id, tmp_path / "export")
    other_account()
    succeed("import", str(tmp_path / "export"))
    assert of_kinds - stored_classes(full.workspace_id) == set()
