"""Row images in stream records, as Lambda passes them to a function."""

import base64
from typing import Any

from chalicelib import ids

# The maximum time between a version tag and its write: longer than any request plus clock skew.
_WRITE_SECONDS = 300

Image = dict[str, dict[str, Any]]


def decode(image: Image | None) -> Image | None:
    """Return the image for `Row.from_raw_data`, with bytes in place of base64, or None if there is no image."""
    return {name: _value(value) for name, value in image.items()} if image else None


def is_imported(record: dict[str, Any]) -> bool:
    """Return whether an import caused a stream record. An imported row has the old version tag from the file."""
    change = record["dynamodb"]
    tag = change.get("NewImage", {}).get("version_tag", {}).get("S", "")
    written = change.get("ApproximateCreationDateTime", 0)
    return ids.ULID.fullmatch(tag) is not None and written - ids.timestamp_of(tag) // 1000 > _WRITE_SECONDS


def _value(value: dict[str, Any]) -> dict[str, Any]:
    binary = value.get("B")
    return {"B": base64.b64decode(binary)} if isinstance(binary, str) else value
