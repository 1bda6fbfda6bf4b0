"""A model of queues whose functions share an account's concurrent executions.

The model follows AWS's documentation. A queue's poller receives a batch, and invokes the function until Lambda accepts
the batch or the visibility timeout expires. After the timeout, the messages are visible again, with a higher receive
count. Lambda also polls less after throttled invocations. AWS does not document how much less, so the model
pessimistically polls at the maximum rate.
"""

import heapq
import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Load(NamedTuple):
    """A queue's work: the message count, and the duration in seconds of an invocation with a batch of ten."""

    messages: int
    seconds: int


@dataclass
class Outcome:
    """The message count by outcome, and the longest time that a received batch waited, in seconds."""

    handled: int = 0
    dead: int = 0
    longest_wait: int = 0
    returned: int = 0


@dataclass
class _Queue:
    pollers: int
    seconds: int
    visible: deque[int]
    """Receive count of each visible message."""
    waiting: list["_Batch"] = field(default_factory=list)
    running: int = 0


@dataclass(eq=False)
class _Batch:
    queue: _Queue
    received_at: int
    receives: list[int]


_BATCH_SIZE = 10


def simulate(
    executions: int,
    loads: Mapping[str, Load],
    pollers: Mapping[str, int],
    *,
    visibility_seconds: int,
    max_receives: int,
    seed: int = 1,
) -> Outcome:
    """Process all loads with the executions that the API and the streams leave over; return the outcome."""
    chance, outcome = random.Random(seed), Outcome()
    queues = [_Queue(pollers[name], load.seconds, deque([0] * load.messages)) for name, load in loads.items()]
    ends: list[tuple[int, int, _Batch]] = []
    now = started = 0
    while any(one.visible or one.waiting or one.running for one in queues):
        while ends and ends[0][0] <= now:
            batch = heapq.heappop(ends)[2]
            batch.queue.running -= 1
            outcome.handled += len(batch.receives)
        for queue in queues:
            _return_late_batches(queue, now - visibility_seconds, outcome)
            _receive(queue, now, max_receives, outcome)
        waiting = [batch for queue in queues for batch in queue.waiting]
        for batch in chance.sample(waiting, min(len(waiting), executions - len(ends))):
            batch.queue.waiting.remove(batch)
            batch.queue.running += 1
            outcome.longest_wait = max(outcome.longest_wait, now - batch.received_at)
            started += 1
            heapq.heappush(ends, (now + batch.queue.seconds, started, batch))
        now += 1
    return outcome


def _return_late_batches(queue: _Queue, oldest: int, outcome: Outcome) -> None:
    for batch in [one for one in queue.waiting if one.received_at <= oldest]:
        queue.waiting.remove(batch)
        queue.visible.extend(batch.receives)
        outcome.returned += len(batch.receives)


def _receive(queue: _Queue, now: int, max_receives: int, outcome: Outcome) -> None:
    while queue.visible and len(queue.waiting) + queue.running < queue.pollers:
        received = [queue.visible.popleft() for _ in range(min(_BATCH_SIZE, len(queue.visible)))]
        alive = [count + 1 for count in received if count < max_receives]
        outcome.dead += len(received) - len(alive)
        if alive:
            queue.waiting.append(_Batch(queue, now, alive))
