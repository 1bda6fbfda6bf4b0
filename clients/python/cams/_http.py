"""What a request contains, what a response means, and when a request is repeated."""

import logging
import random
import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from ._errors import ApiError, Error, InvalidResponse, NotModified
from ._records import Record
from .errors import BY_CODE
from .version import __version__

R = TypeVar("R", bound=Record)
log = logging.getLogger("cams")

# No response arrived, so it is unknown whether the request took effect.
LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)
_KEY, _VISITOR = "Idempotency-Key", "cams_visitor_"
# The gateway or a proxy sends these statuses. The outcome is unknown, as if no response had arrived.
_UNKNOWN = {502, 503, 504}
_BASE, _LONGEST, _LONGEST_HEADER = 0.5, 8.0, 30.0


@dataclass(frozen=True)
class Call:
    """A request. `path` is the template of the path, and `ids` are its variables.

    A repeat of a request with `has_effect` would take effect twice, so the client adds an idempotency key. An append
    needs none, because its messages have ids.
    """

    method: str
    path: str
    ids: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    json: Any = None
    has_effect: bool = False
    is_append: bool = False

    def url(self) -> str:
        """Return the path. Raise ValueError for an id that would change the path's segments, such as `..`."""
        if {"", ".", ".."} & set(self.ids.values()):
            raise ValueError("An id in a path cannot be empty, '.' or '..'.")
        return self.path.format_map({name: quote(value, safe="") for name, value in self.ids.items()})

    def params(self) -> dict[str, Any]:
        """Return the query parameters that have a value."""
        return {name: value for name, value in self.query.items() if value is not None}

    def all_headers(self, api_key: str) -> dict[str, str]:
        """Return the headers. Add an idempotency key to a request that has an effect or a precondition.

        With a visitor token, add no key, because the service would reject the request.
        """
        headers = {name: value for name, value in self.headers.items() if value is not None}
        has_effect = self.has_effect or (_KEY in self.headers and ("If-Match" in headers or "If-None-Match" in headers))
        if has_effect and not api_key.startswith(_VISITOR):
            headers.setdefault(_KEY, str(uuid.uuid4()))
        return {"Authorization": f"Bearer {api_key}", "User-Agent": f"cams-python/{__version__}", **headers}


@dataclass(frozen=True)
class Page(Generic[R]):
    """A page of a list. `body` is the response's JSON object, and `etag` the version of the record that it lists."""

    data: list[R]
    next_cursor: str | None
    # Unlike a record's repr, the body's repr would show secrets.
    body: dict[str, Any] = field(repr=False)
    etag: str | None = None


@dataclass(frozen=True)
class Response:
    """A successful response."""

    status: int
    headers: Mapping[str, str]
    text: str
    body: Any
    next_cursor: str | None

    def record(self, record: type[R], member: str = "") -> R:
        """Return the record in this member of the body; without a member, the body. Raise InvalidResponse."""
        value = self.body.get(member) if member else self.body
        if not isinstance(value, dict):
            raise InvalidResponse(self.status, self.headers)
        return record.from_dict(value, self.headers)

    def page(self, record: type[R]) -> Page[R]:
        """Return the records in the body. Raise InvalidResponse if it contains no list."""
        if not isinstance(self.body.get("data"), list):
            raise InvalidResponse(self.status, self.headers)
        records = [record.from_dict(value) for value in self.body["data"]]
        return Page(records, self.next_cursor, self.body, self.headers.get("etag"))


def check_settings(url: str, api_key: str) -> None:
    """Raise Error if the address or the key is invalid. The HTTP library's own error would contain the key."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL()
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise Error("The url is invalid; it must begin with https:// or http://.")
    if not re.fullmatch(r"[!-~]+", api_key):
        raise Error("The api_key is invalid; it must contain only visible ASCII characters without spaces.")


def pause(call: Call, attempt: int, outcome: httpx.Response | Exception) -> float | None:
    """Return the seconds before the attempt after this one, or None if the outcome is final.

    The pause is `jitter`, plus the seconds in `Retry-After`.
    """
    shortest: float | None = 0.0
    if isinstance(outcome, httpx.Response):
        shortest = _requested_pause(call, outcome)
    if shortest is None or shortest > _LONGEST_HEADER:
        return None
    return shortest + jitter(attempt)


def jitter(attempt: int) -> float:
    """Return the seconds before the next attempt: exponential backoff with full jitter."""
    return random.uniform(0, min(_LONGEST, _BASE * 2 ** (attempt - 1)))


def _requested_pause(call: Call, response: httpx.Response) -> float | None:
    """Return the pause that `Retry-After` requests, or None if a repeat would get the same response."""
    header = response.headers.get("Retry-After", "")
    # A 429 without this header means that an agent or workspace has reached a limit. Waiting does not lift it.
    is_throttled = response.status_code == httpx.codes.TOO_MANY_REQUESTS and header
    # A stale append has lost against other writers and stored nothing.
    is_stale = (
        call.is_append and response.status_code == httpx.codes.CONFLICT and _json(response).get("code") == "STALE"
    )
    if response.status_code in _UNKNOWN or is_throttled or is_stale:
        return _seconds(header)
    return None


def _seconds(header: str) -> float:
    """Return the seconds in `Retry-After`, which is a number or a date, or 0 for any other text."""
    if header.isdecimal():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return 0.0


def success(call: Call, response: httpx.Response) -> Response:
    """Return a successful response, and log its warnings. Raise ApiError or NotModified for any other response."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    if response.status_code == httpx.codes.NOT_MODIFIED:
        raise NotModified
    body = _json(response)
    if not response.is_success:
        if not (isinstance(body.get("code"), str) and "message" in body):
            raise InvalidResponse(response.status_code, headers)
        raise BY_CODE.get(body["code"], ApiError)(response.status_code, headers, body)
    if not body and headers.get("content-type", "").split(";")[0] not in ("text/csv", "application/x-ndjson"):
        raise InvalidResponse(response.status_code, headers)
    for warning in body.get("warnings") or ():
        log.warning("%s %s: %s: %s", call.method, call.path, warning.get("path"), warning.get("message"))
    link = response.links.get("next")
    cursor = httpx.URL(link["url"]).params.get("cursor") if link else body.get("nextCursor")
    return Response(response.status_code, headers, response.text, body, cursor)


def _json(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object in a response, or an empty dict for any other content."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
