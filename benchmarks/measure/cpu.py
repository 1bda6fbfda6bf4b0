"""CPU time of operations, as ratios to a yardstick in the same process: times mean nothing on a machine that is shared.

All contenders take turns: each round runs every one of them once, in random order, in batches of at least 10 ms, and
gives each a ratio to the yardstick of the same round. What is told is the median of the ratios, and their quartiles.
The yardstick runs twice, under two names: how far its second name is from 1 is the noise in the table. No garbage is
collected inside a batch; threads of the process count.
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
"""Makes an operation that runs once; what it makes beforehand, such as an event, is not timed."""


class Ratio(NamedTuple):
    """The ratios of a contender to the yardstick: lower quartile, median, upper quartile."""

    lower: float
    median: float
    upper: float


def ratios(contenders: Mapping[str, Prepare], yardstick: str, rounds: int) -> dict[str, Ratio]:
    """The contenders' ratios, by name; and the yardstick's own under `AGAIN`."""
    everyone = {**contenders, AGAIN: contenders[yardstick]}
    lengths = {name: _length(prepare) for name, prepare in everyone.items()}
    seen: dict[str, list[float]] = {name: [] for name in everyone}
    for _ in range(rounds):
        order = random.sample(list(everyone), len(everyone))
        spent = {name: _batch(everyone[name], lengths[name]) / lengths[name] for name in order}
        for name, each in spent.items():
            seen[name].append(each / spent[yardstick])
    return {name: Ratio(*statistics.quantiles(found, n=4, method="inclusive")) for name, found in seen.items()}


def _length(prepare: Prepare) -> int:
    """How many operations last long enough; finding out warms up."""
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
