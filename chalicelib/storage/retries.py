"""Exponential backoff with jitter between the attempts at something that another writer got in the way of."""

import random

from chalicelib import clock


def pause(attempt: int) -> None:
    """Wait before the next attempt: a random time, up to twice as long each time and a second at most."""
    clock.sleep(random.uniform(0, min(1.0, 0.01 * 2**attempt)))
