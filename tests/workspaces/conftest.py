"""Fixtures that advance the clock instead of pausing, and that create workspaces with a row of every kind."""

import pytest

from chalicelib import clock
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests.fast_moto import restore_or_create
from tests.webhooks import pipeline
from tests.workspaces.workspace_rows import fill


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Make pauses advance the clock instead of waiting; return the list of pauses."""
    pauses: list[float] = []
    now = clock.milliseconds
    monkeypatch.setattr(clock, "milliseconds", lambda: now() + int(sum(pauses)) * 1000)
    monkeypatch.setattr(clock, "sleep", pauses.append)
    return pauses


@pytest.fixture
def full(workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch) -> NewWorkspace:
    """Create a workspace with a row of every kind."""
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    restore_or_create("full workspace", lambda: _fill(workspace))
    return workspace


@pytest.fixture
def neighbour(full: NewWorkspace) -> NewWorkspace:
    """Create a second workspace. It also has a row of every kind, with the same names."""
    return restore_or_create("full neighbour", lambda: _fill(workspaces.create("Other")))[0]


def _fill(made: NewWorkspace) -> NewWorkspace:
    with pipeline.inbox() as inbox:
        fill(made, inbox.url())
        assert inbox.posts
    return made
