"""Every value of a path is an identifier, is decoded once, and fits into the keys of the tables."""

import re

import pytest

from tests.bad_input.malformed_requests import INVALID_IDENTIFIERS
from tests.bad_input.service import CANARY, OPERATIONS, Operation, Service, assert_refused, harmless
from tests.operations import body_of
from tests.selection import first_case, one_of_each

WITH_PATH_VALUE = [
    pytest.param(operation, name, id=f"{operation.name} {name}")
    for operation in OPERATIONS
    for name in re.findall(r"\{(\w+)\}", operation.route)
]


@one_of_each(lambda value: value)
@pytest.mark.parametrize("value", INVALID_IDENTIFIERS.values(), ids=INVALID_IDENTIFIERS.keys())
@pytest.mark.parametrize(("operation", "name"), WITH_PATH_VALUE)
def test_a_path_value_that_is_not_an_identifier_is_refused(
    operation: Operation, name: str, value: str, service: Service
) -> None:
    with harmless():
        answer = service.send(operation, body_of(operation.name), **{name: value})
    assert assert_refused(answer, operation, name) == (
        f"{name} must be 1 to 128 of the characters A-Z a-z 0-9 . _ ~ @ : + = , | -."
    )


@one_of_each(lambda value: value)
@pytest.mark.parametrize("value", ["%2E", "%2e%2E", ".."])
@pytest.mark.parametrize(("operation", "name"), WITH_PATH_VALUE)
def test_a_path_value_that_a_client_would_remove_is_refused(
    operation: Operation, name: str, value: str, service: Service
) -> None:
    """Otherwise, a browser that deletes the conversation `..` would delete its agent."""
    with harmless():
        answer = service.send(operation, body_of(operation.name), **{name: value})
    assert assert_refused(answer, operation, name) == f'{name} must not be "." or "..".'


@pytest.mark.parametrize(("operation", "name"), WITH_PATH_VALUE)
@first_case
def test_a_path_value_may_have_128_characters_of_every_kind(operation: Operation, name: str, service: Service) -> None:
    value = "%61.%5F~%40:+=,%7C-" + "9" * 117
    answer = service.send(operation, {"unknown": CANARY} if operation.body else None, **{name: value})
    if operation.body:
        assert "unknown" in [issue["path"] for issue in answer.json["issues"]]
    else:
        assert_refused(answer, operation, status=404)


def test_a_path_value_is_decoded_once(service: Service) -> None:
    service.api.post("/v2/clients/ann%40x.test", {"name": "Ann"})
    assert service.api.get("/v2/clients/ann@x.test").data["ID"] == "ann@x.test"
    assert service.api.get("/v2/clients/%61nn%40x%2Etest").data["name"] == "Ann"


def test_a_plus_sign_in_a_path_is_not_decoded_to_a_space(service: Service) -> None:
    service.api.post("/v2/clients/a+b", {"name": "Plus"})
    assert service.api.get("/v2/clients/a%2Bb").data["ID"] == "a+b"


def test_the_longest_identifiers_fit_into_every_table_key(service: Service) -> None:
    agent, other = "a" * 128, "|" * 128
    assert service.api.post(f"/v2/agents/{agent}", {"title": "Long"}).status == 200
    turns = {"turns": [{"from": "human", "messages": [{}]}]}
    assert service.api.post(f"/agents/{agent}/interact/{other}/state", turns).status == 200
    assert service.api.post(f"/v2/agents/{agent}/analytics/{other}", {"record": "load"}).status == 200
    assert service.api.post(f"/v2/clients/{other}", {"email": "long@x.test"}).status == 200
    assert service.api.post(f"/v2/orgs/{other}", {"name": "Long"}).status == 200
    assert [one["ID"] for one in service.api.get(f"/v2/agents/{agent}/convos").data] == [other]
