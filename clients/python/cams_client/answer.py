"""An answer with its headers."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import httpx

T = TypeVar("T")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What the service answered to a success: the parsed body and the headers."""

    parsed: T
    headers: httpx.Headers

    @property
    def etag(self) -> str:
        """The version of the record, for `if_match`. Raises KeyError for an answer that is not one record."""
        return self.headers["ETag"]
