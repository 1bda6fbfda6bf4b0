"""Operation costs: docs/costs.csv contains all measured costs, and docs/costs.md those of the most common operations.

Tests assert an operation's cost with `check`. If `CAMS_UPDATE_DOCS` is set, `check` writes the cost instead.
"""

import csv
from typing import NamedTuple

import pytest

from tests import generated_docs
from tests.capacity import Meter

PAGE, PART = "docs/costs.md", "costs"
FILE = generated_docs.ROOT / "docs/costs.csv"
COLUMNS = ("operation", "requests", "read units", "write units")
COMMON = (
    "read an agent",
    "change an agent",
    "list agents",
    "create a tool",
    "read a state",
    "first state of a conversation",
    "replace a state",
    "replace a state with a key",
    "add a message",
    "add to 1,000 messages (mean)",
    "list messages",
    "change a conversation",
    "list conversations",
    "list the inbox",
    "search 41 conversations without a match",
    "write analytics",
    "create a lead",
    "list leads of an agent",
    "issue a visitor token",
    "store a webhook event",
    "deliver a webhook event",
    "report of an agent",
)


class Cost(NamedTuple):
    """The number of DynamoDB requests, read units and write units."""

    requests: float
    reads: float
    writes: float


def check(operation: str, meter: Meter, count: int = 1) -> None:
    """Fail unless the file contains this cost of the operation. The meter counted `count` operations."""
    counted = Cost(*(round(one / count, 2) for one in (meter.total, meter.reads, meter.writes)))
    costs = table()
    if generated_docs.is_update():
        _write({**costs, operation: counted})
    elif costs.get(operation) != counted:
        pytest.fail(f"{operation}: {FILE.name} has {costs.get(operation)}, but the test counted {counted}")


def table() -> dict[str, Cost]:
    """Return the cost of each operation from the file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return {operation: Cost(*map(float, numbers)) for operation, *numbers in rows}


def common() -> str:
    """Return the page's table, which contains the costs of the most common operations."""
    costs = table()
    rows = [[operation, *(f"{one:,g}" for one in costs[operation])] for operation in COMMON]
    return generated_docs.table([name.capitalize() for name in COLUMNS], rows)


def _write(costs: dict[str, Cost]) -> None:
    """Write the file and the page's table."""
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([operation, *(f"{one:g}" for one in costs[operation])] for operation in sorted(costs))
    generated_docs.write(PAGE, PART, common())
