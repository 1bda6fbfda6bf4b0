"""Shows on a terminal what a run is doing while it starts. A log gets none of these lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print the name of what happens in the block, and behind it the seconds that it took."""
    if not sys.stdout.isatty():
        yield
        return
    started = time.monotonic()
    print(f"  {name} ...", end="", flush=True)
    try:
        yield
    except BaseException:
        print(flush=True)  # the error starts on a new line
        raise
    print(f" {time.monotonic() - started:.1f} s", flush=True)
