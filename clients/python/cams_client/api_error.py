"""Exceptions for unsuccessful responses."""

from typing import TYPE_CHECKING

import httpx

from .models.error import Error
from .models.issue import Issue
from .models.reached_limit import ReachedLimit
from .types import Unset

if TYPE_CHECKING:
    from .models.current_conversation import CurrentConversation


class NotModified(Exception):
    """The record has not changed: its `ETag` still matches `if_none_match` (304)."""


class ApiError(Exception):
    """The service rejected or failed to process a request. `errors` contains a subclass for each known `code`."""

    def __init__(self, response: httpx.Response, envelope: Error) -> None:
        """Create the error for a response. `envelope` is its parsed body."""
        super().__init__(response, envelope)
        self.response = response
        self.envelope = envelope

    def __str__(self) -> str:
        return f"{self.message} ({self.status} {self.code})"

    @property
    def status(self) -> int:
        """The HTTP status code."""
        return self.response.status_code

    @property
    def code(self) -> str:
        """The machine-readable error code. It is `NO_ENVELOPE` if a proxy or another server responded."""
        return self.envelope.code

    @property
    def message(self) -> str:
        """The human-readable error message, with the cause and the remedy."""
        return self.envelope.message

    @property
    def issues(self) -> list[Issue]:
        """The rules that an invalid request violates."""
        return [] if isinstance(self.envelope.issues, Unset) else self.envelope.issues

    @property
    def limit(self) -> ReachedLimit | None:
        """The limit that the request would exceed."""
        return None if isinstance(self.envelope.limit, Unset) else self.envelope.limit

    @property
    def conversation(self) -> "CurrentConversation | None":
        """The conversation that rejected a reply."""
        return None if isinstance(self.envelope.conversation, Unset) else self.envelope.conversation

    @property
    def request_id(self) -> str | None:
        """The request's id in the service's logs."""
        found: str | None = self.response.headers.get("X-Request-Id")
        return found


def read_envelope(response: httpx.Response) -> Error:
    """Return a response's error envelope. For any other body, return an envelope with the code `NO_ENVELOPE`."""
    try:
        return Error.from_dict(response.json())
    except (ValueError, TypeError, KeyError, AttributeError):
        return Error(success=False, message="The response contains no CAMS error envelope.", code="NO_ENVELOPE")
