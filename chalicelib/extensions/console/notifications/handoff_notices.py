"""Reads the conversation stream, and sends queue messages to notify people of conversations that request a person.

A batch sends one message per workspace and reads nothing from the database. When a message arrives, `notifier` selects
the recipients.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from chalicelib import ids, storage
from chalicelib.conversations import counted_changes
from chalicelib.extensions.console import queue
from chalicelib.extensions.console.notifications import mail_settings
from chalicelib.extensions.console.queue import FindRecipients

# The inbox index is eventually consistent, and clocks differ. After this delay, the index contains the conversations,
# and the next email covers their timestamps (`notices`).
DELAY_SECONDS = 8
_MAX_AGENTS = 500


def read(record: dict[str, Any]) -> tuple[str, int] | None:
    """Return the agent key and the time in Unix milliseconds if a conversation requests a person, otherwise None."""
    if not mail_settings.are_complete():
        return None
    change = counted_changes.from_record(record)
    return (change.agent, ids.timestamp_of(change.version_tag)) if change and change.counts["handoffs"] else None


def send(requests: list[tuple[str, int]]) -> None:
    """Send a message for each workspace with its agents and the time of the newest request."""
    newest: dict[str, dict[str, int]] = defaultdict(dict)
    for agent, requested_at in sorted(requests):
        workspace_id, agent_id = storage.split_key(agent)
        newest[workspace_id][agent_id] = requested_at
    for workspace_id, by_agent in newest.items():
        queue.send(workspace_id, _messages(workspace_id, by_agent), DELAY_SECONDS)


def _messages(workspace_id: str, by_agent: dict[str, int]) -> Iterable[FindRecipients]:
    agent_ids = sorted(by_agent)
    for start in range(0, len(agent_ids), _MAX_AGENTS):
        part = agent_ids[start : start + _MAX_AGENTS]
        yield FindRecipients(workspace_id, max(by_agent[agent_id] for agent_id in part), tuple(part))
