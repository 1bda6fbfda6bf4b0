"""Records which version a restore copied.

The stream follower writes the history of a change, and sees only the stored row. Therefore, a restore puts the number
of the version in front of the row's author: `restored@{number}#{kind}#{id}#{name}`.
"""

from contextlib import AbstractContextManager

from chalicelib import storage

_MARK = "restored@"


def restoring(number: str) -> AbstractContextManager[None]:
    """Mark the writes inside the block as the restore of a version."""
    return storage.written_by(storage.join_key(f"{_MARK}{number}", storage.current_author() or ""))


def split(author: str | None) -> tuple[str | None, int | None]:
    """Return a row's author without the mark, and the number of the restored version, or None."""
    if author is None or not author.startswith(_MARK):
        return author, None
    mark, _, written_by = author.partition("#")
    return written_by or None, int(mark.removeprefix(_MARK))
