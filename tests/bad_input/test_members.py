"""An error of a body names each wrong member and the rule that it breaks, but not the value.

A new route fails until it has a valid body and invalid ones. `contract/test_members.py` tests the values of
each member.
"""

from typing import Any

import pytest

from tests.assertions import refused
from tests.bad_input.service import CANARY, STATE, WITH_BODY, Operation, Service, assert_refused, every, harmless
from tests.bad_input.wrong_members import UNKNOWN, WRONG
from tests.operations import BODIES
from tests.selection import one_of_each


def test_every_route_with_a_body_has_valid_and_invalid_bodies() -> None:
    """A new route has its valid body in `contract/routes.json`."""
    assert {operation.name for operation in WITH_BODY} == BODIES.keys() == WRONG.keys()
    for name, wrong in WRONG.items():
        assert UNKNOWN in {rule for _, _, rule in wrong}, name


@one_of_each(lambda rule: rule)
@pytest.mark.parametrize(
    ("operation", "body", "path", "rule"),
    [
        pytest.param(operation, body, path, rule, id=f"{operation.name} {path} {rule}")
        for operation in WITH_BODY
        for body, path, rule in WRONG.get(operation.name, [])
    ],
)
def test_the_error_names_the_member_and_the_rule_but_not_the_value(
    operation: Operation, body: Any, path: str, rule: str, service: Service
) -> None:
    with harmless():
        answer = service.send(operation, body)
    assert assert_refused(answer, operation, path) == f"{path} {rule}."


def test_a_duplicated_message_id_is_refused(service: Service) -> None:
    with harmless():
        answer = service.api.post(STATE, {"turns": [{"messages": [{"mid": CANARY}, {"mid": CANARY}]}]})
    refused(answer, 400, "turns.0.messages.1.mid", interaction=True, platform="vg")
    assert CANARY not in answer.text


@one_of_each(lambda operation: operation.method)
@every(WITH_BODY)
def test_an_error_lists_up_to_twenty_issues(operation: Operation, service: Service) -> None:
    with harmless():
        several = service.send(operation, {f"unknown{number}": CANARY for number in range(3)})
        many = service.send(operation, {f"unknown{number}": CANARY for number in range(100)})
    unknown = [issue["path"] for issue in several.json["issues"] if issue["message"] == UNKNOWN]
    assert unknown == ["unknown0", "unknown1", "unknown2"]
    assert len(many.json["issues"]) == 20


@one_of_each(lambda operation: operation.method)
@every(WITH_BODY)
def test_a_long_member_name_is_shortened_in_the_error(operation: Operation, service: Service) -> None:
    with harmless():
        answer = service.send(operation, {"n" * 100_000: CANARY})
    assert "n" * 64 in [issue["path"] for issue in answer.json["issues"]]
    assert len(answer.text) < 1_000
