"""Requests for a person in what happened: the messages that ask to notify the people of the agents by email.

The stream sends one message for each workspace of a batch, and reads nothing for it. Who is notified is decided where
the message arrives (`console.notifications`).
"""

import json
from collections import defaultdict
from collections.abc import Iterable

from chalicelib import ids, storage
from chalicelib.analytics.store import Happened

KIND = "requested"
# The index of the inbox is eventually consistent, and clocks differ: when the message is read, the conversations are in
# it, and their time is before what the next mail counts as covered (`console.notifications.notices`).
DELAY_SECONDS = 8
_MAX_AGENTS = 500


def messages(found: Iterable[Happened]) -> dict[str, list[str]]:
    """The messages by workspace: `["requested", workspace, ms of the newest request, [agent ids], ""]`."""
    requested: dict[str, dict[str, int]] = defaultdict(dict)
    for one in found:
        if one.counts["handoffs"]:
            workspace_id, agent_id = storage.split_key(one.agent)
            at = ids.timestamp_of(one.version_tag)
            requested[workspace_id][agent_id] = max(at, requested[workspace_id].get(agent_id, 0))
    return {workspace_id: [*_texts(workspace_id, agents)] for workspace_id, agents in requested.items()}


def _texts(workspace_id: str, agents: dict[str, int]) -> Iterable[str]:
    agent_ids = sorted(agents)
    for start in range(0, len(agent_ids), _MAX_AGENTS):
        part = agent_ids[start : start + _MAX_AGENTS]
        yield json.dumps([KIND, workspace_id, max(agents[one] for one in part), part, ""])
