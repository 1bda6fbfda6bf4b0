"""The rows of every class are deleted with their owner, as `storage.Lifecycle` declares it."""

from collections.abc import Callable
from typing import Any

import pytest
from pynamodb.attributes import BinaryAttribute, BooleanAttribute, NumberAttribute, TTLAttribute

from chalicelib import clock, ids, maintenance, storage
from chalicelib.storage import parent_scoped_ids
from chalicelib.workspaces.store import NewWorkspace
from infra.operator import records, removal
from tests.api import Api
from tests.deletion.cascades import maintain, task_messages
from tests.moto_tables import items
from tests.storage.row_classes import RowClass, attributes_of, class_of, keys_of, row_classes
from tests.webhooks import pipeline
from tests.workspaces.commands import succeed

PREFIX = storage.table("")


@pytest.fixture
def every_row(full: NewWorkspace) -> NewWorkspace:
    """A workspace with a row of every class, where the names of agent and conversation may be those of others."""
    missing = {row for row in row_classes() if row.lifecycle.owner != "stage"} - stored(full.workspace_id)
    (webhook, *_) = records.find_rows("webhook", full.workspace_id, "")
    for row in missing:
        storage.save_many([new(row, full.workspace_id, webhook.webhook_id)])
    assert stored(full.workspace_id) >= missing
    return full


def stored(workspace_id: str) -> set[RowClass]:
    """The classes of the items of a workspace."""
    named = [(table, one) for table, rows in items().items() for one in rows if workspace_id in repr(one)]
    return {class_of(table.removeprefix(PREFIX), item) for table, item in named}


def new(row: RowClass, workspace_id: str, webhook_id: str) -> Any:
    """A row with the keys of its class, and a value for each attribute that it must have."""
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
    """The value of a placeholder without another one."""

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
    assert stored(every_row.workspace_id) == set()


def test_a_row_of_every_class_of_an_agent_is_deleted_with_it(every_row: NewWorkspace, no_waiting: list[float]) -> None:
    api, stream = Api(every_row.workspace_key), pipeline.Stream()
    for agent_id in ("support", "support-2"):
        assert api.delete(f"/v3/agents/{agent_id}").status == 200
    for _ in range(3):
        no_waiting.append(90)
        pipeline.follow(stream.read())
        maintain(task_messages(*maintenance._HANDLERS))
    assert {row for row in stored(every_row.workspace_id) if row.lifecycle.owner in ("agent", "conversation")} == set()
