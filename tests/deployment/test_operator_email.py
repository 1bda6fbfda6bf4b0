"""The email address for alarms and the budget is validated, requested only once, and stored in the stack."""

from typing import Any

import click
import pytest

from infra.deploy import operator_email, stack

TOPIC = "arn:aws:sns:eu-west-1:123456789012:cams-prod-alarms"


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the parameters of a stack that no deployment has updated yet."""
    parameters: dict[str, str] = {}
    monkeypatch.setattr(stack, "status", lambda *_: "CREATE_COMPLETE")
    monkeypatch.setattr(stack, "outputs", lambda *_: {"AlarmsTopicArn": TOPIC})
    monkeypatch.setattr(stack, "parameters_of", lambda *_: parameters)
    return parameters


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of inputs that an operator types at a terminal."""
    typed: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(click, "prompt", lambda *_, **__: typed.pop(0))
    return typed


def notice(*subscriptions: tuple[str, str]) -> str:
    """Return a function that returns the notice for subscriptions, given as addresses and ARNs."""
    listed = [{"Endpoint": address, "SubscriptionArn": arn} for address, arn in subscriptions]

    class Sns:
        def get_paginator(self, _: str) -> Any:
            return self

        def paginate(self, **_: str) -> Any:
            return [{"Subscriptions": listed}]

    return operator_email.notice(lambda _: Sns(), "cams-prod")


def parameters_for(settings: dict[str, Any]) -> dict[str, str]:
    return operator_email.parameters(None, "cams-prod", settings)


@pytest.mark.parametrize("address", ["ops@example.com", "first.last+cams@mail.example.co.uk"])
def test_an_address_is_accepted(address: str) -> None:
    assert list(operator_email.problems({"alarms_email": address}, "prod")) == []


@pytest.mark.parametrize(
    "address", ["ops", "ops@example", "a b@example.com", "Ops <ops@example.com>", "a@b.c,d@e.f", 7]
)
def test_an_invalid_address_is_refused(address: Any) -> None:
    (problem,) = operator_email.problems({"alarms_email": address}, "prod")
    assert problem == f"alarms_email of stage prod is {address!r}: use one address, such as ops@example.com."


@pytest.mark.parametrize("budget", [-1, "200", True, 1.5])
def test_an_invalid_budget_is_refused(budget: Any) -> None:
    (problem,) = operator_email.problems({"monthly_budget": budget, "alarms_email": "a@b.de"}, "prod")
    assert "use a whole number of dollars" in problem


def test_the_first_deployment_asks_until_the_address_is_valid(deployed: dict[str, str], answers: list[str]) -> None:
    answers += ["ops", " ops@example.com "]
    assert parameters_for({}) == {"AlarmsEmail": "ops@example.com"}


def test_enter_skips_the_question(deployed: dict[str, str], answers: list[str]) -> None:
    answers += [""]
    assert parameters_for({}) == {"AlarmsEmail": ""}


def test_without_a_terminal_nothing_is_asked(deployed: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert parameters_for({}) == {"AlarmsEmail": ""}
    assert notice().startswith('Alarms have no recipient: set "alarms_email"')


def test_a_deployed_address_is_kept_without_a_question(deployed: dict[str, str], answers: list[str]) -> None:
    deployed["AlarmsEmail"] = "ops@example.com"
    assert parameters_for({}) == {}
    assert notice(("ops@example.com", f"{TOPIC}:1")) == "Alarms go to ops@example.com."


@pytest.mark.parametrize(
    "subscriptions",
    [
        (),
        (("ops@example.com", "PendingConfirmation"),),
        (("another@example.com", "arn:1"), ("ops@example.com", "Deleted")),
    ],
    ids=["expired", "pending", "deleted"],
)
def test_an_address_that_is_not_confirmed_is_reported_with_the_command(
    deployed: dict[str, str], subscriptions: tuple[tuple[str, str], ...]
) -> None:
    """Check also a deleted subscription, because AWS deletes unconfirmed subscriptions after a few days."""
    deployed["AlarmsEmail"] = "ops@example.com"
    sentence = notice(*subscriptions)
    assert sentence.startswith("Alarms do not reach ops@example.com until it is confirmed: ")
    assert (
        f"`aws sns subscribe --topic-arn {TOPIC} --protocol email --notification-endpoint ops@example.com`" in sentence
    )


@pytest.mark.parametrize(("status", "asks"), [(None, 1), ("ROLLBACK_COMPLETE", 1), ("UPDATE_COMPLETE", 0)])
def test_only_the_first_deployment_asks(
    status: str | None, asks: int, deployed: dict[str, str], answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack, "status", lambda *_: status)
    answers += ["ops@example.com"]
    assert len(parameters_for({})) == asks


def test_a_setting_wins(deployed: dict[str, str]) -> None:
    deployed.update(AlarmsEmail="ops@example.com", MonthlyBudget="0")
    assert parameters_for({"alarms_email": "", "monthly_budget": 200}) == {"AlarmsEmail": "", "MonthlyBudget": "200"}
