"""What the model expects of an answer, and how an answer is held against it."""

from typing import Any, NamedTuple

from tests.api import Answer
from tests.evidence import CODES, canonical

Document = dict[str, Any]


class Made:
    """Stands in an expected body for what the service makes: an id, a secret, a cursor. Any text will do."""

    def __repr__(self) -> str:
        return "MADE"


MADE = Made()


class Refused(Exception):
    """A request that the model refuses: the status, and the sentence of the answer."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.more = status, message, more

    def body(self) -> Document:
        """The error envelope."""
        return {"success": False, "message": self.message, "code": CODES[self.status], **self.more}


class Expected(NamedTuple):
    """A body, and the record whose tag the answer has; None without one."""

    body: Any
    record: "Record | None" = None


class Record:
    """A stored record: its document, and the mark of its last save, taken over from the first answer that has it."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.tag: str | None = None

    def save(self, document: Document) -> "Record":
        """A save that changes nothing keeps the mark."""
        if canonical(document) != canonical(self.document):
            self.document, self.tag = document, None
        return self


def missing(kind: str) -> Refused:
    """What is not there, or another workspace's."""
    return Refused(404, f"There is no such {kind}.")


def success(message: str, data: Any = None, **more: Any) -> Document:
    """The envelope of a success."""
    return {"success": True, "message": message, **({} if data is None else {"data": data}), **more}


def hold(answer: Answer, status: int, body: Any, where: str) -> None:
    """Assert that an answer is the expected one, whole."""
    assert answer.status == status, f"{where}: {status} expected, but {answer.status} {answer.text[:500]}"
    shown = answer.json if answer.json is not None else answer.text
    difference = next(_differences(body, shown, ""), None)
    assert difference is None, f"{where}: {difference}"


def _differences(expected: Any, shown: Any, place: str) -> Any:
    if expected is MADE:
        if not (isinstance(shown, str) and shown):
            yield f"{place} is {shown!r}, where the service makes something"
    elif isinstance(expected, dict) and isinstance(shown, dict):
        for name in sorted({*expected, *shown}):
            if name not in shown or name not in expected:
                yield f"{place}.{name} is {'missing' if name in expected else 'too much'}: {shown.get(name)!r}"
            else:
                yield from _differences(expected[name], shown[name], f"{place}.{name}")
    elif isinstance(expected, list) and isinstance(shown, list) and len(expected) == len(shown):
        for index, (one, other) in enumerate(zip(expected, shown, strict=True)):
            yield from _differences(one, other, f"{place}.{index}")
    elif canonical(_plain(expected)) != canonical(shown):
        yield f"{place} is {canonical(shown)[:200]}, expected {canonical(_plain(expected))[:200]}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return repr(value) if value is MADE else value
