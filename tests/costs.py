"""Operation costs: docs/costs.csv contains all measured costs, and docs/costs.md those of the most common operations.

The file also contains the sizes of console pages.

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
_SIZE = "KB"
# A page may be this part, and at least 1 KB, larger or smaller than documented, so that small changes need no update.
_TOLERANCE = 0.1
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
    """The number of DynamoDB requests, read units and write units, and the size of a console page in KB."""

    requests: float
    reads: float
    writes: float
    size: float | None = None


def check(operation: str, meter: Meter, count: int = 1, page: str | None = None) -> None:
    """Fail unless the file contains this cost of the operation. The meter counted `count` operations.

    The size of a console page may differ by a tenth.
    """
    size = None if page is None else round(len(page.encode()) / 1000)
    counted = Cost(*(round(one / count, 2) for one in (meter.total, meter.reads, meter.writes)))._replace(size=size)
    costs = table()
    documented = costs.get(operation)
    if documented and _is_close(documented.size, counted.size):
        counted = counted._replace(size=documented.size)
    if generated_docs.is_update():
        _write({**costs, operation: counted})
    elif documented != counted:
        pytest.fail(f"{operation}: {FILE.name} has {documented}, but the test counted {counted}")


def _is_close(documented: float | None, counted: float | None) -> bool:
    if documented is None or counted is None:
        return False
    return abs(documented - counted) <= max(1, documented * _TOLERANCE)


def table() -> dict[str, Cost]:
    """Return the cost of each operation from the file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return {
        operation: Cost(*map(float, numbers))._replace(size=float(size) if size else None)
        for operation, *numbers, size in rows
    }


def common() -> str:
    """Return the page's table, which contains the costs of the most common operations."""
    costs = table()
    rows = [[operation, *(f"{one:,g}" for one in costs[operation][:3])] for operation in COMMON]
    return generated_docs.table([name.capitalize() for name in COLUMNS], rows)


def _write(costs: dict[str, Cost]) -> None:
    """Write the file and the page's table."""
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*COLUMNS, _SIZE))
        for operation in sorted(costs):
            writer.writerow([operation, *("" if one is None else f"{one:g}" for one in costs[operation])])
    generated_docs.write(PAGE, PART, common())
