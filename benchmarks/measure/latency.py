"""Latency as a ratio to a baseline of the same round. Absolute seconds depend on the machine.

Each round times all candidates in random order, in batches of at least 10 ms, and divides by the baseline's time. A
temporary slowdown of the machine affects all candidates of the round.
"""

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

Batch = Callable[[int], Sequence[Callable[[], object]]]
"""Prepares operations that run once each. Preparation is not timed."""

_BATCH_SECONDS = 0.01
_MOST = 50


class Ratio(NamedTuple):
    """The quartiles of a candidate's ratios."""

    lower: float
    median: float
    upper: float


def ratios(candidates: Mapping[str, Batch], baseline: str, rounds: int) -> dict[str, Ratio]:
    """Return each candidate's ratios to `baseline` over `rounds` rounds."""
    draw = random.Random(1)
    lengths = {name: _length(batch) for name, batch in candidates.items()}
    found: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        order = draw.sample(sorted(candidates), len(candidates))
        taken = {name: _seconds(candidates[name], lengths[name]) for name in order}
        for name, seconds in taken.items():
            found[name].append(seconds / taken[baseline])
    return {name: Ratio(*statistics.quantiles(values, n=4)) for name, values in found.items()}


def _length(batch: Batch) -> int:
    first = _seconds(batch, 1)  # the first call may be slow
    return 1 if first > 10 * _BATCH_SECONDS else min(_MOST, ceil(_BATCH_SECONDS / _seconds(batch, 2)))


def _seconds(batch: Batch, length: int) -> float:
    """Return the seconds per operation of a batch."""
    operations = batch(length)
    started = time.perf_counter()
    for operation in operations:
        operation()
    return (time.perf_counter() - started) / length
