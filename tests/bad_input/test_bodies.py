"""Every route refuses a body that is not a JSON object, is empty, or has another content type."""

import re

import pytest

from tests.bad_input.malformed_requests import CONTENT_TYPES, MALFORMED
from tests.bad_input.service import CANARY, WITH_BODY, Operation, Service, assert_refused, every, harmless
from tests.selection import one_of_each

# These routes treat an empty body as an empty object.
BODY_IS_OPTIONAL = {"POST /agents/{agent_id}/interact/{user_id}/state", "POST /v3/workspace/key/rotate"}


@one_of_each(lambda raw: raw)
@pytest.mark.parametrize(("raw", "path"), MALFORMED.values(), ids=MALFORMED.keys())
@every(WITH_BODY)
def test_a_body_that_is_not_a_json_object_is_refused(
    operation: Operation, raw: bytes, path: str, service: Service
) -> None:
    with harmless():
        answer = service.send(operation, raw)
    message = assert_refused(answer, operation, path)
    assert re.match(r"(The body|title[.a1]*) (is not valid JSON: .+|must be (an object|a finite number))\.", message)


@one_of_each(lambda raw: raw)
@pytest.mark.parametrize("raw", [b"", b" \r\n\t"], ids=["empty", "blank"])
@every(WITH_BODY)
def test_an_empty_body_is_refused_if_the_route_needs_one(operation: Operation, raw: bytes, service: Service) -> None:
    if not raw and operation.name in BODY_IS_OPTIONAL:
        pytest.skip("this route treats an empty body as an empty object")
    with harmless():
        answer = service.send(operation, raw)
    assert assert_refused(answer, operation) == "The body is empty; send a JSON object."


@one_of_each(lambda headers: tuple(headers.items()))
@pytest.mark.parametrize("headers", CONTENT_TYPES.values(), ids=CONTENT_TYPES.keys())
@every(WITH_BODY)
def test_a_body_with_another_content_type_is_refused(
    operation: Operation, headers: dict[str, str], service: Service
) -> None:
    with harmless():
        answer = service.send(operation, b'{"title": "canary-4f1c"}', headers)
    assert assert_refused(answer, operation, status=415) == (
        "Send the body as JSON with the header Content-Type: application/json."
    )


@one_of_each(lambda content_type: content_type)
@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"]
)
@every(WITH_BODY)
def test_a_body_with_a_json_content_type_is_read(operation: Operation, content_type: str, service: Service) -> None:
    with harmless():
        answer = service.send(operation, {"unknown": CANARY}, {"Content-Type": content_type})
    assert answer.status == 400
    assert "unknown" in [issue["path"] for issue in answer.json["issues"]]
