"""The tuning of event mappings: set where it is not as it should be, and nowhere else."""

from typing import Any

import click
import pytest

from infra.deploy import recorded, triggers
from infra.deploy.functions import FUNCTIONS
from tests.deployment.test_functions import OUTPUTS

CALLED = {one.physical("cams-prod"): one for one in FUNCTIONS if one.stream or one.queue}


class Lambda:
    """The mappings of an account, as the cloud describes them: what is empty is left out."""

    def __init__(self) -> None:
        self.updates: list[str] = []
        self.mappings = {
            name: {"UUID": name, "EventSourceArn": recorded.source(one, "cams-prod", OUTPUTS), "State": "Enabled"}
            for name, one in CALLED.items()
        }

    def get_paginator(self, operation: str) -> "Lambda":
        assert operation == "list_event_source_mappings"
        return self

    def paginate(self, FunctionName: str) -> list[dict[str, Any]]:  # noqa: N803 - the cloud's name
        found = self.mappings.get(FunctionName)
        return [{"EventSourceMappings": [found] if found else []}]

    def get_event_source_mapping(self, UUID: str) -> dict[str, Any]:  # noqa: N803 - the cloud's name
        return self.mappings[UUID]

    def update_event_source_mapping(self, UUID: str, **wanted: Any) -> None:  # noqa: N803 - the cloud's name
        self.updates.append(UUID)
        filters = wanted.get("FilterCriteria", {}).get("Filters")
        left_out = {"FilterCriteria"} if not filters else set()
        self.mappings[UUID].update({key: value for key, value in wanted.items() if key not in left_out})


def test_new_mappings_are_tuned_and_tuned_ones_left_alone() -> None:
    account = Lambda()
    wanted = sorted(name for name, one in CALLED.items() if one.tuning)
    assert triggers.tune(account, "cams-prod", OUTPUTS) == len(wanted)
    assert triggers.tune(account, "cams-prod", OUTPUTS) == 0
    assert sorted(account.updates) == wanted


def test_a_stream_tells_of_what_it_gives_up() -> None:
    account = Lambda()
    triggers.tune(account, "cams-prod", OUTPUTS)
    leads = account.mappings["cams-prod-fan_out_leads"]
    assert leads["DestinationConfig"] == {"OnFailure": {"Destination": OUTPUTS["DeadDeliveriesQueueArn"]}}
    assert "DestinationConfig" not in account.mappings["cams-prod-deliver"]


def test_what_somebody_has_changed_is_set_right() -> None:
    account = Lambda()
    triggers.tune(account, "cams-prod", OUTPUTS)
    account.mappings["cams-prod-fan_out_leads"]["BisectBatchOnFunctionError"] = False
    assert triggers.tune(account, "cams-prod", OUTPUTS) == 1


def test_a_function_that_nothing_calls_is_refused() -> None:
    account = Lambda()
    del account.mappings["cams-prod-deliver"]
    with pytest.raises(click.ClickException, match="cams-prod-deliver is not called by arn:aws:sqs:"):
        triggers.tune(account, "cams-prod", OUTPUTS)


def test_a_function_that_something_else_calls_is_refused() -> None:
    account = Lambda()
    account.mappings["cams-prod-fan_out_leads"]["EventSourceArn"] = OUTPUTS["AgentsStream"]
    with pytest.raises(click.ClickException, match="cams-prod-fan_out_leads is not called by"):
        triggers.tune(account, "cams-prod", OUTPUTS)
