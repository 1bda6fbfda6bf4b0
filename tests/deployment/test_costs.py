"""The prices in docs/operate.md follow from the counted units in docs/benchmarks.md."""

from pathlib import Path

from benchmarks.results import PRICES
from infra.deploy import template
from infra.deploy.functions import declared_functions
from infra.operator import prices
from tests.deployment.test_monitoring import ALARMS, metrics

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 0.05
# List prices in dollars: of a key, a metric of an alarm and a custom metric a month, and of a request to a queue.
_KEY, _ALARM_METRIC, _CUSTOM_METRIC, _QUEUE_REQUEST = 1.00, 0.10, 0.30, 0.40 / 1e6
# Lambda reads an idle queue with five connections, each of which waits for 20 seconds.
_POLLERS, _SECONDS_OF_POLL, _SECONDS_OF_MONTH = 5, 20, 30 * 24 * 60 * 60


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


def test_the_price_of_an_idle_stage_follows_from_its_resources() -> None:
    keys = len(template.declared("AWS::KMS::Key"))
    watched = sum(len(metrics(alarm)) for alarm in ALARMS.values())
    queues = sum(one.queue is not None for one in declared_functions())
    polling = queues * _POLLERS * _SECONDS_OF_MONTH / _SECONDS_OF_POLL * _QUEUE_REQUEST
    dollars = keys * _KEY + watched * _ALARM_METRIC + _CUSTOM_METRIC + polling
    sentence = (
        f"**An idle stage costs {dollars:.2f} dollars a month:** {keys} keys ({keys * _KEY:.2f}), {len(ALARMS)} alarms "
        f"on {watched} metrics ({watched * _ALARM_METRIC:.2f}), the check's metric ({_CUSTOM_METRIC:.2f}), and polling "
        f"{queues} queues ({polling:.2f})."
    )
    assert sentence in " ".join((ROOT / "docs" / "operate.md").read_text("utf-8").split())
