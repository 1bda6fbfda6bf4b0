"""A clock and a source of randomness that can be pinned, so that a replayed call gives the same answer.

Inside `pinned(moment)`, the time is the moment's, and random bytes (hence new identifiers) are derived from its seed.
Elsewhere, including other threads, both are real. Only the engine's process uses this module.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

_real_time = time.time
_real_urandom = os.urandom


@dataclass
class Moment:
    """The Unix time of a call in seconds, the seed of its randomness, and the number of draws so far."""

    at: float
    seed: str
    drawn: int = 0


_pinned: ContextVar[Moment | None] = ContextVar("pinned", default=None)


def new_moment() -> Moment:
    """The current time with a random seed."""
    return Moment(_real_time(), _real_urandom(16).hex())


@contextmanager
def pinned(moment: Moment) -> Iterator[None]:
    """Pin time and randomness to this moment inside the block."""
    token = _pinned.set(moment)
    try:
        yield
    finally:
        _pinned.reset(token)


def install() -> None:
    """Patch `time.time` and `os.urandom` for the whole process. Call it before importing the emulator's modules."""
    # Patching these two covers every module of the emulator that calls `time.time()`, also in a later version.
    # `uuid4` draws from `os.urandom`.
    for module, name, function in ((time, "time", _time), (os, "urandom", _urandom)):
        setattr(module, name, function)


def _time() -> float:
    moment = _pinned.get()
    return _real_time() if moment is None else moment.at


def _urandom(size: int, /) -> bytes:
    moment = _pinned.get()
    if moment is None:
        return _real_urandom(size)
    moment.drawn += 1
    return hashlib.shake_256(f"{moment.seed}/{moment.drawn}".encode()).digest(size)
