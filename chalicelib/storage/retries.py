"""Exponential backoff with jitter, for attempts that conflict with other writers."""

import random

from chalicelib import clock


def pause(attempt: int) -> None:
    """Sleep for a random time of at most 10 ms * 2**`attempt`, and at most one second."""
    clock.sleep(random.uniform(0, min(1.0, 0.01 * 2**attempt)))
