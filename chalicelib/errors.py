"""What can go wrong, one class each: its status, its machine code and its sentence (DESIGN "Errors").

Chalice answers a `ChaliceViewError` with `{"Code": class name, "Message": str(error)}` and drops the
rest. So `str()` of one of ours is the error envelope itself, as JSON; the middleware in `http` puts it
in place of Chalice's. No error carries a value that the caller sent: members and rules only.
"""

import json
from collections.abc import Sequence
from typing import TypedDict

from chalice.app import ChaliceViewError


class Issue(TypedDict):
    """One broken rule: `path` names the member (dotted), `message` the rule."""

    path: str
    message: str


class ApiError(ChaliceViewError):
    """An error with an answer. `message` is a sentence for people, `code` is for programs."""

    STATUS_CODE = 500
    code = "INTERNAL"
    sentence = "The service failed to answer; nothing is known to have changed."

    def __init__(self, message: str | None = None, issues: Sequence[Issue] = ()) -> None:
        self.message = message or self.sentence
        self.issues = list(issues)
        super().__init__(self.message)

    def envelope(self) -> dict[str, object]:
        """The error as it is answered."""
        envelope: dict[str, object] = {"success": False, "message": self.message, "code": self.code}
        return {**envelope, "issues": self.issues} if self.issues else envelope

    def __str__(self) -> str:
        return json.dumps(self.envelope(), ensure_ascii=False, separators=(",", ":"))


class Invalid(ApiError):
    """The body, the query or the path breaks a rule; `issues` says which."""

    STATUS_CODE = 400
    code = "INVALID"
    sentence = "The request is not valid."

    @classmethod
    def member(cls, path: str, rule: str) -> "Invalid":
        """The error for one member: `path` as the caller would write it, empty for the body; `rule` as "must be …"."""
        return cls(f"{path or 'The body'} {rule}.", [{"path": path, "message": rule}])


class Unauthorized(ApiError):
    """No credential, or none that is known; never says which part was wrong."""

    STATUS_CODE = 401
    code = "UNAUTHORIZED"
    sentence = "A valid bearer token is required."


class Forbidden(ApiError):
    """A valid credential on a route that it does not open."""

    STATUS_CODE = 403
    code = "FORBIDDEN"
    sentence = "This credential does not open this route."


class NotFound(ApiError):
    """Unknown, or of another workspace: the two are not told apart."""

    STATUS_CODE = 404
    code = "NOT_FOUND"
    sentence = "There is no such resource."

    @classmethod
    def of(cls, kind: str) -> "NotFound":
        """The error for one `kind` of resource, such as `agent`."""
        return cls(f"There is no such {kind}.")


class Conflict(ApiError):
    """The state of a record does not allow the request; each cause is a class of its own with a `code` of its own."""

    STATUS_CODE = 409
    code = "CONFLICT"
    sentence = "The request conflicts with what is stored."


class Stale(Conflict):
    """Another write changed the record first."""

    code = "STALE"
    sentence = "The record has changed since it was read; read it again, apply your change and send that."


class PreconditionFailed(ApiError):
    """The record is not what the header `If-Match` or `If-None-Match` asks for; nothing was written."""

    STATUS_CODE = 412
    code = "PRECONDITION_FAILED"
    sentence = "The record is not what a header of the request asks for."


class TooLarge(ApiError):
    """More than the service stores or can answer."""

    STATUS_CODE = 413
    code = "TOO_LARGE"
    sentence = "The request is too large."


class UnsupportedMediaType(ApiError):
    """A body without `Content-Type: application/json`."""

    STATUS_CODE = 415
    code = "UNSUPPORTED_MEDIA_TYPE"
    sentence = "Send the body as JSON with the header Content-Type: application/json."


class Limit(TypedDict):
    """A limit by its `name`: the most that it allows, and how much of that is used and left."""

    name: str
    max: float
    used: float
    left: float


class LimitReached(ApiError):
    """A limit that the agent record sets (§8), or one of ours; `limit` says which, and how much is used and left."""

    STATUS_CODE = 429
    code = "LIMIT_REACHED"
    sentence = "A limit is reached."

    def __init__(self, message: str, name: str, most: float, used: float) -> None:
        super().__init__(message)
        self.limit = Limit(name=name, max=most, used=used, left=max(0, most - used))

    def envelope(self) -> dict[str, object]:
        """The error as it is answered, with the limit."""
        return {**super().envelope(), "limit": self.limit}


class Unavailable(ApiError):
    """The database does not answer, or refuses for now; the same request may pass later."""

    STATUS_CODE = 503
    code = "UNAVAILABLE"
    sentence = "The database does not answer; try again."
