"""The generated CloudFormation template fits into a request and is consistent."""

import json
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import click
import pytest
import yaml

from infra.deploy import stack, template
from tests.deployment.resource_schemas import resource_schema
from tests.reliability.releases import LAST

_CLOUDFORMATION_BYTES = 51_200  # maximum size of TemplateBody in CreateStack
_BUDGET = "AWS::Budgets::Budget"


def test_a_twelfth_of_the_size_that_cloudformation_accepts_is_free() -> None:
    size = len(template.body(template.build()).encode())
    assert size <= _CLOUDFORMATION_BYTES * 11 / 12, f"{size} bytes"


def tables(resources: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each table's properties by logical id."""
    return {key: one["Properties"] for key, one in resources.items() if one["Type"] == "AWS::DynamoDB::Table"}


def test_cloudformation_can_update_a_stack_of_the_last_release() -> None:
    """Check that each table keeps its key, which CloudFormation cannot change, and gains or loses at most one index."""
    former = tables(yaml.safe_load(ZipFile(LAST).read("infra/template.yaml"))["Resources"])
    current = tables(template.build()["Resources"])
    for name in former.keys() & current.keys():
        assert current[name]["KeySchema"] == former[name]["KeySchema"], name
        before, after = (
            {json.dumps(one, sort_keys=True) for one in table.get("GlobalSecondaryIndexes", ())}
            for table in (former[name], current[name])
        )
        assert len(before ^ after) <= 1, name


class Client:
    """A fake CloudFormation client for one stack with these parameters. The client stores the last template."""

    def __init__(self, **parameters: str) -> None:
        self.parameters = [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]
        self.resources: dict[str, Any] = {}

    def describe_stacks(self, **_: Any) -> Any:
        return {"Stacks": [{"StackStatus": "UPDATE_COMPLETE", "Parameters": self.parameters}]}

    def update_stack(self, **request: Any) -> None:
        self.resources = json.loads(request["TemplateBody"])["Resources"]

    def update_termination_protection(self, **_: Any) -> None:
        """Accept the call."""


@pytest.mark.parametrize(
    ("deployed", "settings", "has_budget"),
    [
        ({}, {}, False),
        ({"MonthlyBudget": "0"}, {}, False),
        ({"MonthlyBudget": "200"}, {}, True),
        ({}, {"MonthlyBudget": "200"}, True),
        ({"MonthlyBudget": "200"}, {"MonthlyBudget": "0"}, False),
    ],
)
def test_the_template_has_a_budget_only_if_one_is_set(
    deployed: dict[str, str], settings: dict[str, str], has_budget: bool
) -> None:
    """Check the template, because CloudFormation rejects unsupported types even if their condition is false."""
    client = Client(**deployed)
    stack.apply(client, "cams-prod", "prod", settings)
    assert ("Budget" in client.resources) == has_budget
    stack.retain_data_only(client, "cams-prod", "prod")
    assert ("Budget" in client.resources) == (deployed.get("MonthlyBudget", "0") != "0")


@pytest.mark.parametrize("region", ["eu-north-1", "eu-central-2", "af-south-1"])
def test_without_a_budget_a_region_has_every_type_of_the_template(region: str) -> None:
    kinds = {one["Type"] for one in template.build()["Resources"].values()} - {_BUDGET}
    for kind in kinds:
        resource_schema(region, kind)


def test_a_budget_that_another_address_replaces_gets_another_name() -> None:
    """Check the name, because the new budget is created before the old budget is deleted."""
    schema = resource_schema("eu-west-1", _BUDGET)
    assert "/properties/NotificationsWithSubscribers" in schema["createOnlyProperties"]
    budget = template.build()["Resources"]["Budget"]["Properties"]
    assert "${AlarmsEmail}" in budget["Budget"]["BudgetName"]["Fn::Sub"]


def test_a_budget_notifies_of_costs_also_without_a_forecast() -> None:
    notifications = template.build()["Resources"]["Budget"]["Properties"]["NotificationsWithSubscribers"]
    kinds = [(one["Notification"]["NotificationType"], one["Notification"]["Threshold"]) for one in notifications]
    assert kinds == [("FORECASTED", 100), ("ACTUAL", 80), ("ACTUAL", 100)]


def _event(resource: str, status: str, reason: str = "") -> dict[str, str]:
    return {"LogicalResourceId": resource, "ResourceStatus": status, "ResourceStatusReason": reason}


def test_the_first_failure_of_the_last_operation_is_reported() -> None:
    """The newest events are first, on several pages."""
    pages = [
        [_event("cams-prod", "UPDATE_ROLLBACK_COMPLETE"), _event("Second", "UPDATE_FAILED", "cancelled")],
        [_event("First", "UPDATE_FAILED", "too long"), _event("cams-prod", "UPDATE_IN_PROGRESS", "User Initiated")],
        [_event("Earlier", "CREATE_FAILED", "exists"), _event("cams-prod", "CREATE_IN_PROGRESS", "User Initiated")],
    ]
    client = SimpleNamespace(
        describe_stacks=lambda **_: {"Stacks": [{"StackStatus": "UPDATE_ROLLBACK_COMPLETE", "Outputs": []}]},
        get_paginator=lambda _: SimpleNamespace(paginate=lambda **_: [{"StackEvents": page} for page in pages]),
        update_stack=lambda **_: None,
    )
    with pytest.raises(click.ClickException, match="First: too long"):
        stack.apply(client, "cams-prod", "prod", {})
