"""DNS lookups with a deadline. The system resolver does not support deadlines, so it runs in separate threads.

A lookup may outlive the delivery that started it. Deliveries to one host share a lookup, and at most `MAX_LOOKUPS` run
at a time, so hanging name servers cannot use up the process's threads. Answers are cached for one second, because
bursts go to few hosts, and waiting for another thread takes a fifth of a delivery's time. This module does not decide
which addresses are allowed: the caller checks every answer, including cached ones.
"""

import socket
import threading
from concurrent import futures
from functools import partial
from queue import SimpleQueue
from typing import Any

from chalicelib import clock

# A function has 1,024 threads, and up to 900 deliveries use one each.
MAX_LOOKUPS = 64

Answer = tuple[socket.AddressFamily, tuple[Any, ...]]
_Key = tuple[str, int]
_Lookup = futures.Future[list[Answer]]

in_flight: dict[_Key, _Lookup] = {}
# This is much shorter than typical DNS TTLs. Ages use the wall clock, because the monotonic clock may stop while Lambda
# freezes the process. Failures are not cached.
_CACHE_MS = 1000
_MAX_CACHED = 1024
cache: dict[_Key, tuple[int, list[Answer]]] = {}
_finished = threading.Condition()
# Threads wait for the next lookup, because starting a thread costs more than most lookups. They end with the process.
_queue: SimpleQueue[tuple[_Key, _Lookup]] = SimpleQueue()
_idle = 0


def look_up(host: str, port: int, deadline: float) -> list[Answer]:
    """Return a host's addresses before `deadline` on the monotonic clock.

    Raise TimeoutError, OSError from the resolver, and RuntimeError when the process cannot start a thread.
    """
    key = host, port
    since, answers = cache.get(key, (0, []))
    if 0 <= clock.milliseconds() - since < _CACHE_MS:
        return answers
    with _finished:
        if not _finished.wait_for(lambda: key in in_flight or len(in_flight) < MAX_LOOKUPS, seconds_until(deadline)):
            raise TimeoutError
        if key in in_flight:
            _finished.notify()  # this caller joins a running lookup, so the next waiter gets the free slot
        else:
            _start(key)
        lookup = in_flight[key]
    return lookup.result(seconds_until(deadline))


def seconds_until(deadline: float) -> float:
    """Return the seconds until the deadline. The result is never 0, which a socket treats as "do not wait".

    Raise TimeoutError after the deadline.
    """
    seconds = deadline - clock.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _start(key: _Key) -> None:
    global _idle
    if _idle:
        _idle -= 1
    else:
        threading.Thread(target=_work, name="lookup", daemon=True).start()
    in_flight[key] = futures.Future()
    _queue.put((key, in_flight[key]))


def _work() -> None:
    global _idle
    while True:
        key, lookup = _queue.get()
        try:
            records = socket.getaddrinfo(*key, type=socket.SOCK_STREAM)
            answers: list[Answer] = [(family, address) for family, _, _, _, address in records]
            if len(cache) >= _MAX_CACHED:
                cache.clear()
            cache[key] = clock.milliseconds(), answers
            complete = partial(lookup.set_result, answers)
        except Exception as error:
            complete = partial(lookup.set_exception, error)
        with _finished:  # before the future completes, so that a later caller does not join a finished lookup
            del in_flight[key]
            _idle += 1
            _finished.notify()
        complete()
