"""Counts the requests that the service sends to its engine, each attempt of each, by operation name.

Counted at the SDK's clients, below everything of ours and of PynamoDB's, so that a request that nobody
meant to send is counted as well.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chalicelib import storage

_SERVICES = ("dynamodb", "kms")


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """The requests sent inside the block: operation name -> how many."""
    sent: Counter[str] = Counter()

    def note(operation_name: str, **_: Any) -> None:
        sent[operation_name] += 1

    for service in _SERVICES:
        storage.client(service).meta.events.register(f"request-created.{service}", note)
    try:
        yield sent
    finally:
        for service in _SERVICES:
            storage.client(service).meta.events.unregister(f"request-created.{service}", note)
