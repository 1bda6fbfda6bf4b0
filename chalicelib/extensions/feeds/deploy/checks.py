"""The check for pull endpoints in `make verify`."""

from collections.abc import Iterator

from infra.verify import tour
from infra.verify.visit import Visit


def check_feed(visit: Visit) -> Iterator[str]:
    """Check that a change to the agent appears in the feed of a new pull endpoint."""
    body = {"webhook": {"kind": "pull", "events": ["agent_updated"]}}
    webhook = visit.client.send("POST", "/v3/webhooks", body)
    if webhook.status != 200:
        yield f"POST /v3/webhooks returned {webhook.status}: {webhook.body}."
        return
    visit.client.send("PATCH", f"/v3/agents/{tour.AGENT}", {"agent": {"description": "Verified"}})
    path = f"/v3/webhooks/{webhook.body['data']['id']}/events"

    def kinds() -> set[str]:
        return {event["type"] for event in visit.list_page(path)}

    yield from visit.invoke("append_events")  # an empty invocation verifies that the function starts
    for kind, function in visit.wait_for({"agent_updated": "append_events"}, kinds):
        yield f"The feed of a pull endpoint lacks {kind}: check the log of {visit.stage.name}-{function}."


CHECKS = {"feed": check_feed}
