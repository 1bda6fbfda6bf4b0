"""Pauses that only advance the clock, and workspaces with a row of every kind."""

from collections.abc import Iterator

import pytest

from chalicelib import clock
from chalicelib.workspaces.store import NewWorkspace
from tests.webhooks import pipeline
from tests.workspaces.workspace_rows import fill


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that the commands made. They only advance the clock."""
    pauses: list[float] = []
    now = clock.milliseconds
    monkeypatch.setattr(clock, "milliseconds", lambda: now() + int(sum(pauses)) * 1000)
    monkeypatch.setattr(clock, "sleep", pauses.append)
    return pauses


@pytest.fixture
def full(workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[NewWorkspace]:
    """A workspace with a row of every kind."""
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    with pipeline.inbox() as inbox:
        fill(workspace, inbox.url())
        assert inbox.posts
    yield workspace


@pytest.fixture
def neighbour(full: NewWorkspace, other_workspace: NewWorkspace) -> NewWorkspace:
    """A second workspace, with rows of every kind under the same names."""
    with pipeline.inbox() as inbox:
        fill(other_workspace, inbox.url())
    return other_workspace
