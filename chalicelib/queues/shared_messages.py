"""Delayed messages that changes share, because a message also covers the changes that precede its delivery."""

from collections.abc import Callable, Iterable
from typing import Any

from chalicelib import clock

SHARED_SECONDS = 60  # the time for which changes share a message, which is shorter than the message's delay
_sent: dict[tuple[Any, ...], int] = {}  # the Unix time of each key's last message


def send(keys: Iterable[tuple[Any, ...]], send_unsent: Callable[[list[Any]], None]) -> None:
    """Pass the distinct keys, sorted, to `send_unsent`, except those that this process sent in the last minute."""
    now = clock.seconds()
    for key in [key for key, sent_at in _sent.items() if not 0 <= now - sent_at < SHARED_SECONDS]:
        del _sent[key]
    unsent = sorted({*keys} - _sent.keys())
    send_unsent(unsent)
    _sent.update(dict.fromkeys(unsent, now))
