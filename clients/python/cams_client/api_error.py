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

    def __init__(self, response: httpx.Response) -> None:
        """Reads the envelope of `response`. A body without one, such as a proxy's page, leaves `code` empty."""
        error = _envelope(response)
        super().__init__(f"{error.message} ({response.status_code} {error.code})".replace(" )", ")"))
        self.status = response.status_code
        self.code = error.code
        self.message = error.message
        self.issues: list[Issue] = [] if isinstance(error.issues, Unset) else error.issues
        self.limit: ReachedLimit | None = None if isinstance(error.limit, Unset) else error.limit
        self.request_id: str | None = response.headers.get("X-Request-Id")
        self.response = response


def _envelope(response: httpx.Response) -> Error:
    try:
        return Error.from_dict(response.json())
    except (ValueError, TypeError, KeyError, AttributeError):
        return Error(success=False, message="The answer is not from CAMS.", code="")
