"""The prices in docs/operate.md follow from the counted units in docs/benchmarks.md."""

from pathlib import Path

from benchmarks.results import PRICES
from infra.deploy import idle_price
from infra.operator import prices
from tests.extensions import are_all_on
from tests.generated_docs import rows

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 0.05


def test_the_costs_follow_from_the_counted_units() -> None:
    units = {name: (float(reads), float(writes)) for name, _, reads, writes in rows("docs/benchmarks.md", "costs")}
    assert PRICES == {**PRICES, "read units": prices.READ_UNIT * 1e6, "write units": prices.WRITE_UNIT * 1e6}
    overhead = prices.requests(1e6, 1e6 * SECONDS)
    documented = rows("docs/operate.md", "costs")
    assert documented
    for name, database, total in documented:
        reads, writes = units[name]
        cost = prices.units(reads, writes) * 1e6
        assert (database, total) == (f"{cost:.2f}", f"{cost + overhead:.2f}"), name


def test_the_price_of_an_idle_stage_follows_from_its_resources() -> None:
    price = idle_price.of_stage()
    sentence = (
        f"**An idle stage costs {price.dollars:.2f} dollars a month:** {price.keys} keys "
        f"({price.keys * idle_price.KEY:.2f}), {price.alarms} alarms on {price.metrics} metrics "
        f"({price.metrics * idle_price.ALARM_METRIC:.2f}), the check's metric ({idle_price.CUSTOM_METRIC:.2f}), and "
        f"polling {price.queues} queues ({price.polling:.2f})."
    )
    document = " ".join((ROOT / "docs" / "operate.md").read_text("utf-8").split())
    assert are_all_on() <= (sentence in document)
    assert f"Core without extensions costs {idle_price.of_stage([]).dollars:.2f} dollars." in document
