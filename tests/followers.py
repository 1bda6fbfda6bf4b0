"""A helper that passes stream records to the functions that follow the stream."""

from collections.abc import Sequence
from typing import Any

from chalicelib import followers
from chalicelib.queues import shared_messages


def follow(table: str, records: Sequence[Any]) -> None:
    """Pass a batch to the function that follows a table. Ignore tables that no enabled function follows.

    Each batch goes to a new process, which remembers no messages.
    """
    shared_messages._sent.clear()
    entry_point = getattr(followers, f"follow_{table}", None)
    if entry_point:
        entry_point({"Records": [*records]}, None)
