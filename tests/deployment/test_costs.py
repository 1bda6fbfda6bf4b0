"""The prices in docs/operate.md follow from the counted units in docs/benchmarks.md."""

from pathlib import Path

from benchmarks.results import PRICES
from infra.cams import prices

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 0.05


def rows(document: str) -> list[list[str]]:
    """The rows of the cost table of a document, without the header."""
    table = (ROOT / document).read_text("utf-8").split("<!-- costs -->\n")[1].split("<!-- end of costs -->")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_costs_follow_from_the_counted_units() -> None:
    units = {name: (float(reads), float(writes)) for name, _, reads, writes in rows("docs/benchmarks.md")}
    assert PRICES == {**PRICES, "read units": prices.READ_UNIT * 1e6, "write units": prices.WRITE_UNIT * 1e6}
    overhead = prices.requests(1e6, 1e6 * SECONDS)
    documented = rows("docs/operate.md")
    assert documented
    for name, database, total in documented:
        reads, writes = units[name]
        cost = prices.units(reads, writes) * 1e6
        assert (database, total) == (f"{cost:.2f}", f"{cost + overhead:.2f}"), name
