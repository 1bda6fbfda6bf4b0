"""Helpers that subscribe a receiver, cause events, and list their deliveries."""

from typing import Any

from tests.api import Api
from tests.builders import webhook_body
from tests.webhooks.pipeline import Inbox, Stream, fan_out

LISTEN = ("organisation_created",)


def listen(api: Api, url: str) -> dict[str, Any]:
    """Create a webhook that subscribes to the events that `happen` causes."""
    created: dict[str, Any] = api.post("/v3/webhooks", webhook_body(url, *LISTEN)).data
    return created


def happen(stream: Stream, api: Api, *names: str) -> None:
    """Create organisations, and enqueue the deliveries for their events."""
    for name in names or ("acme",):
        assert api.post(f"/v2/orgs/{name}", {"name": name}).status == 200
    fan_out(stream.read())


def deliveries(api: Api, webhook: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a webhook's deliveries from the API, newest first."""
    listed: list[dict[str, Any]] = api.get(f"/v3/webhooks/{webhook['id']}/deliveries").data
    return listed


def statuses(api: Api, webhook: dict[str, Any]) -> list[str]:
    """Return the statuses of a webhook's deliveries, newest first."""
    return [one["status"] for one in deliveries(api, webhook)]


def names(inbox: Inbox) -> list[str]:
    """Return the names of the organisations whose events a receiver got."""
    return sorted(post.payload["organisationName"] for post in inbox.posts)
