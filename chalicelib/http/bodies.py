"""Parsing of request bodies. An error names the path of the invalid member, never the value.

Models are imported only to parse a body, because importing them makes a cold start 50 % longer.
"""

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from chalicelib import errors
from chalicelib.http import current_request, operation

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from chalicelib.http.wire import Location, WireModel

Model = TypeVar("Model", bound="WireModel")

_MAX_ISSUES = 20
UNKNOWN = "is not a member of this object"
# The warning about a read-only member. Callers may send such members back unchanged.
IGNORED = "is ignored; this operation does not set it"
# Pydantic describes either all errors or none. Each description takes up about half a kilobyte.
_MAX_ERRORS = 1_000


def read() -> Any:
    """Return the JSON body as the model that `@Operation` declares.

    The body is parsed once, even if the view runs again. Raise Invalid and UnsupportedMediaType.
    """
    current = current_request.current()
    if current.body is None:
        current.body = _read_body(operation.current())
    return current.body


def check_size(name: str, raw: bytes, max_bytes: int, max_values: int) -> None:
    """Raise TooLarge if a JSON text exceeds the limits. The error message begins with `name`."""
    if len(raw) > max_bytes and _size(raw) > max_bytes:
        raise errors.TooLarge(f"{name} must be at most {max_bytes:,} bytes.")
    if len(raw) > max_values and _most_values(raw) > max_values:  # each value takes up at least one byte
        raise errors.TooLarge(f"{name} must have at most {max_values:,} members and elements.")


def parse(model: type[Model], raw: bytes) -> Model:
    """Parse JSON bytes into a `model`. Raise Invalid with an issue for each violated rule, up to 20."""
    from pydantic import ValidationError

    from chalicelib.http.wire import find_non_finite

    if not raw.strip():
        raise errors.Invalid("The body is empty; send a JSON object.")
    # Non-finite numbers are rejected here, because a member that accepts any JSON would accept them.
    for location in find_non_finite(raw):
        raise errors.Invalid.member(dotted(location), "must be a finite number")
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        if error.error_count() > _MAX_ERRORS:
            raise errors.Invalid(f"The body violates {error.error_count():,} rules.") from None
        details = error.errors(include_url=False, include_context=False, include_input=False)[:_MAX_ISSUES]
    issues = [issue_of(detail) for detail in details]
    raise errors.Invalid(f"{issues[0]['path'] or 'The body'} {issues[0]['message']}.", issues)


def issue_of(detail: "ErrorDetails") -> errors.MemberIssue:
    """Return the violated rule, without the value."""
    return errors.MemberIssue(path=dotted(detail["loc"]), message=_rule(detail))


def dotted(location: "Location") -> str:
    """Return a member's dotted path for an issue or a warning."""
    return ".".join(str(step)[:64] or '""' for step in location)


def _read_body(declaration: "operation.Operation") -> Any:
    raw = _raw_body()
    model = declaration.resolve(declaration.body)
    if not raw and declaration.body_optional:
        return model()
    check_size("The body", raw, declaration.max_bytes, declaration.max_values)
    if not _is_json(current_request.request().headers.get("content-type", "")):
        raise errors.UnsupportedMediaType()
    parsed = parse(model, raw)
    if declaration.warns:
        current_request.current().warnings = [*_unknown_members(parsed), *_ignored_members(parsed)][:_MAX_ISSUES]
    return parsed


def _ignored_members(body: Any) -> list[errors.MemberIssue]:
    """Return an issue for each ignored member, at most 20."""
    from chalicelib.http.wire import find_ignored_members

    return [
        {"path": dotted(location), "message": IGNORED} for location in islice(find_ignored_members(body), _MAX_ISSUES)
    ]


def _unknown_members(body: Any) -> list[errors.MemberIssue]:
    """Return an issue for each unknown member, at most 20. If the caller prefers errors, raise Invalid instead."""
    from chalicelib.http.wire import find_unknown_members

    unknown = [(dotted(location), value) for location, value in islice(find_unknown_members(body), _MAX_ISSUES)]
    if unknown and current_request.is_strict():
        raise errors.Invalid(f"{unknown[0][0]} {UNKNOWN}.", [{"path": path, "message": UNKNOWN} for path, _ in unknown])
    effects = ((path, "null clears it" if value is None else "it is stored as sent") for path, value in unknown)
    return [{"path": path, "message": f"{UNKNOWN}; {effect}"} for path, effect in effects]


def _raw_body() -> bytes:
    raw = current_request.request().raw_body
    return raw if isinstance(raw, bytes) else raw.encode()


def _size(raw: bytes) -> int:
    """Return a body's size in bytes. An escape such as \\u00e9 counts as two bytes, as it would in UTF-8.

    A \\u after another backslash counts in full, because the pair is usually an escaped backslash. Malformed escapes
    are undercounted, but the parser rejects such a body.
    """
    return len(raw) - 4 * (raw.count(b"\\u") - raw.count(b"\\\\u"))


def _most_values(raw: bytes) -> int:
    """Return an upper bound for the number of values in a JSON text. Each value follows one of these characters."""
    return sum(map(raw.count, (b",", b"[", b"{")))


def _is_json(content_type: str) -> bool:
    return content_type.split(";", 1)[0].strip().lower() == "application/json"


def _rule(detail: "ErrorDetails") -> str:
    known = {
        "extra_forbidden": UNKNOWN,
        "missing": "is required",
        "model_type": "must be an object",
        "dict_type": "must be an object",
        "list_type": "must be an array",
        "string_type": "must be a string",
        "bool_type": "must be a boolean",
    }
    message = re.sub(r"^(Input|String|List|Dictionary) should|^Value error, must", "must", detail["msg"])
    # Pydantic appends this text to the rule for the length of lists and objects.
    message = re.sub(r" after validation, not (more|\d+)$", "", message)
    return known.get(detail["type"], message.replace("Invalid JSON:", "is not valid JSON:"))
