"""CPU time of operations, as ratios to a baseline in the same process: a shared machine distorts absolute times.

Each round runs every contender once, in random order, in a batch of at least 10 ms. The ratio compares it with the
baseline of the same round. The results are the median and the quartiles of the ratios. The baseline also runs under a
second name; its distance from 1 is the noise. Garbage collection is off inside a batch. The time includes all threads.
"""

import gc
import random
import statistics
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

_BATCH_NANOSECONDS = 10_000_000
AGAIN = "A/A"

Prepare = Callable[[], Callable[[], object]]
"""Prepares an operation that runs once. Preparation, such as building an event, is not timed."""


class Ratio(NamedTuple):
    """The ratios of a contender to the baseline: lower quartile, median, upper quartile."""

    lower: float
    median: float
    upper: float


def ratios(contenders: Mapping[str, Prepare], baseline: str, rounds: int) -> dict[str, Ratio]:
    """Return the contenders' ratios by name, and the baseline's second ratio as `AGAIN`."""
    compared = {**contenders, AGAIN: contenders[baseline]}
    lengths = {name: _length(prepare) for name, prepare in compared.items()}
    seen: dict[str, list[float]] = {name: [] for name in compared}
    for _ in range(rounds):
        order = random.sample(list(compared), len(compared))
        spent = {name: _batch(compared[name], lengths[name]) / lengths[name] for name in order}
        for name, each in spent.items():
            seen[name].append(each / spent[baseline])
    return {name: Ratio(*statistics.quantiles(found, n=4, method="inclusive")) for name, found in seen.items()}


def _length(prepare: Prepare) -> int:
    """Return how many operations fill a batch. The trial runs also warm up."""
    length = 1
    while (spent := _batch(prepare, length)) < _BATCH_NANOSECONDS:
        length = max(length + 1, round(1.2 * length * _BATCH_NANOSECONDS / max(spent, 1_000_000)))
    return length


def _batch(prepare: Prepare, length: int) -> int:
    operations = [prepare() for _ in range(length)]
    gc.collect()
    gc.disable()
    start = time.process_time_ns()
    for operation in operations:
        operation()
    spent = time.process_time_ns() - start
    gc.enable()
    return spent
