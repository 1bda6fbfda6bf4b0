"""The error for an invalid body names each invalid member and the rule that it breaks, but not its value.

A test fails for each new route that has no valid and invalid bodies. `contract/test_members.py` tests the values of
each member.
"""

from tests.assertions import refused
from tests.bad_input.service import CANARY, STATE, WITH_BODY, Operation, Service, assert_refused, every, harmless
from tests.bad_input.wrong_members import UNKNOWN, WRONG
from tests.operations import BODIES


def test_every_route_with_a_body_has_valid_and_invalid_bodies() -> None:
    """If this test fails for a new route, add its valid body to `contract/routes.json`."""
    assert {operation.name for operation in WITH_BODY} == BODIES.keys() == WRONG.keys()
    for name, wrong in WRONG.items():
        assert UNKNOWN in {rule for _, _, rule in wrong}, name


@every(WITH_BODY)
def test_the_error_names_the_member_and_the_rule_but_not_the_value(operation: Operation, service: Service) -> None:
    for body, path, rule in WRONG[operation.name]:
        with harmless():
            answer = service.send(operation, body)
        assert assert_refused(answer, operation, path) == f"{path} {rule}."


def test_a_duplicated_message_id_is_refused(service: Service) -> None:
    with harmless():
        answer = service.api.post(STATE, {"turns": [{"messages": [{"mid": CANARY}, {"mid": CANARY}]}]})
    refused(answer, 400, "turns.0.messages.1.mid", interaction=True, platform="vg")
    assert CANARY not in answer.text


def test_an_error_lists_at_most_twenty_issues(service: Service) -> None:
    operation = WITH_BODY[0]
    with harmless():
        several = service.send(operation, {f"unknown{number}": CANARY for number in range(3)})
        many = service.send(operation, {f"unknown{number}": CANARY for number in range(100)})
    unknown = [issue["path"] for issue in several.json["issues"] if issue["message"] == UNKNOWN]
    assert unknown == ["unknown0", "unknown1", "unknown2"]
    assert len(many.json["issues"]) == 20


def test_a_long_member_name_is_shortened_in_the_error(service: Service) -> None:
    with harmless():
        answer = service.send(WITH_BODY[0], {"n" * 100_000: CANARY})
    assert "n" * 64 in [issue["path"] for issue in answer.json["issues"]]
    assert len(answer.text) < 1_000
