"""DNS lookups with a deadline. The system resolver does not support deadlines, so it runs in separate threads.

A lookup may outlive the delivery that started it. Concurrent deliveries to the same host share a lookup. At most
`MAX_LOOKUPS` run at a time, so hanging name servers cannot use up the process's threads. Addresses are cached for one
second, because bursts go to few hosts, and waiting for another thread takes a fifth of a delivery's time. This module
does not decide which addresses are allowed: the caller checks every address, including cached addresses.
"""

import socket
import threading
from concurrent import futures
from functools import partial
from queue import SimpleQueue
from typing import Any

from chalicelib import clock

# A Lambda process can have 1,024 threads, and deliveries use up to 900 of them.
MAX_LOOKUPS = 64

ResolvedAddress = tuple[socket.AddressFamily, tuple[Any, ...]]
_Key = tuple[str, int]
_Lookup = futures.Future[list[ResolvedAddress]]

in_flight: dict[_Key, _Lookup] = {}
# The cache lifetime is much shorter than typical DNS TTLs. Ages are measured with the wall clock, because the monotonic
# clock may stop while Lambda freezes the process. Failures are not cached.
_CACHE_MS = 1000
_MAX_CACHED = 1024
cache: dict[_Key, tuple[int, list[ResolvedAddress]]] = {}
_finished = threading.Condition()
# Idle threads wait for the next lookup, because starting a thread costs more than most lookups. They end with the
# process.
_queue: SimpleQueue[tuple[_Key, _Lookup]] = SimpleQueue()
_idle = 0


def look_up(host: str, port: int, deadline: float) -> list[ResolvedAddress]:
    """Return a host's addresses before `deadline` on the monotonic clock.

    Raise TimeoutError, OSError from the resolver, or RuntimeError if the process cannot start a thread.
    """
    key = host, port
    since, addresses = cache.get(key, (0, []))
    if 0 <= clock.milliseconds() - since < _CACHE_MS:
        return addresses
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
            addresses: list[ResolvedAddress] = [(family, address) for family, _, _, _, address in records]
            if len(cache) >= _MAX_CACHED:
                cache.clear()
            cache[key] = clock.milliseconds(), addresses
            complete = partial(lookup.set_result, addresses)
        except Exception as error:
            complete = partial(lookup.set_exception, error)
        with _finished:  # before the future completes, so that a later caller does not join a finished lookup
            del in_flight[key]
            _idle += 1
            _finished.notify()
        complete()
