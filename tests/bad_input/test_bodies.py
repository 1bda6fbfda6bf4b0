"""Every route rejects a body that is empty, is not a JSON object, or has the wrong content type.

All routes share one parser, so each route is sent one invalid value, and each invalid value is sent to one route.
"""

import re
from typing import Any

import pytest

from tests.bad_input.malformed_requests import CONTENT_TYPES, MALFORMED
from tests.bad_input.service import CANARY, WITH_BODY, Operation, Service, assert_refused, harmless
from tests.selection import one_of_each, zip_cycled


def each_once(values: dict[str, Any]) -> Any:
    """Parametrise a test so that each operation that takes a body, and each named value, occurs once."""
    pairs = zip_cycled(WITH_BODY, values.items())
    cases = [pytest.param(operation, value, id=f"{operation.name} {name}") for operation, (name, value) in pairs]
    return pytest.mark.parametrize(("operation", "value"), cases)


@each_once(MALFORMED)
def test_a_body_that_is_not_a_json_object_is_refused(
    operation: Operation, value: tuple[bytes, str], service: Service
) -> None:
    raw, path = value
    with harmless():
        answer = service.send(operation, raw)
    message = assert_refused(answer, operation, path)
    assert re.match(r"(The body|title[.a1]*) (is not valid JSON: .+|must be (an object|a finite number))\.", message)


BLANK = b" \r\n\t"


@pytest.mark.parametrize(
    ("name", "raw"), [("POST /v3/leads", b""), ("POST /v3/leads", BLANK), ("POST /v3/workspace/key/rotate", BLANK)]
)
def test_an_empty_body_is_refused(name: str, raw: bytes, service: Service) -> None:
    """`tests/openapi/test_document.py` tests the routes that accept an empty body as an empty object."""
    (operation,) = (one for one in WITH_BODY if one.name == name)
    with harmless():
        answer = service.send(operation, raw)
    assert assert_refused(answer, operation) == "The body is empty; send a JSON object."


@one_of_each(lambda value: tuple(value.items()))
@each_once(CONTENT_TYPES)
def test_a_body_with_another_content_type_is_refused(
    operation: Operation, value: dict[str, str], service: Service
) -> None:
    with harmless():
        answer = service.send(operation, b'{"title": "canary-4f1c"}', value)
    assert assert_refused(answer, operation, status=415) == (
        "Send the body as JSON with the header Content-Type: application/json."
    )


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"]
)
def test_a_body_with_a_json_content_type_is_read(content_type: str, service: Service) -> None:
    with harmless():
        answer = service.send(WITH_BODY[0], {"unknown": CANARY}, {"Content-Type": content_type})
    assert answer.status == 400
    assert "unknown" in [issue["path"] for issue in answer.json["issues"]]
