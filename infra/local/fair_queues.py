"""Fair queues for the local engine, which otherwise delivers messages in order of arrival.

Message groups (workspaces) take turns, starting with the group that has the fewest messages in flight. An eighth of the
worker's slots is reserved for groups with few messages in flight. Even if many receivers of one workspace hang, other
workspaces' messages are delivered without delay. SQS also takes turns, but reserves no slots.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

SLOTS = 64
"""Number of invocations that the worker runs concurrently for a queue. An invocation may process a single message."""

_KEPT = SLOTS // 8
# Groups with fewer messages in flight may use the reserved slots.
_LITTLE = 30

Message = dict[str, Any]
Collect = Callable[[dict[str, Any], int, int], list[Message]]


def in_turn(collect: Collect) -> Collect:
    """Wrap the engine's function that receives messages from a queue, so that groups take turns."""

    def collect_in_turn(queue: dict[str, Any], max_messages: int, visibility_timeout: int) -> list[Message]:
        chosen = choose(queue["messages"], max_messages, time.time())
        return collect({**queue, "messages": chosen}, max_messages, visibility_timeout)

    return collect_in_turn


def choose(messages: list[Message], max_messages: int, now: float) -> list[Message]:
    """Return at most `max_messages` visible messages, taken from the groups in rotation."""
    in_flight: Counter[str] = Counter()
    waiting: dict[str, list[Message]] = defaultdict(list)
    for message in messages:
        group = message.get("group_id") or ""
        if message["visible_at"] > now:
            in_flight[group] += message["receive_count"] > 0  # later messages are delayed
        elif len(waiting[group]) < max_messages:
            waiting[group].append(message)
    are_taken = sum(count for count in in_flight.values() if count >= _LITTLE) >= SLOTS - _KEPT
    served = [group for group in waiting if in_flight[group] < _LITTLE or not are_taken]
    served.sort(key=lambda group: in_flight[group])
    turns = zip_longest(*(waiting[group] for group in served))
    return [message for turn in turns for message in turn if message is not None][:max_messages]
