"""The API errors: one class per cause, with its HTTP status, error code and default message.

Chalice turns a `ChaliceViewError` into `{"Code": class name, "Message": str(error)}` and discards everything else.
Therefore `str()` of an `ApiError` is the complete error envelope as JSON, and `http.envelope` sends it as the body.
Messages contain the names of members and the rules, never values that the caller sent.
"""

import json
from collections.abc import Sequence
from typing import TypedDict, TypeVar

from chalice.app import ChaliceViewError

Record = TypeVar("Record")


class MemberIssue(TypedDict):
    """A violated rule, or a warning. `path` is a member's dotted path, and `message` is the rule."""

    path: str
    message: str


class ApiError(ChaliceViewError):
    """An error that the caller receives. `message` is for people, and `code` is for programs."""

    STATUS_CODE = 500
    code = "INTERNAL"
    sentence = "An internal error occurred; the request may or may not have taken effect."

    def __init__(self, message: str | None = None, issues: Sequence[MemberIssue] = ()) -> None:
        self.message = message or self.sentence
        self.issues = list(issues)
        super().__init__(self.message)

    def envelope(self) -> dict[str, object]:
        """Return the body of the error response."""
        envelope: dict[str, object] = {"success": False, "message": self.message, "code": self.code}
        return {**envelope, "issues": self.issues} if self.issues else envelope

    def __str__(self) -> str:
        return json.dumps(self.envelope(), ensure_ascii=False, separators=(",", ":"))


class Invalid(ApiError):
    """The path, query, headers or body violate a rule. `issues` lists the violations."""

    STATUS_CODE = 400
    code = "INVALID"
    sentence = "The request is not valid."

    @classmethod
    def member(cls, path: str, rule: str) -> "Invalid":
        """Return the error for the member at `path`, or for the body if `path` is empty. `rule` reads "must be …"."""
        return cls(f"{path or 'The body'} {rule}.", [{"path": path, "message": rule}])


class Unauthorized(ApiError):
    """The bearer token is missing, malformed, unknown or expired. The response does not reveal which."""

    STATUS_CODE = 401
    code = "UNAUTHORIZED"
    sentence = "A valid bearer token is required."


class Forbidden(ApiError):
    """The credential is valid but does not permit this request."""

    STATUS_CODE = 403
    code = "FORBIDDEN"
    sentence = "This credential does not permit this request."


class WorkspaceSuspended(Forbidden):
    """The operator has suspended the workspace. Requests with its credentials fail."""

    code = "WORKSPACE_SUSPENDED"
    sentence = "This workspace is suspended; the operator of the service can resume it."


class NotFound(ApiError):
    """The resource does not exist in this workspace. Another workspace's resources get the same response."""

    STATUS_CODE = 404
    code = "NOT_FOUND"
    sentence = "There is no such resource."

    @classmethod
    def of(cls, kind: str) -> "NotFound":
        """Return the error for a missing resource of this `kind`, such as `agent`."""
        return cls(f"There is no such {kind}.")


def require(record: Record | None, kind: str) -> Record:
    """Return `record`. If it is None, raise NotFound with a message that contains `kind`, such as `agent`."""
    if record is None:
        raise NotFound.of(kind)
    return record


class Conflict(ApiError):
    """The stored state does not allow the request. `code` identifies the cause."""

    STATUS_CODE = 409
    code = "CONFLICT"
    sentence = "The request conflicts with the stored record."


class Stale(Conflict):
    """Another request changed the record first."""

    code = "STALE"
    sentence = "The record has changed since you read it; read it again, apply your change and retry."


class PreconditionFailed(ApiError):
    """The record fails an `If-Match` or `If-None-Match` precondition. Nothing was written."""

    STATUS_CODE = 412
    code = "PRECONDITION_FAILED"
    sentence = "The record does not satisfy If-Match or If-None-Match; read it and try again."


class TooLarge(ApiError):
    """The request, the record or the response exceeds a size limit."""

    STATUS_CODE = 413
    code = "TOO_LARGE"
    sentence = "The request is too large."


class UnsupportedMediaType(ApiError):
    """The request lacks the header `Content-Type: application/json`."""

    STATUS_CODE = 415
    code = "UNSUPPORTED_MEDIA_TYPE"
    sentence = "Send the body as JSON with the header Content-Type: application/json."


class Limit(TypedDict):
    """A limit: its `name`, its maximum, and how much of it is used and remaining."""

    name: str
    max: float
    used: float
    left: float


class LimitReached(ApiError):
    """A limit of the agent (§8) or of the service was reached. `limit` contains the limit's name and current usage."""

    STATUS_CODE = 429
    code = "LIMIT_REACHED"
    sentence = "A limit has been reached."

    def __init__(self, message: str, name: str, maximum: float, used: float) -> None:
        super().__init__(message)
        self.limit = Limit(name=name, max=maximum, used=used, left=max(0, maximum - used))

    def envelope(self) -> dict[str, object]:
        """Return the body of the error response, with the limit."""
        return {**super().envelope(), "limit": self.limit}


class Unavailable(ApiError):
    """The service is temporarily unavailable. Send the same request again after `Retry-After` seconds."""

    STATUS_CODE = 503
    code = "UNAVAILABLE"
    sentence = "The database is unavailable; try again."
