"""The check for reports in `make verify`."""

from collections.abc import Iterator

from chalicelib import clock, storage
from chalicelib.extensions.reports import counts, hours
from chalicelib.extensions.reports.queue import RecountHour
from infra.verify import tour
from infra.verify.visit import Visit

# The function that processes each kind of record.
_FUNCTIONS = {
    "conversations": "follow_conversations",
    "leads": "follow_leads",
    "loads": "follow_analytics",
    "deliveries": "follow_deliveries",
}


def check_counts(visit: Visit) -> Iterator[str]:
    """Check that the tour's records were counted, and that the function `count_hours` runs."""
    workspace_id = visit.workspace.workspace_id

    def kinds() -> set[str]:
        rows = counts.list_changes(workspace_id, tour.AGENT, 100)
        return {name for row in rows for name, number in zip(hours.NAMES, row.open()["counts"], strict=False) if number}

    for kind, function in visit.wait_for(_FUNCTIONS, kinds):
        yield f"The tour's {kind} were not counted: check the log of {visit.stage.name}-{function}."
    agent = storage.join_key(workspace_id, tour.AGENT)
    yield from visit.invoke("count_hours", RecountHour(agent, clock.seconds() // 3_600 * 3_600, 0))


CHECKS = {"counts": check_counts}
