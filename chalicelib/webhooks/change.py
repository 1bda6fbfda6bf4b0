"""A record of a table's stream as a change of a row. Pure: it says what changed, not what that means."""

import base64
import hashlib
from typing import Any, NamedTuple

from chalicelib import ids, storage

# Who removes an item whose time is over.
_EXPIRY = "dynamodb.amazonaws.com"
_Image = dict[str, dict[str, Any]]


class Change(NamedTuple):
    """A row before and after, as stored: `old` is None for a new one, `new` for one that is gone.

    `milliseconds` is when it was saved, exactly. For one that is gone it is what the stream says, which may be whole
    seconds, and later than its last save.
    """

    table: str
    keys: dict[str, str]
    old: _Image | None
    new: _Image | None
    milliseconds: int
    expired: bool

    def event_id(self, what: str, milliseconds: int) -> str:
        """An id for an event of this change: the same whenever the record is read again; ids sort by time."""
        # Every save leaves a mark of its own (`storage.VersionedRow`); what has none has a key of its own.
        mark = _mark(self.new or self.old or {})
        keys = (self.keys[name] for name in sorted(self.keys))
        text = "/".join((self.table, *keys, mark, "gone" if self.new is None else "", what))
        digest = hashlib.blake2b(text.encode(), digest_size=10).digest()
        return ids.id_at(milliseconds, int.from_bytes(digest, "big"))


def from_record(record: dict[str, Any]) -> Change:
    """A record of a function's event. Raises KeyError, ValueError or TypeError for what is none.

    Binary values are base64 there and bytes in the database; times are in seconds.
    """
    stream = record["dynamodb"]
    old, new = _image(stream.get("OldImage")), _image(stream.get("NewImage"))
    saved = ids.timestamp_of(mark) if (mark := _mark(new or old or {})) else 0
    told = int(stream["ApproximateCreationDateTime"] * 1000)
    principal = (record.get("userIdentity") or {}).get("principalId")
    return Change(
        record["eventSourceARN"].split("/")[1].removeprefix(storage.table("")),
        {name: value["S"] for name, value in stream["Keys"].items()},
        old,
        new,
        saved if new and saved else max(told, saved + 1),
        principal == _EXPIRY,
    )


def _mark(image: _Image) -> str:
    return str(image.get("version_tag", {}).get("S", ""))


def _image(image: _Image | None) -> _Image | None:
    return {name: _value(value) for name, value in image.items()} if image else None


def _value(value: dict[str, Any]) -> dict[str, Any]:
    binary = value.get("B")
    return {"B": base64.b64decode(binary)} if isinstance(binary, str) else value
