"""The check for the history in `make verify`."""

from collections.abc import Iterator

from infra.verify.visit import Visit

# The function that records changes, by kind of record.
_FUNCTIONS = {
    "agents": "follow_agents",
    "clients": "follow_clients",
    "orgs": "follow_organisations",
    "webhooks": "follow_webhooks",
    "tokens": "follow_credentials",
}


def check_history(visit: Visit) -> Iterator[str]:
    """Check that the history lists a change to each kind of record."""

    def kinds() -> set[str]:
        return {change["resource"].partition("/")[0] for change in visit.list_page("/v3/history?limit=100")}

    for kind, function in visit.wait_for(_FUNCTIONS, kinds):
        yield f"The history lists no change to {kind}: check the log of {visit.stage.name}-{function}."


CHECKS = {"history": check_history}
