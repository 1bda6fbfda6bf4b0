"""Helpers that create, read and change endpoints, simulate concurrent requests, and find signing secrets."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chalicelib.webhooks import endpoints
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import webhook_body

NOW = 1_793_611_800_123
URL = "https://example.com/hooks/cams"
DAY = 24 * 60 * 60 * 1000


def create(api: Api, **members: Any) -> Any:
    """Create an endpoint; return the endpoint with its secret."""
    return api.post("/v3/webhooks", webhook_body(**{"url": URL, **members})).data


def read(api: Api, made: Any) -> Any:
    """Return the endpoint's current state."""
    return api.get(f"/v3/webhooks/{made['id']}").data


def change(api: Api, made: Any, **members: Any) -> Any:
    """Change members of an endpoint; return the endpoint."""
    return api.patch(f"/v3/webhooks/{made['id']}", {"webhook": members}).data


def rotate(api: Api, made: Any) -> Any:
    """Rotate an endpoint's secret; return the new secret."""
    return api.post(f"/v3/webhooks/{made['id']}/rotate").data["signingSecret"]


def without_secret(made: dict[str, Any]) -> dict[str, Any]:
    """Return the members that every response after the creation contains."""
    return {name: value for name, value in made.items() if name != "signingSecret"}


def signing(workspace: NewWorkspace, made: Any) -> list[str]:
    """Return the secrets that currently sign deliveries."""
    return endpoints.active_secrets(endpoints.read(workspace.workspace_id, made["id"]).open())


@contextmanager
def overtaken(name: str, act: Callable[[], object]) -> Iterator[None]:
    """Call `act`, a concurrent request, before the first `endpoints.save` or `endpoints.delete` in the block."""
    real, did = getattr(endpoints, name), []

    with pytest.MonkeyPatch.context() as patch:

        def overtake(*arguments: Any) -> None:
            patch.undo()
            did.append(act())
            real(*arguments)

        patch.setattr(endpoints, name, overtake)
        yield
    assert did, "the block neither saved nor deleted an endpoint"
