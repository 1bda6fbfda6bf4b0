"""A successful response with its headers."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import httpx

T = TypeVar("T")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A successful response's parsed body and headers."""

    parsed: T
    headers: httpx.Headers

    @property
    def etag(self) -> str:
        """The record's version, for `if_match`. Raise KeyError if the response is not a single record."""
        return self.headers["ETag"]
