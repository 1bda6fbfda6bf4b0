"""Stored layouts: the numbered formats of stored records.

Each encrypted attribute begins with its layout number. The code reads every layout in `READABLE` and writes one of
them. During a deployment, old and new functions share the tables, so a deployment enables a new layout only when all
functions can read it (`infra/deploy/layouts.py`). Plain attributes and queue messages have no layout number, so new
versions may only add optional attributes and members.
"""

from chalicelib import errors, settings

# The layouts that this version reads, each with the first version that read it. Readers are never removed, because a
# record keeps its layout until it is written again. `tests/storage/layouts` contains recorded rows in each layout.
READABLE = {2: "1.0.0"}
CURRENT = max(READABLE)
# Possible layout numbers. A record with any other first byte is corrupt.
NUMBERS = range(min(READABLE), 32)


class UnknownLayout(errors.Unavailable):
    """A newer version wrote this record. Streams and queues retry until a newer function reads it."""

    sentence = "A newer version of the service has stored this record; try again in a minute."


def to_write() -> int:
    """Return the layout to write: `CAMS_STORED_LAYOUT`, or the current layout. Raise Unavailable if it is unknown."""
    layout = settings.stored_layout() or str(CURRENT)
    if layout not in map(str, READABLE):
        known = ", ".join(map(str, READABLE))
        raise errors.Unavailable(f"CAMS_STORED_LAYOUT must be one of {known}; correct the deployment.")
    return int(layout)


def check(layout: int) -> None:
    """Raise UnknownLayout for a layout that this version does not read."""
    if layout not in READABLE:
        raise UnknownLayout
