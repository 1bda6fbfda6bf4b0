"""`configure` updates only those event source mappings whose settings differ."""

from typing import Any

import click
import pytest

from infra.deploy import event_sources
from infra.deploy.functions import declared_functions
from tests.deployment.test_functions import OUTPUTS

MAPPED = {one.deployed_name("cams-prod"): one for one in declared_functions() if one.stream or one.queue}


class Lambda:
    """A fake Lambda client with one mapping per function. Like AWS, it omits empty settings."""

    def __init__(self) -> None:
        self.updates: list[str] = []
        self.mappings = {
            name: {
                "UUID": name,
                "EventSourceArn": event_sources.event_source_arn(one, "cams-prod", OUTPUTS),
                "State": "Enabled",
            }
            for name, one in MAPPED.items()
        }

    def get_paginator(self, operation: str) -> "Lambda":
        assert operation == "list_event_source_mappings"
        return self

    def paginate(self, FunctionName: str) -> list[dict[str, Any]]:  # noqa: N803 - the parameter of boto3
        found = self.mappings.get(FunctionName)
        return [{"EventSourceMappings": [found] if found else []}]

    def get_event_source_mapping(self, UUID: str) -> dict[str, Any]:  # noqa: N803 - the parameter of boto3
        return self.mappings[UUID]

    def update_event_source_mapping(self, UUID: str, **settings: Any) -> None:  # noqa: N803 - the parameter of boto3
        self.updates.append(UUID)
        filters = settings.get("FilterCriteria", {}).get("Filters")
        omitted = {"FilterCriteria"} if not filters else set()
        self.mappings[UUID].update({key: value for key, value in settings.items() if key not in omitted})


def test_only_mappings_that_differ_are_updated() -> None:
    account = Lambda()
    wanted = sorted(name for name, one in MAPPED.items() if one.mapping_settings)
    assert event_sources.configure(account, "cams-prod", OUTPUTS, {}, declared_functions()) == len(wanted)
    assert event_sources.configure(account, "cams-prod", OUTPUTS, {}, declared_functions()) == 0
    assert sorted(account.updates) == wanted


def test_a_stream_sends_discarded_batches_to_the_dead_letter_queue() -> None:
    account = Lambda()
    event_sources.configure(account, "cams-prod", OUTPUTS, {}, declared_functions())
    leads = account.mappings["cams-prod-fan_out_leads"]
    assert leads["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert leads["DestinationConfig"] == {"OnFailure": {"Destination": OUTPUTS["DeadDeliveriesQueueArn"]}}
    assert "DestinationConfig" not in account.mappings["cams-prod-deliver"]


def test_a_manual_change_is_reverted() -> None:
    account = Lambda()
    event_sources.configure(account, "cams-prod", OUTPUTS, {}, declared_functions())
    account.mappings["cams-prod-fan_out_leads"]["BisectBatchOnFunctionError"] = False
    assert event_sources.configure(account, "cams-prod", OUTPUTS, {}, declared_functions()) == 1


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace pauses; return the list of their durations."""
    passed: list[float] = []
    monkeypatch.setattr("time.sleep", passed.append)
    monkeypatch.setattr("time.monotonic", lambda: sum(passed))
    return passed


def test_a_mapping_that_stays_in_transition_is_one_sentence(pauses: list[float]) -> None:
    account = Lambda()
    account.mappings["cams-prod-deliver"]["State"] = "Updating"
    with pytest.raises(click.ClickException, match="cams-prod-deliver is still Updating after 10 minutes: run the"):
        event_sources.wait_until_stable(account, "cams-prod-deliver")
    assert sum(pauses) > 600


def test_a_mapping_that_is_listed_late_is_awaited(pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    account, list_mappings = Lambda(), event_sources.list_mappings
    monkeypatch.setattr(
        event_sources, "list_mappings", lambda *names: list_mappings(*names) if sum(pauses) > 20 else []
    )
    assert event_sources.configure(account, "cams-prod", OUTPUTS, {}, declared_functions()) > 0
    assert 20 < sum(pauses) < 30


def test_a_function_without_a_mapping_is_reported(pauses: list[float]) -> None:
    account = Lambda()
    del account.mappings["cams-prod-deliver"]
    with pytest.raises(click.ClickException, match="cams-prod-deliver does not have arn:aws:sqs:"):
        event_sources.configure(account, "cams-prod", OUTPUTS, {}, declared_functions())


def test_a_function_with_another_event_source_is_reported() -> None:
    account = Lambda()
    account.mappings["cams-prod-fan_out_leads"]["EventSourceArn"] = OUTPUTS["AgentsStream"]
    with pytest.raises(click.ClickException, match="cams-prod-fan_out_leads does not have"):
        event_sources.configure(account, "cams-prod", OUTPUTS, {}, declared_functions())


def test_settings_that_depend_on_the_account_take_precedence() -> None:
    account = Lambda()
    scaled = {"deliver": {"ScalingConfig": {"MaximumConcurrency": 20}}}
    event_sources.configure(account, "cams-prod", OUTPUTS, scaled, declared_functions())
    assert account.mappings["cams-prod-deliver"]["ScalingConfig"] == {"MaximumConcurrency": 20}
    assert account.mappings["cams-prod-deliver_slow"]["ScalingConfig"] == {"MaximumConcurrency": 50}
