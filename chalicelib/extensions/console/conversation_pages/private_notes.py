"""Private notes: entries in a conversation's `notes`, which visitors never see. The module performs no I/O.

An entry begins with a line such as `Noor Visser, 2026-11-27 08:11:02 UTC:`. A text before the first such line, such as
one that the API has set, belongs to no entry.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from chalicelib import clock

_HEADING = re.compile(r"^(\S[^\n]{0,199}), (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC:$", re.MULTILINE)


class Note(NamedTuple):
    """An entry: its author's name, its time in Unix seconds, and its text."""

    author: str
    time: int
    text: str

    @property
    def mark(self) -> str:
        """A text that identifies the entry in a page."""
        return hashlib.sha256("\n".join(map(str, self)).encode(errors="replace")).hexdigest()[:16]


def add(notes: str, author: str, text: str, now: int) -> str:
    """Return the notes with a new entry at the time `now` in Unix seconds, or unchanged notes if they end with it.

    A line of the text that looks like a heading is indented, so that it begins no entry in another person's name.
    """
    name, body = " ".join(author.split()), _HEADING.sub(r" \g<0>", text)
    _, entries = split(notes)
    if entries and (entries[-1].author, entries[-1].text) == (name, body.strip()):  # the form has been submitted twice
        return notes
    moment = clock.iso(now).replace("T", " ").replace("Z", " UTC:")
    return f"{notes}\n\n{name}, {moment}\n{body}".lstrip("\n")


def split(notes: str) -> tuple[str, list[Note]]:
    """Return the text before the first entry, and the entries in their order."""
    headings = [*_headings(notes)]
    ends = [start for start, *_ in headings[1:]] + [len(notes)]
    entries = [
        Note(author, time, notes[start:end].strip())
        for (_, start, author, time), end in zip(headings, ends, strict=False)
    ]
    return (notes[: headings[0][0]] if headings else notes).strip(), entries


def _headings(notes: str) -> Iterator[tuple[int, int, str, int]]:
    """Yield the start, the end, the author and the time of each heading. Omit headings with an impossible time."""
    for match in _HEADING.finditer(notes):
        author, day, hour = match.groups()
        with suppress(ValueError):
            yield match.start(), match.end(), author, clock.parse_iso(f"{day}T{hour}Z")
