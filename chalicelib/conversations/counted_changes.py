"""The counts that a conversation change adds to its agent's analytics, computed from the stream record alone.

A conversation is counted when it begins, and a handoff when the state becomes `requested_chat`. Messages and
interactions are counted when they are first received (`new_messages`), together with the seconds that they add to the
conversation's duration. First answers and ends are counted when the row stores their times. Deletions are not counted.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from chalicelib.conversations import store, transcript
from chalicelib.conversations.rows import CONVERSATION_ITEM, ConversationRow
from chalicelib.storage import Document, images


class CountedChange(NamedTuple):
    """The counts that a change adds and its dimension values, each keyed by name.

    `agent` is the agent's partition key. `version_tag` is the row's version tag, which contains the write time.
    `caused_at` is the Unix time of an earlier change that caused this change, or None.
    """

    agent: str
    version_tag: str
    counts: Mapping[str, int]
    values: Mapping[str, Any]
    caused_at: int | None = None


# Callers choose timestamps. They are clamped to values that a float represents exactly. Large ones are milliseconds.
_MAX_SECONDS = 30 * 24 * 60 * 60
_MAX_TIMESTAMP, _MILLISECONDS = 10**15, 10**11
_MEMBERS = {"origin": "origin", "browser": "userBrowser", "platform": "userPlatform"}
_CONTENT = ("turns", "summary", "metadata")
_MAX_CACHED = 10_000  # maximum records per batch
_cache: dict[int, tuple[dict[str, Any], "CountedChange | None"]] = {}  # keyed by the record's `id()`


def from_record(record: dict[str, Any]) -> CountedChange | None:
    """Return a stream record's counted change, or None if it adds nothing or comes from an import.

    All followers of a batch share the result. Raise UnknownLayout if a newer release stored the record.
    """
    cached = _cache.get(id(record))
    if cached is None or cached[0] is not record:
        if len(_cache) == _MAX_CACHED:
            _cache.clear()
        cached = _cache[id(record)] = record, _read(record)
    return cached[1]


def _read(record: dict[str, Any]) -> CountedChange | None:
    change = record["dynamodb"]
    is_head = change["Keys"]["item"]["S"] == CONVERSATION_ITEM
    if record["eventName"] == "REMOVE" or not is_head or images.is_imported(record):
        return None
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


def _counts(row: ConversationRow, metadata: Document, old: ConversationRow | None) -> dict[str, int]:
    before = store.read_metadata(old) if old else {}
    totals, totals_before = transcript.read_totals(row), transcript.read_totals(old) if old else None
    answered = row.answered_after if old is None or old.answered_after is None else None
    ended = row.ended_after if old is None or old.ended_after is None else None
    return {
        "conversations": int(old is None),
        "messages": totals.messages - (totals_before.messages if totals_before else 0),
        "interactions": totals.interactions - (totals_before.interactions if totals_before else 0),
        "handoffs": int(metadata.get("state") == store.HANDOFF != before.get("state")),
        "seconds": max(_seconds(metadata) - _seconds(before), 0),
        "firstAnswers": int(answered is not None),
        "firstAnswerMilliseconds": int(answered or 0),
        "ends": int(ended is not None),
        "endMilliseconds": int(ended or 0),
    }


def _seconds(metadata: Document) -> int:
    times = [ts for name in ("firstMessageTS", "lastMessageTS") if (ts := metadata.get(name)) is not None]
    if len(times) < 2:
        return 0
    start, end = (min(max(ts, -_MAX_TIMESTAMP), _MAX_TIMESTAMP) / (1_000 if ts >= _MILLISECONDS else 1) for ts in times)
    return int(min(max(end - start, 0), _MAX_SECONDS))
