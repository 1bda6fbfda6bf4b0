"""Answers that are no success, as exceptions."""

import httpx

from .models.error import Error
from .models.issue import Issue
from .models.reached_limit import ReachedLimit
from .types import Unset


class NotModified(Exception):
    """The record still has the `ETag` that was sent as `if_none_match` (304)."""


class ApiError(Exception):
    """The service refused a request, or failed. `errors` has a subclass for each known `code`."""

    def __init__(self, response: httpx.Response, envelope: Error) -> None:
        """`envelope` is the body of the response."""
        super().__init__(response, envelope)
        self.response = response
        self.envelope = envelope

    def __str__(self) -> str:
        return f"{self.message} ({self.status} {self.code})"

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status_code

    @property
    def code(self) -> str:
        """What is wrong, for programs. `NO_ENVELOPE` if the answer comes from elsewhere, such as a proxy."""
        return self.envelope.code

    @property
    def message(self) -> str:
        """What is wrong and what to do, for people."""
        return self.envelope.message

    @property
    def issues(self) -> list[Issue]:
        """The violated rules of an invalid request."""
        return [] if isinstance(self.envelope.issues, Unset) else self.envelope.issues

    @property
    def limit(self) -> ReachedLimit | None:
        """The limit that is reached."""
        return None if isinstance(self.envelope.limit, Unset) else self.envelope.limit

    @property
    def request_id(self) -> str | None:
        """The id of the request in the logs of the service."""
        found: str | None = self.response.headers.get("X-Request-Id")
        return found


def read_envelope(response: httpx.Response) -> Error:
    """The envelope of an error; one with the code `NO_ENVELOPE` for any other body."""
    try:
        return Error.from_dict(response.json())
    except (ValueError, TypeError, KeyError, AttributeError):
        return Error(success=False, message="The answer has no envelope of CAMS.", code="NO_ENVELOPE")
