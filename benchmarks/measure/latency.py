"""Latency as a ratio to a yardstick that is measured in the same rounds: seconds say more about a machine.

Each round times all candidates in random order, each for a batch of at least 10 ms, and divides by what the yardstick
took in that round. So whatever slows the machine down for a while slows all of them.
"""

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

Batch = Callable[[int], Sequence[Callable[[], object]]]
"""Makes so many operations that are ready to run once each; what it takes to make them is not timed."""

_BATCH_SECONDS = 0.01
_MOST = 50


class Ratio(NamedTuple):
    """The quartiles of a candidate's ratios."""

    lower: float
    median: float
    upper: float


def ratios(candidates: Mapping[str, Batch], yardstick: str, rounds: int) -> dict[str, Ratio]:
    """Each candidate's ratio to the one that is called `yardstick`, over so many rounds."""
    draw = random.Random(1)
    lengths = {name: _length(batch) for name, batch in candidates.items()}
    found: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        order = draw.sample(sorted(candidates), len(candidates))
        taken = {name: _seconds(candidates[name], lengths[name]) for name in order}
        for name, seconds in taken.items():
            found[name].append(seconds / taken[yardstick])
    return {name: Ratio(*statistics.quantiles(values, n=4)) for name, values in found.items()}


def _length(batch: Batch) -> int:
    first = _seconds(batch, 1)  # may be slow for being the first
    return 1 if first > 10 * _BATCH_SECONDS else min(_MOST, ceil(_BATCH_SECONDS / _seconds(batch, 2)))


def _seconds(batch: Batch, length: int) -> float:
    """Seconds of one operation of a batch."""
    operations = batch(length)
    started = time.perf_counter()
    for operation in operations:
        operation()
    return (time.perf_counter() - started) / length
