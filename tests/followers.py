"""Passes records of streams to the functions that follow them."""

from collections.abc import Sequence
from typing import Any

from chalicelib import followers


def follow(table: str, records: Sequence[Any]) -> None:
    """Invoke the function that follows a table with a batch, if a part of core or an enabled extension follows it."""
    entry_point = getattr(followers, f"follow_{table}", None)
    if entry_point:
        entry_point({"Records": [*records]}, None)
