"""Fair queues for the local engine, which otherwise hands out messages in the order of their arrival.

Groups of messages, which are workspaces, take turns, the one with the fewest messages in flight first. An eighth of the
worker's slots is kept for groups with little in flight: however many receivers of one workspace hang, the messages of
the others are handed out at once. SQS gives the turns, too, but keeps no slots.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

SLOTS = 64
"""Invocations that the worker runs at a time for a queue. One may have a single message."""

_KEPT = SLOTS // 8
# A group with fewer messages in flight has little in flight.
_LITTLE = 30

Message = dict[str, Any]
Collect = Callable[[dict[str, Any], int, int], list[Message]]


def in_turn(collect: Collect) -> Collect:
    """Wrap the engine's function that takes up to a number of messages from a queue."""

    def collect_in_turn(queue: dict[str, Any], max_messages: int, visibility_timeout: int) -> list[Message]:
        chosen = choose(queue["messages"], max_messages, time.time())
        return collect({**queue, "messages": chosen}, max_messages, visibility_timeout)

    return collect_in_turn


def choose(messages: list[Message], max_messages: int, now: float) -> list[Message]:
    """Return up to `max_messages` visible messages, of each group in turn."""
    in_flight: Counter[str] = Counter()
    waiting: dict[str, list[Message]] = defaultdict(list)
    for message in messages:
        group = message.get("group_id") or ""
        if message["visible_at"] > now:
            in_flight[group] += message["receive_count"] > 0  # otherwise it is delayed
        elif len(waiting[group]) < max_messages:
            waiting[group].append(message)
    are_taken = sum(count for count in in_flight.values() if count >= _LITTLE) >= SLOTS - _KEPT
    served = [group for group in waiting if in_flight[group] < _LITTLE or not are_taken]
    served.sort(key=lambda group: in_flight[group])
    turns = zip_longest(*(waiting[group] for group in served))
    return [message for turn in turns for message in turn if message is not None][:max_messages]
