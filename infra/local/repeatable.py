"""A clock and a source of randomness that can be held still, so that a call gives the same answer when it is
repeated.

Inside `held(moment)` the time stands at the moment's and random bytes (hence new identifiers) are derived
from its seed; everywhere else, other threads included, both are the real ones. Only the engine's process uses
this.
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
    """When a call happened and the seed of the randomness that it used."""

    at: float
    seed: str
    drawn: int = 0


_held: ContextVar[Moment | None] = ContextVar("held", default=None)


def new_moment() -> Moment:
    """Now, with a seed of its own."""
    return Moment(_real_time(), _real_urandom(16).hex())


@contextmanager
def held(moment: Moment) -> Iterator[None]:
    """Time and randomness are this moment's inside the block."""
    token = _held.set(moment)
    try:
        yield
    finally:
        _held.reset(token)


def install() -> None:
    """Puts the two functions in place, for the whole process: before the emulator's modules are imported."""
    # In place of names in each module of the emulator: `uuid4` draws from `os.urandom`, and every module
    # that says `time.time()` is covered, also one that a later version adds.
    for module, name, function in ((time, "time", _time), (os, "urandom", _urandom)):
        setattr(module, name, function)


def _time() -> float:
    moment = _held.get()
    return _real_time() if moment is None else moment.at


def _urandom(size: int, /) -> bytes:
    moment = _held.get()
    if moment is None:
        return _real_urandom(size)
    moment.drawn += 1
    return hashlib.shake_256(f"{moment.seed}/{moment.drawn}".encode()).digest(size)
