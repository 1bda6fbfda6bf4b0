"""Stored counts for one hour, in the form that the counting function writes."""

from chalicelib import storage
from chalicelib.extensions.reports import hours
from chalicelib.extensions.reports.counts import DayRow


def count(workspace_id: str, agent_id: str, day: str, hour: int, value: str, **numbers: int) -> None:
    """Store the counts for one UTC hour; every dimension has one value."""
    counts = [numbers.get(name, 0) for name in hours.NAMES]
    groups = {dimension: {str(hour): {value: counts}} for dimension in hours.DIMENSIONS}
    for kind, document in (("counts", {"hours": {str(hour): counts}}), ("groups", groups)):
        row = DayRow(storage.join_key(workspace_id, agent_id), storage.join_key(kind, day))
        row.seal(document)
        with storage.unit_of_work():
            storage.put(row)
