"""Represents stream records as row changes (change data capture), without I/O. `events` derives the events."""

import hashlib
from typing import Any, NamedTuple

from chalicelib import ids, storage
from chalicelib.storage import images
from chalicelib.storage.images import Image

# The principal that DynamoDB reports for TTL deletions.
_TTL_PRINCIPAL = "dynamodb.amazonaws.com"


class RowChange(NamedTuple):
    """A row before and after a write, as stored. `old` is None for an insertion, and `new` is None for a removal.

    `milliseconds` is the exact write time, from the version tag. For a removal, it is the stream's time, which
    may be rounded to seconds, but is always later than the last write.
    """

    table: str
    keys: dict[str, str]
    old: Image | None
    new: Image | None
    milliseconds: int
    is_expired: bool

    def event_id(self, what: str, milliseconds: int) -> str:
        """Return the id for an event in this change. Every read of the record yields the same id. Ids sort by time."""
        # Each write of a tagged row has a new version tag. A row without version tags is written only once, under its
        # own key.
        tag = _version_tag(self.new or self.old or {})
        keys = (self.keys[name] for name in sorted(self.keys))
        text = "/".join((self.table, *keys, tag, "gone" if self.new is None else "", what))
        digest = hashlib.blake2b(text.encode(), digest_size=10).digest()
        return ids.id_at(milliseconds, int.from_bytes(digest, "big"))


def from_record(record: dict[str, Any]) -> RowChange:
    """Return the change in a Lambda event's stream record. Raise KeyError, ValueError or TypeError if it is malformed.

    Lambda encodes binary values in base64, and times in seconds.
    """
    stream = record["dynamodb"]
    old, new = images.decode(stream.get("OldImage")), images.decode(stream.get("NewImage"))
    saved = ids.timestamp_of(tag) if (tag := _version_tag(new or old or {})) else 0
    approximate = int(stream["ApproximateCreationDateTime"] * 1000)
    principal = (record.get("userIdentity") or {}).get("principalId")
    return RowChange(
        record["eventSourceARN"].split("/")[1].removeprefix(storage.table("")),
        {name: value["S"] for name, value in stream["Keys"].items()},
        old,
        new,
        saved if new and saved else max(approximate, saved + 1),
        principal == _TTL_PRINCIPAL,
    )


def _version_tag(image: Image) -> str:
    return str(image.get("version_tag", {}).get("S", ""))
