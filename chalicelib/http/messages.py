"""The HTTP edge: bodies, path and query values come in here, envelopes and errors go out.

All parsing of what a caller sends happens in this module, with the offending member's path in the
error and never its value. Chalice hands over path values percent-encoded; they are decoded once.

Models are imported when a body is there to be read: they cost half as much as the rest of a start.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote_to_bytes

from chalice.app import Request, Response

from chalicelib import errors, storage
from chalicelib.http import operation
from chalicelib.ids import IDENTIFIER

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from chalicelib.http.wire import Location, Wire

Model = TypeVar("Model", bound="Wire")

# A Lambda function's answer ends at 6 MB; some room is left for headers.
RESPONSE_LIMIT = 6_000_000
_ENVELOPE = 10_000
_JSON = {"Content-Type": "application/json"}
_IDENTIFIER_RULE = "must be 1 to 128 of the characters A-Z a-z 0-9 . _ ~ @ : + = , | -"
_PAGE = re.compile(r"[1-9][0-9]{0,8}")
_MOST_ISSUES = 20


class _Exchange:
    """The request that is being answered, and its body once it is parsed: a view may run more than once."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.body: Any = None


_current: ContextVar[_Exchange] = ContextVar("exchange")


@contextmanager
def request_context(request: Request) -> Iterator[None]:
    """Inside the block, `request` is the one that is being answered."""
    token = _current.set(_Exchange(request))
    try:
        yield
    finally:
        _current.reset(token)


def identifier(name: str, encoded: str) -> str:
    """The identifier behind a percent-encoded value. Raises Invalid for what cannot be one."""
    try:
        value = unquote_to_bytes(encoded).decode()
    except UnicodeDecodeError:
        raise errors.Invalid.member(name, _IDENTIFIER_RULE) from None
    if not IDENTIFIER.fullmatch(value):
        raise errors.Invalid.member(name, _IDENTIFIER_RULE)
    return value


# ---- what comes in --------------------------------------------------------------------------------


def request() -> Request:
    """The request that is being answered."""
    return _current.get().request


def body() -> Any:
    """The JSON body as the model that the endpoint declares (`operation`); parsed once, however often the view runs.

    Raises Invalid, UnsupportedMediaType.
    """
    exchange = _current.get()
    if exchange.body is None:
        exchange.body = _read_body(operation.current())
    return exchange.body


def parse(model: type[Model], raw: bytes) -> Model:
    """JSON bytes as a `model`. Raises Invalid with a path and a rule for each broken one."""
    from pydantic import ValidationError

    from chalicelib.http.wire import find_non_finite

    if not raw.strip():
        raise errors.Invalid("The body is empty; send a JSON object.")
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
    # No model takes one; of a member that may be any JSON, the model would name all that it is not.
    for place in find_non_finite(raw):
        raise errors.Invalid.member(_path(place), "must be a finite number")
    raise _invalid(details)


def page() -> int:
    """The query's `page`, a whole number from 1, 1 when it is not there (§4.2)."""
    value = query_value("page")
    if value is None:
        return 1
    if not _PAGE.fullmatch(value):
        raise errors.Invalid.member("page", "must be a whole number from 1 to 999999999")
    return int(value)


def limit(default: int = 20, most: int = 100) -> int:
    """The query's `limit`, a whole number from 1 to `most`."""
    value = query_value("limit")
    if value is None:
        return default
    if not _PAGE.fullmatch(value) or int(value) > most:
        raise errors.Invalid.member("limit", f"must be a whole number from 1 to {most}")
    return int(value)


def cursor() -> str | None:
    """Where the query's `cursor` says to go on, None for the beginning."""
    value = query_value("cursor") or ""
    try:
        position = base64.urlsafe_b64decode(value.encode("ascii") + b"==").decode()
    except ValueError:
        raise invalid_cursor() from None
    # Positions are identifiers or numbers; the decoder passes over what is no base64.
    if value and (to_cursor(position) != value or not IDENTIFIER.fullmatch(position)):
        raise invalid_cursor()
    return position or None


def invalid_cursor() -> errors.Invalid:
    """The error for a cursor that no answer has had."""
    return errors.Invalid.member("cursor", "must be a nextCursor of an earlier answer")


def to_cursor(position: str) -> str:
    """The opaque form of a position in a list."""
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def query_value(name: str) -> str | None:
    """One query value, once; None when it is not there."""
    given = request().query_params
    values: list[str] = given.getlist(name) if given and name in given else []
    if len(values) > 1:
        raise errors.Invalid.member(name, "must be given once")
    return values[0] if values else None


# ---- what goes out --------------------------------------------------------------------------------


def json_response(body: dict[str, Any]) -> Response:
    """A JSON object as it is, status 200. Raises TooLarge beyond what a function can answer."""
    return text_response(storage.encode_json(body).decode())


def text_response(text: str) -> Response:
    """A ready JSON text: Chalice would escape every non-ASCII character to six."""
    # Only a list that was asked for without `limit` can grow so far.
    if not fits(text):
        raise errors.TooLarge("The answer is too large; ask for a page of it with limit.")
    return Response(text, headers=dict(_JSON))


def success(message: str, data: Any = None) -> Response:
    """The success envelope (§2.1); without `data` where there is none."""
    body = {"success": True, "message": message}
    return json_response(body if data is None else {**body, "data": data})


def listing(message: str, data: list[Any], next_cursor: str | None) -> Response:
    """The envelope of a list with a cursor; `nextCursor` is there when there is more."""
    body: dict[str, Any] = {"success": True, "message": message, "data": data}
    return json_response({**body, "nextCursor": next_cursor} if next_cursor else body)


def take_fitting(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first of `records`, as many as one answer has room for; at least one, as a record alone fits."""
    fitting: list[dict[str, Any]] = []
    size = 0
    for record in records:
        size += len(json.dumps(storage.encode_json(record).decode()))
        if fitting and size > RESPONSE_LIMIT - _ENVELOPE:
            break
        fitting.append(record)
    return fitting


def fits(text: str, room: int = 0) -> bool:
    """Whether an answer can leave the function, with `room` for more: it travels as a JSON string, escaped again."""
    # JSON has no bare control characters: escaping doubles a quote, and makes twelve of what is not ASCII at most.
    longest = len(text) * (2 if text.isascii() else 12)
    return longest < RESPONSE_LIMIT - room or len(json.dumps(text)) < RESPONSE_LIMIT - room


# ---- below ----------------------------------------------------------------------------------------


def _read_body(declared: "operation.operation") -> Any:
    raw = _raw_body()
    if not raw and declared.body_optional:
        return declared.body()
    if not _is_json(request().headers.get("content-type", "")):
        raise errors.UnsupportedMediaType()
    return parse(declared.body, raw)


def _raw_body() -> bytes:
    raw = request().raw_body
    return raw if isinstance(raw, bytes) else raw.encode()


def _is_json(content_type: str) -> bool:
    return content_type.split(";", 1)[0].strip().lower() == "application/json"


def _invalid(details: "list[ErrorDetails]") -> errors.Invalid:
    issues = [errors.Issue(path=_path(detail["loc"]), message=_rule(detail)) for detail in details[:_MOST_ISSUES]]
    first = issues[0]
    return errors.Invalid(f"{first['path'] or 'The body'} {first['message']}.", issues)


def _path(location: "Location") -> str:
    return ".".join(str(step)[:64] for step in location)


def _rule(detail: "ErrorDetails") -> str:
    known = {
        "extra_forbidden": "is not a member of this object",
        "missing": "is required",
        "model_type": "must be an object",
        "dict_type": "must be an object",
        "list_type": "must be an array",
        "string_type": "must be a string",
        "bool_type": "must be a boolean",
    }
    message = re.sub(r"^(Input|String) should", "must", detail["msg"]).replace("Invalid JSON:", "is not valid JSON:")
    return known.get(detail["type"], message)
