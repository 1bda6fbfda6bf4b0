"""The reports' stream followers, which store the counted changes.

The followers skip imported rows, whose timestamps come from another stage, and changes of test conversations.
"""

from typing import Any

from chalicelib import ids, storage
from chalicelib.analytics import store as analytics
from chalicelib.conversations import counted_changes
from chalicelib.conversations import store as conversations
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.extensions.reports import counts, people
from chalicelib.extensions.reports.counts import ChangeRow
from chalicelib.leads.store import LeadRow
from chalicelib.queues.stream_batches import Follower
from chalicelib.storage import images
from chalicelib.webhooks import ledger

TEST_PREFIX, TEST_TAG = "try-", "test"
"""The beginning of the ids and the tag of conversations that do not count, because operators test an agent in them.

Both are needed, so that people who may tag a visitor's conversation cannot take it out of the usage.
"""
_SENT = (ledger.DELIVERED, ledger.FAILED)
_LOAD_MEMBERS = {
    "origin": "origin",
    "country": "countryCode",
    "browser": "browser",
    "platform": "platform",
    "language": "langCode",
}


def _conversation(record: dict[str, Any]) -> CountedChange | None:
    """Return the counted change of a conversation, with the work of a person, or None for a test conversation."""
    change = counted_changes.from_record(record)
    if change is None:
        return None
    row = conversations.ConversationRow.from_raw_data(images.decode(record["dynamodb"]["NewImage"]) or {})
    return None if _is_test(row) else people.with_work(change, row)


def _is_test(row: conversations.ConversationRow) -> bool:
    *_, conversation_id = storage.split_key(row.conversation)
    return conversation_id.startswith(TEST_PREFIX) and TEST_TAG in (conversations.read_metadata(row).get("tags") or ())


def _lead(record: dict[str, Any]) -> ChangeRow | None:
    """Return the change row for a new lead. The lead's channel is its origin."""
    if record["eventName"] != "INSERT" or images.is_imported(record):
        return None
    row = LeadRow.from_raw_data(images.decode(record["dynamodb"]["NewImage"]) or {})
    lead = row.open()
    agent, origin = storage.join_key(row.workspace_id, lead["agentId"]), {"origin": lead.get("channel")}
    return counts.change_row(CountedChange(agent, row.version_tag, {"leads": 1}, origin))


def _load(record: dict[str, Any]) -> ChangeRow | None:
    """Return the change row for a page load. The first load of a conversation id counts as a new visitor."""
    new, old = (images.decode(record["dynamodb"].get(name)) or {} for name in ("NewImage", "OldImage"))
    if new.get("load") in (None, old.get("load")) or images.is_imported(record):
        return None
    row = analytics.AnalyticsRow.from_raw_data(new)
    load = analytics.records(row)[0]
    values = {name: load.get(member) for name, member in _LOAD_MEMBERS.items()}
    numbers = {"loads": 1, "newVisitors": int("load" not in old)}
    return counts.change_row(CountedChange(row.agent, row.version_tag, numbers, values))


def _delivery(record: dict[str, Any]) -> ChangeRow | None:
    """Return the change row for a delivery when its POST's outcome is recorded. Expired deliveries do not count."""
    new, old = (record["dynamodb"].get(name, {}) for name in ("NewImage", "OldImage"))
    if "outcome" not in new or "outcome" in old or new["outcome"]["S"] not in _SENT:
        return None
    # Deliveries of the previous release have no agent.
    workspace_id, *_ = storage.split_key(new["webhook"]["S"])
    agent_id = new.get("agent_id", {"S": counts.NO_AGENT})["S"]
    agent, tag = storage.join_key(workspace_id, agent_id), new["version_tag"]["S"]
    # A delivery may wait for four days, during which its agent may be deleted and recreated.
    requested_at = ids.timestamp_of(new["delivery_id"]["S"]) // 1000
    return counts.change_row(CountedChange(agent, tag, {"deliveries": 1}, {}, requested_at))


CONVERSATIONS = Follower(_conversation, counts.record_changes)
LEADS = Follower(_lead, counts.save_rows)
ANALYTICS = Follower(_load, counts.save_rows)
DELIVERIES = Follower(_delivery, counts.save_rows)
