"""The numbers that a change of a conversation adds to the analytics of its agent, from the stream record alone.

A conversation is counted when it begins, and a handoff when the state becomes `requested_chat`. Messages and
interactions are counted when they are first received (`new_messages`), as are the seconds by which the conversation
becomes longer. Deletions are not counted.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from chalicelib.conversations import store, transcript
from chalicelib.conversations.rows import CONVERSATION_ITEM, ConversationRow
from chalicelib.storage import Document, images


class CountedChange(NamedTuple):
    """The numbers that a change adds, and its values of the dimensions, both by name.

    `agent` is the partition key of the agent. `version_tag` is the tag of the write, which also contains its time.
    `caused_at` is the Unix time of an earlier change that caused this change, or None.
    """

    agent: str
    version_tag: str
    counts: Mapping[str, int]
    values: Mapping[str, Any]
    caused_at: int | None = None


_HANDOFF = "requested_chat"
# Callers choose the times of messages. They are clamped to numbers that a float represents exactly.
_MAX_SECONDS = 30 * 24 * 60 * 60
_LAST_MOMENT = 10**15
_CONTENT = ("turns", "summary", "metadata")
_MAX_CACHED = 10_000  # the maximum number of records in a batch
_cache: dict[int, tuple[dict[str, Any], "CountedChange | None"]] = {}  # by the identity of the record


def from_record(record: dict[str, Any]) -> CountedChange | None:
    """Return the counted change of a stream record, or None if it adds nothing or an import wrote it.

    The change is computed once for all followers of a batch. Raise UnknownLayout for a layout of a newer release.
    """
    cached = _cache.get(id(record))
    if cached is None or cached[0] is not record:
        if len(_cache) == _MAX_CACHED:
            _cache.clear()
        cached = _cache[id(record)] = record, _read(record)
    return cached[1]


def _read(record: dict[str, Any]) -> CountedChange | None:
    is_head = record["dynamodb"]["Keys"]["item"]["S"] == CONVERSATION_ITEM
    if record["eventName"] == "REMOVE" or not is_head or images.is_imported(record):
        return None
    return _of_change(record["dynamodb"])


def _of_change(change: dict[str, Any]) -> CountedChange | None:
    new, old = images.decode(change["NewImage"]) or {}, images.decode(change.get("OldImage")) or {}
    if old.get("created") != new["created"]:
        old = {}  # a new conversation has replaced an expired one
    if old and all(old.get(name) == new.get(name) for name in _CONTENT):
        return None
    row = ConversationRow.from_raw_data(new)
    metadata = store.read_metadata(row)
    counts = _counts(row, metadata, ConversationRow.from_raw_data(old) if old else None)
    values = {name: metadata.get(member) for name, member in _MEMBERS.items()}
    return CountedChange(row.agent, row.version_tag, counts, values) if any(counts.values()) else None


_MEMBERS = {"origin": "origin", "browser": "userBrowser", "platform": "userPlatform"}


def _counts(row: ConversationRow, metadata: Document, old: ConversationRow | None) -> dict[str, int]:
    before = store.read_metadata(old) if old else {}
    totals, totals_before = transcript.read_totals(row), transcript.read_totals(old) if old else None
    return {
        "conversations": int(old is None),
        "messages": totals.messages - (totals_before.messages if totals_before else 0),
        "interactions": totals.interactions - (totals_before.interactions if totals_before else 0),
        "handoffs": int(metadata.get("state") == _HANDOFF != before.get("state")),
        "seconds": max(_seconds(metadata) - _seconds(before), 0),
    }


def _seconds(metadata: Document) -> int:
    first, last = metadata.get("firstMessageTS"), metadata.get("lastMessageTS")
    if first is None or last is None:
        return 0
    start, end = (min(max(moment, -_LAST_MOMENT), _LAST_MOMENT) for moment in (first, last))
    return int(min(max(end - start, 0), _MAX_SECONDS))
