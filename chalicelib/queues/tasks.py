"""Tasks in the `maintenance` queue: core's background work, which `chalicelib.maintenance` performs.

A task may run twice or late, so all tasks are idempotent.
"""

from collections.abc import Iterable
from typing import NamedTuple

from chalicelib import queues
from chalicelib.queues import messages


class RecountQuarter(NamedTuple):
    """Recount an agent's conversations that were created in a quarter hour. `agent` is the partition key."""

    agent: str
    day: str
    number: int


class ContinueFanOut(NamedTuple):
    """Send deliveries for stored events of one type. Each group becomes one delivery message."""

    workspace_id: str
    type: str
    groups: tuple[tuple[str, ...], ...]


class ClearLeftovers(NamedTuple):
    """Delete the rows of a deleted conversation that come after a sort key. `conversation` is the partition key."""

    conversation: str
    after: str | None = None


class ResumeCascade(NamedTuple):
    """Continue the cascading deletion of an agent."""

    workspace_id: str
    agent_id: str


class ApplyRetention(NamedTuple):
    """Apply changed retention days to an agent's conversations created after `after`, then to the next agents.

    If `agent_id` is None, begin with the first agent. If `is_only` is true, skip all other agents.
    """

    workspace_id: str
    agent_id: str | None = None
    is_only: bool = False
    after: str | None = None


Task = RecountQuarter | ContinueFanOut | ClearLeftovers | ResumeCascade | ApplyRetention


def send(workspace_id: str, tasks: Iterable[Task], delay_seconds: int = 0) -> None:
    """Send a workspace's tasks, to begin after `delay_seconds`. Raise Unavailable if the queue does not accept all.

    `ResumeCascade`, `ApplyRetention` and `ClearLeftovers` send a follow-up task only when the current task is done.
    Therefore, each occupies only one invocation at a time, however many records it has.
    """
    queues.send(queues.MAINTENANCE, [messages.pack(task) for task in tasks], workspace_id, delay_seconds)
