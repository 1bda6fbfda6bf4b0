"""Deliveries per second and CPU time per delivery, with a constant number in flight."""

import asyncio
import itertools
import time
from collections import deque
from concurrent.futures import Future
from typing import NamedTuple

from benchmarks.fanout import senders
from benchmarks.peers import plain_sender

_SECONDS = 30.0
# Interval for starting new deliveries. Waking for each one would count as the sender's work.
_POLL_SECONDS = 0.005


class Rate(NamedTuple):
    """Deliveries per second, and milliseconds of the process's CPU time for each."""

    rate: float
    cpu: float


def rate(name: str, urls: list[str], in_flight: int, rounds: int) -> Rate:
    """Measure a sender for `rounds` times `in_flight` deliveries, after a warm-up."""
    window = _Window(in_flight, in_flight * (1 + rounds))
    if name in senders.IN_A_LOOP:
        asyncio.run(_in_a_loop(window, name, urls, in_flight))
    else:
        _in_threads(window, name, urls, in_flight)
    return window.rate()


class _Window:
    """Reads the clocks after the first and after the last deliveries; the number in flight is constant in between."""

    def __init__(self, first: int, last: int) -> None:
        self._marks = {first, last}
        self._seen: list[tuple[int, float, float]] = []
        self._ended = itertools.count(1)
        self._failed: list[str] = []

    def is_open(self) -> bool:
        return len(self._seen) < len(self._marks)

    def note(self, status: int | str | None) -> None:
        ended = next(self._ended)  # atomic, so no thread's count is lost
        if ended in self._marks:
            self._seen.append((ended, time.monotonic(), time.process_time()))
        if status != 200:
            self._failed.append(str(status))

    def rate(self) -> Rate:
        if self._failed:
            raise RuntimeError(f"{len(self._failed)} deliveries failed: {self._failed[0]}")
        first, last = self._seen
        count, seconds, cpu = (end - start for start, end in zip(first, last, strict=True))
        return Rate(count / seconds, cpu / count * 1000)


def _in_threads(window: _Window, name: str, urls: list[str], in_flight: int) -> None:
    each = itertools.cycle(urls)
    free = deque([None] * in_flight)

    def ended(future: "Future[int | None]") -> None:
        error = future.exception()
        window.note(str(error) if error else future.result())
        free.append(None)

    with senders.sender(name, in_flight) as begin:
        while window.is_open() or len(free) < in_flight:
            while free and window.is_open():
                free.pop()
                begin(next(each), _SECONDS).add_done_callback(ended)
            time.sleep(_POLL_SECONDS)


async def _in_a_loop(window: _Window, name: str, urls: list[str], in_flight: int) -> None:
    each = itertools.cycle(urls)

    async def deliver(post: plain_sender.AsyncPost) -> None:
        while window.is_open():
            window.note(await post(next(each), *senders.message()))

    async with senders.IN_A_LOOP[name](_SECONDS) as post:
        running = [asyncio.create_task(deliver(post)) for _ in range(in_flight)]
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for one in running:
            one.cancel()  # the measurement has ended
        await asyncio.wait(running)
        for one in running:
            if not one.cancelled():
                one.result()
