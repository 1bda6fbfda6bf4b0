"""The workspace's history, recorded from its streams."""

from typing import Any

import pytest

from chalicelib.extensions.history.extension import TABLES
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.webhooks import pipeline


class History:
    """Passes stream records to the functions, and reads the history."""

    def __init__(self, api: Api) -> None:
        self._stream, self._api = pipeline.Stream(), api

    def records(self) -> list[dict[str, Any]]:
        return self._stream.read(*TABLES)

    def keep(self) -> None:
        pipeline.follow(self.records())

    def of(self, resource: str = "", query: str = "") -> list[dict[str, Any]]:
        """Record the changes in the streams, and return the entries that match the query."""
        self.keep()
        asked = f"resource={resource}{query}" if resource else query
        entries: list[dict[str, Any]] = self._api.get(f"/v3/history?{asked}").data
        return entries

    def versions(self, path: str) -> list[dict[str, Any]]:
        self.keep()
        found: list[dict[str, Any]] = self._api.get(f"/v3/{path}/versions").data
        return found


@pytest.fixture
def history(workspace: NewWorkspace, api: Api) -> History:
    return History(api)


def by(change: dict[str, Any]) -> tuple[str, str]:
    return change["by"]["kind"], change["by"]["name"]
