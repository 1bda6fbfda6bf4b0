"""The table in docs/costs.md. Each counted cost is in one row, and a test asserts the cost with `check`.

If `CAMS_UPDATE_DOCS` is set, `check` writes the row instead. Operations with equal costs share a row.
"""

from collections import defaultdict
from typing import NamedTuple

import pytest

from tests import generated_docs
from tests.capacity import Meter

PAGE, PART = "docs/costs.md", "costs"
_SEPARATOR = "; "


class Cost(NamedTuple):
    """The requests to DynamoDB, the read units and the write units."""

    requests: float
    reads: float
    writes: float


def check(operation: str, meter: Meter, count: int = 1) -> None:
    """Fail unless an operation has its cost in the table. The meter counted `count` operations."""
    counted = Cost(*(round(one / count, 2) for one in (meter.total, meter.reads, meter.writes)))
    listed = table()
    if generated_docs.is_update():
        generated_docs.write(PAGE, PART, _text({**listed, operation: counted}))
    elif listed.get(operation) != counted:
        pytest.fail(f"{operation}: {PAGE} has {listed.get(operation)}, but the test counted {counted}")


def table() -> dict[str, Cost]:
    """Return the cost of each operation in the table."""
    return {
        operation: Cost(*(float(number.replace(",", "")) for number in numbers))
        for *numbers, operations in generated_docs.rows(PAGE, PART)
        for operation in operations.split(_SEPARATOR)
    }


def _text(costs: dict[str, Cost]) -> str:
    by_cost = defaultdict(list)
    for operation, cost in costs.items():
        by_cost[cost].append(operation)
    rows = [[*(f"{one:,g}" for one in cost), _SEPARATOR.join(sorted(by_cost[cost]))] for cost in sorted(by_cost)]
    return generated_docs.table(["Requests", "Read units", "Write units", "Operations"], rows)
