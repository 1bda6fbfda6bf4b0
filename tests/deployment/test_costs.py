"""The prices in docs/operate.md follow from the counted units in docs/benchmarks.md."""

from pathlib import Path

from benchmarks.results import PRICES
from infra.deploy.functions import API, FUNCTIONS
from infra.tables import declared

ROOT = Path(__file__).resolve().parents[2]
# Dollars per million gateway requests, function invocations and GB-seconds.
GATEWAY, CALL, GB_SECOND = 3.50, 0.20, 16.6667
SECONDS = 0.05
# Dollars for a GB of log, and KB of log per request: the service's line and the three of Lambda.
LOG_GB, LOG_KB = 0.50, 0.9


def rows(document: str) -> list[list[str]]:
    """The rows of the cost table of a document, without the header."""
    table = (ROOT / document).read_text("utf-8").split("<!-- costs -->\n")[1].split("<!-- end of costs -->")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_costs_follow_from_the_counted_units() -> None:
    units = {name: (float(reads), float(writes)) for name, _, reads, writes in rows("docs/benchmarks.md")}
    (memory,) = (one.memory_mb for one in FUNCTIONS if one.name == API)
    overhead = GATEWAY + CALL + SECONDS * GB_SECOND * memory / 1024 + LOG_KB * LOG_GB
    documented = rows("docs/operate.md")
    assert documented
    for name, database, total in documented:
        reads, writes = units[name]
        cost = reads * PRICES["read units"] + writes * PRICES["write units"]
        assert (database, total) == (f"{cost:.2f}", f"{cost + overhead:.2f}"), name


def test_the_documented_number_of_alarms_is_right() -> None:
    text = (ROOT / "docs/operate.md").read_text("utf-8")
    assert f"for {len(declared('AWS::CloudWatch::Alarm'))} alarms" in text
