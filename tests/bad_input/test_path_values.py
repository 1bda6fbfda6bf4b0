"""Every path value is an identifier, is decoded once, and fits into a table key."""

import re

import pytest

from tests.bad_input.malformed_requests import INVALID_IDENTIFIERS
from tests.bad_input.service import CANARY, OPERATIONS, Operation, Service, assert_refused, harmless
from tests.operations import body_of
from tests.selection import first_case, one_of_each, zip_cycled

WITH_PATH_VALUE = [(operation, name) for operation in OPERATIONS for name in re.findall(r"\{(\w+)\}", operation.route)]


# All routes share one check, so each path variable is tested with one invalid identifier.
@one_of_each(lambda value: value)
@pytest.mark.parametrize(
    ("operation", "name", "value", "rule"),
    [
        pytest.param(*place, value, rule, id=f"{place[0].name} {place[1]} {value[:10]}")
        for place, (value, rule) in zip_cycled(WITH_PATH_VALUE, INVALID_IDENTIFIERS.items())
    ],
)
def test_a_path_value_that_is_not_an_identifier_is_refused(
    operation: Operation, name: str, value: str, rule: str, service: Service
) -> None:
    with harmless():
        answer = service.send(operation, body_of(operation.name), **{name: value})
    assert assert_refused(answer, operation, name) == f"{name} {rule}"


@first_case
@pytest.mark.parametrize(
    ("operation", "name"), {name: (operation, name) for operation, name in WITH_PATH_VALUE}.values()
)
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
