"""A stream record as a change of a row (change data capture). Pure: it says what changed, not which event that is."""

import base64
import hashlib
from typing import Any, NamedTuple

from chalicelib import ids, storage

# The principal of a deletion by TTL.
_TTL_PRINCIPAL = "dynamodb.amazonaws.com"
_Image = dict[str, dict[str, Any]]


class Change(NamedTuple):
    """A row before and after a write, as stored: `old` is None for an insertion, `new` for a removal.

    `milliseconds` is the exact time of the write, from its version tag. For a removal it is the stream's time: it
    may be rounded to seconds, but is always later than the last write.
    """

    table: str
    keys: dict[str, str]
    old: _Image | None
    new: _Image | None
    milliseconds: int
    expired: bool

    def event_id(self, what: str, milliseconds: int) -> str:
        """Return the id of an event of this change: the same each time the record is read; ids sort by time."""
        # Each write of a tagged row has its own version tag. A row without tags is written once, under its own key.
        tag = _version_tag(self.new or self.old or {})
        keys = (self.keys[name] for name in sorted(self.keys))
        text = "/".join((self.table, *keys, tag, "gone" if self.new is None else "", what))
        digest = hashlib.blake2b(text.encode(), digest_size=10).digest()
        return ids.id_at(milliseconds, int.from_bytes(digest, "big"))


def from_record(record: dict[str, Any]) -> Change:
    """Read a record of a function's event. Raises KeyError, ValueError or TypeError if it is malformed.

    In the event, binary values are base64 and times are in seconds.
    """
    stream = record["dynamodb"]
    old, new = _image(stream.get("OldImage")), _image(stream.get("NewImage"))
    saved = ids.timestamp_of(tag) if (tag := _version_tag(new or old or {})) else 0
    approximate = int(stream["ApproximateCreationDateTime"] * 1000)
    principal = (record.get("userIdentity") or {}).get("principalId")
    return Change(
        record["eventSourceARN"].split("/")[1].removeprefix(storage.table("")),
        {name: value["S"] for name, value in stream["Keys"].items()},
        old,
        new,
        saved if new and saved else max(approximate, saved + 1),
        principal == _TTL_PRINCIPAL,
    )


def _version_tag(image: _Image) -> str:
    return str(image.get("version_tag", {}).get("S", ""))


def _image(image: _Image | None) -> _Image | None:
    return {name: _value(value) for name, value in image.items()} if image else None


def _value(value: dict[str, Any]) -> dict[str, Any]:
    binary = value.get("B")
    return {"B": base64.b64decode(binary)} if isinstance(binary, str) else value
