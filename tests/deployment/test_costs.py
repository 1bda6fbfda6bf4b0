"""The prices in docs/operate.md follow from the counted units in docs/benchmarks.md."""

from pathlib import Path

from infra.deploy.functions import API, FUNCTIONS
from infra.tables import declared

ROOT = Path(__file__).resolve().parents[2]
# Dollars for a million: units of the database, calls of the gateway, calls of a function; and for a million GB-seconds.
READ, WRITE, GATEWAY, CALL, GB_SECOND = 0.125, 0.625, 3.50, 0.20, 16.6667
SECONDS = 0.05


def rows(document: str) -> list[list[str]]:
    """The lines of the table between the marks, without its head."""
    table = (ROOT / document).read_text("utf-8").split("<!-- costs -->\n")[1].split("<!-- end of costs -->")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_costs_are_computed_from_the_units_that_are_counted() -> None:
    units = {name: (float(reads), float(writes)) for name, _, reads, writes in rows("docs/benchmarks.md")}
    (memory,) = (one.memory for one in FUNCTIONS if one.name == API)
    around = GATEWAY + CALL + SECONDS * GB_SECOND * memory / 1024
    said = rows("docs/operate.md")
    assert said
    for name, database, together in said:
        reads, writes = units[name]
        cost = reads * READ + writes * WRITE
        assert (database, together) == (f"{cost:.2f}", f"{cost + around:.2f}"), name


def test_what_an_idle_account_pays_for_is_counted() -> None:
    text = (ROOT / "docs/operate.md").read_text("utf-8")
    assert f"for {len(declared('AWS::CloudWatch::Alarm'))} alarms" in text
