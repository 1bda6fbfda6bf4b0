"""Exceptions for requests that fail."""

from collections.abc import Mapping
from typing import Any

from .models import CurrentConversation, Issue, ReachedLimit


class Error(Exception):
    """The base class of all exceptions of this package."""


class NoResponse(Error):
    """No attempt received a response, so it is unknown whether the request took effect. `__cause__` is the reason."""


class NotModified(Error):
    """The record has not changed: its `ETag` still matches `if_none_match` (304)."""


class ApiError(Error):
    """The service rejected or failed to process a request. `errors` contains a subclass for each known `code`.

    `body` is the response's JSON object.
    """

    def __init__(self, status: int, headers: Mapping[str, str], body: dict[str, Any]) -> None:
        """Create the error for a response. The names in `headers` are in lower case."""
        super().__init__(status, headers, body)
        self.status, self.headers, self.body = status, headers, body

    @property
    def code(self) -> str:
        """The error code, for programs."""
        return str(self.body["code"])

    @property
    def message(self) -> str:
        """The cause of the error and the remedy, for people."""
        return str(self.body["message"])

    @property
    def issues(self) -> list[Issue]:
        """The rules that an invalid request violates."""
        return [Issue.from_dict(issue) for issue in self.body.get("issues", ())]

    @property
    def limit(self) -> ReachedLimit | None:
        """The limit that the request would exceed."""
        return ReachedLimit.from_dict(self.body["limit"]) if "limit" in self.body else None

    @property
    def conversation(self) -> CurrentConversation | None:
        """The conversation that rejected a reply with `in_reply_to`."""
        return CurrentConversation.from_dict(self.body["conversation"]) if "conversation" in self.body else None

    @property
    def request_id(self) -> str | None:
        """The request's id in the service's logs."""
        return self.headers.get("x-request-id")

    def __str__(self) -> str:
        issues = "".join(f" {issue.path}: {issue.message}" for issue in self.issues)
        return f"{self.message}{issues} (status {self.status}, code {self.code}, request {self.request_id})"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"


class InvalidResponse(ApiError):
    """The response is no JSON object, or an error without the service's envelope. Usually, a proxy sent it."""

    def __init__(self, status: int, headers: Mapping[str, str]) -> None:
        """Create the error for a response with this status."""
        body = {"code": "INVALID_RESPONSE", "message": "The response is not a JSON object of CAMS; check the URL."}
        super().__init__(status, headers, body)
        self.args = (status, headers)
