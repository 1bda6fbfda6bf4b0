"""The prices per request match those in the benchmark results."""

from benchmarks.results import PRICES
from infra.operator import prices


def test_the_benchmarks_and_the_commands_have_the_same_prices() -> None:
    assert PRICES == {**PRICES, "read units": prices.READ_UNIT * 1e6, "write units": prices.WRITE_UNIT * 1e6}
