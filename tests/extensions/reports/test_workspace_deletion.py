"""Deleting a workspace removes its counts, and nothing is counted afterwards."""

import pytest

from chalicelib import clock, followers, ids, queues, storage
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.extensions.reports import counts
from chalicelib.extensions.reports.queue import RecountHour
from chalicelib.queues import messages
from chalicelib.workspaces.store import NewWorkspace
from infra.deploy.functions import declared_functions
from tests.workspaces.commands import succeed
from tests.workspaces.conftest import no_waiting as no_waiting
from tests.workspaces.workspace_rows import of


def test_nothing_is_counted_after_a_deletion(workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes without an agent are counted 15 minutes later, without checking that an agent still exists."""
    requests: list[str] = []
    monkeypatch.setattr(queues, "send", lambda queue, texts, *rest: requests.extend(texts))
    agent = storage.join_key(workspace.workspace_id, counts.NO_AGENT)
    for number in range(2):
        counts.record_changes([CountedChange(agent, ids.new_id(), {"deliveries": 1}, {})])
        if number == 0:
            counts.recount(*messages.parse(requests[0], [RecountHour]))
    assert (
        of(workspace.workspace_id)["cams-tallies"] == 2 + 1
    )  # change rows, and the row of counts; deliveries have no groups
    succeed("suspend", workspace.workspace_id, "--yes")
    succeed("delete", workspace.workspace_id, "--yes")
    for text in requests:
        counts.recount(*messages.parse(text, [RecountHour]))
    assert of(workspace.workspace_id) == {}


def test_a_deletion_waits_until_the_last_deliveries_are_counted(
    workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delivery may last until its timeout. Its stream record then waits for the batching window."""
    agent = storage.join_key(workspace.workspace_id, counts.NO_AGENT)
    timeout = max(one.timeout_seconds for one in declared_functions() if one.name in ("deliver", "deliver_slow"))
    pauses: list[float] = []

    def last_count(seconds: float) -> None:
        pauses.append(seconds)
        counts.record_changes([CountedChange(agent, ids.new_id(), {"deliveries": 1}, {})])

    succeed("suspend", workspace.workspace_id, "--yes")
    monkeypatch.setattr(clock, "sleep", last_count)
    succeed("delete", workspace.workspace_id, "--yes")
    assert sum(pauses) > timeout + followers.BATCHES["deliveries"].window_seconds
    assert of(workspace.workspace_id) == {}
