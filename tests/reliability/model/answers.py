"""The model's expected responses, and their comparison with real responses."""

from typing import Any, NamedTuple

from tests.api import Answer
from tests.assertions import CODES, canonical

Document = dict[str, Any]


class Generated:
    """A placeholder for a generated text in an expected body, such as an id, a secret or a cursor."""

    def __repr__(self) -> str:
        return "MADE"


MADE = Generated()


class Refused(Exception):
    """The model's rejection of a request: the response's status and message."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.more = status, message, more

    def body(self) -> Document:
        """Return the error envelope."""
        return {"success": False, "message": self.message, "code": CODES[self.status], **self.more}


class Expected(NamedTuple):
    """An expected body, and the record whose ETag the response contains, if any. The status is 200 or a redirect."""

    body: Any
    record: "Record | None" = None
    status: int = 200


class Record:
    """A stored record: its document and its ETag, which is learned from the first response after a save."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.tag: str | None = None

    def save(self, document: Document) -> "Record":
        """Save a document. Forget the ETag if the document changes."""
        if canonical(document) != canonical(self.document):
            self.document, self.tag = document, None
        return self


def missing(kind: str) -> Refused:
    """Return the error for a record that is unknown or belongs to another workspace."""
    return Refused(404, f"There is no such {kind}.")


def success(message: str, data: Any = None, **more: Any) -> Document:
    """Return the success envelope."""
    return {"success": True, "message": message, **({} if data is None else {"data": data}), **more}


def assert_equal(answer: Answer, status: int, body: Any, where: str) -> None:
    """Assert that a response equals the expected status and body."""
    assert answer.status == status, f"{where}: expected {status}, got {answer.status} {answer.text[:500]}"
    shown = answer.json if answer.json is not None else answer.text
    difference = next(_differences(body, shown, ""), None)
    assert difference is None, f"{where}: {difference}"


def _differences(expected: Any, actual: Any, place: str) -> Any:
    if expected is MADE:
        if not (isinstance(actual, str) and actual):
            yield f"{place} is {actual!r}, where a generated text is expected"
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for name in sorted({*expected, *actual}):
            if name not in actual or name not in expected:
                yield f"{place}.{name} is {'missing' if name in expected else 'unexpected'}: {actual.get(name)!r}"
            else:
                yield from _differences(expected[name], actual[name], f"{place}.{name}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from _differences(one, other, f"{place}.{index}")
    elif canonical(_plain(expected)) != canonical(actual):
        yield f"{place} is {canonical(actual)[:200]}, expected {canonical(_plain(expected))[:200]}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return repr(value) if value is MADE else value
