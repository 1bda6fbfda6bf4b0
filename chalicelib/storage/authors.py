"""The author of writes: a request's credential, or an operator's command.

For resources with a history, each row stores its last author as text: the credential's kind, id and name, joined by
`#`. Only the name may contain `#`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pynamodb.attributes import UnicodeAttribute

from chalicelib.storage.rows import Row, join_key

_author: ContextVar[str | None] = ContextVar("author", default=None)


class AuthoredRow(Row):
    """An item with its last author, for the history. The author is None if an earlier version wrote the item."""

    changed_by = UnicodeAttribute(null=True)


@contextmanager
def written_by(author: str | None) -> Iterator[None]:
    """Make `author` the author of the writes inside the block."""
    token = _author.set(author)
    try:
        yield
    finally:
        _author.reset(token)


def author_of(kind: str, credential_id: str, name: str) -> str:
    """Return the author for a credential."""
    return join_key(kind, credential_id, name)


def current_author() -> str | None:
    """Return the current author, or None outside `written_by`."""
    return _author.get()


def split_author(author: str) -> list[str]:
    """Return the kind, the id and the name of an author's credential."""
    return author.split("#", 2)
