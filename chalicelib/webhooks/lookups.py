"""Where a host leads: the system's resolver, which knows no deadline, asked under one.

It runs in threads that may outlive a delivery: one for a host however many wait for it, and few in all, so that name
servers that hang do not use up the process's threads. What it said is good for a second: a burst goes to few hosts, and
to ask another thread and wait for it takes a fifth of a delivery. Whoever uses an answer checks it anew.
Not responsible for whether anybody may go there.
"""

import socket
import threading
from concurrent import futures
from functools import partial
from queue import SimpleQueue
from typing import Any

from chalicelib import clock

# Lookups at once. A function has 1,024 threads, and up to 900 deliveries have one each.
MOST = 64

Answer = tuple[socket.AddressFamily, tuple[Any, ...]]
_Key = tuple[str, int]
_Lookup = futures.Future[list[Answer]]

running: dict[_Key, _Lookup] = {}
# Far below what name service itself keeps. By the clock of the day: a function that is frozen may find the other one
# where it left it. Failures are not kept.
_KEPT_MS = 1000
_MOST_KEPT = 1024
kept: dict[_Key, tuple[int, list[Answer]]] = {}
_ended = threading.Condition()
# Threads stay for the next lookup, as making one costs more than most lookups. They end with the process.
_asked: SimpleQueue[tuple[_Key, _Lookup]] = SimpleQueue()
_idle = 0


def look_up(host: str, port: int, deadline: float) -> list[Answer]:
    """The addresses of a host, by `deadline` of the monotonic clock.

    Raises TimeoutError, OSError for what the resolver says, and RuntimeError when the process has no thread left.
    """
    key = host, port
    since, answers = kept.get(key, (0, []))
    if 0 <= clock.milliseconds() - since < _KEPT_MS:
        return answers
    with _ended:
        if not _ended.wait_for(lambda: key in running or len(running) < MOST, left(deadline)):
            raise TimeoutError
        if key in running:
            _ended.notify()  # somebody else may need the turn that this one does not
        else:
            _start(key)
        lookup = running[key]
    return lookup.result(left(deadline))


def left(deadline: float) -> float:
    """Seconds until the deadline, never 0, which would mean "do not wait" to a socket; raises TimeoutError."""
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
    running[key] = futures.Future()
    _asked.put((key, running[key]))


def _work() -> None:
    global _idle
    while True:
        key, lookup = _asked.get()
        try:
            found = socket.getaddrinfo(*key, type=socket.SOCK_STREAM)
            answers: list[Answer] = [(family, address) for family, _, _, _, address in found]
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            kept[key] = clock.milliseconds(), answers
            tell = partial(lookup.set_result, answers)
        except Exception as error:
            tell = partial(lookup.set_exception, error)
        with _ended:  # before it is told: whoever comes later asks anew
            del running[key]
            _idle += 1
            _ended.notify()
        tell()
