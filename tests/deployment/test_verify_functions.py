"""`make verify` names each missing or different permission, setting and event source mapping of a function."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.deploy import event_sources
from infra.deploy.function import Function
from infra.deploy.functions import declared_functions
from infra.deploy.policies import policy
from infra.verify import functions
from infra.verify.deployment import Deployment
from tests.deployment.test_event_sources import MAPPED, Lambda
from tests.deployment.test_functions import OUTPUTS
from tests.deployment.verification import Configured, Functions, deployed, problems

TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


@pytest.fixture
def iam(function: Function, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Create an account with one function's role, and check only this function."""
    monkeypatch.setattr(Deployment, "functions", (function,))
    with mock_aws():
        client = boto3.client("iam")
        client.create_role(RoleName=f"cams-prod-{function.name}", AssumeRolePolicyDocument=json.dumps(TRUST))
        put(client, function, policy(function, "cams-prod", OUTPUTS)["Statement"])
        yield client


def put(iam: Any, function: Function, statements: list[dict[str, Any]]) -> None:
    role = f"cams-prod-{function.name}"
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_role_policy(RoleName=role, PolicyName=role, PolicyDocument=document)


def check_permissions(iam: Any) -> list[str]:
    return problems(functions.check_permissions(deployed(iam=iam, **{"lambda": Configured()})))


first_function = pytest.mark.parametrize("function", declared_functions()[:1], ids=lambda function: function.name)


@first_function
def test_each_statement_that_a_role_lacks_is_named(function: Function, iam: Any) -> None:
    assert check_permissions(iam) == []
    statements = policy(function, "cams-prod", OUTPUTS)["Statement"]
    for missing in statements:
        rest = [one for one in statements if one != missing]
        if all(set(missing["Action"]) <= set(one["Action"]) for one in rest if one["Resource"] == missing["Resource"]):
            continue  # another statement grants the same permissions
        put(iam, function, rest)
        found = check_permissions(iam)
        assert found
        assert all(f"cams-prod-{function.name} lacks the permission" in one for one in found)
        assert all(f"on {missing['Resource']}:" in one for one in found)


@first_function
def test_a_permission_that_a_function_does_not_need_is_named(function: Function, iam: Any) -> None:
    put(iam, function, [*policy(function, "cams-prod", OUTPUTS)["Statement"], {**_EXTRA, "Resource": "*"}])
    assert check_permissions(iam) == [
        "The role cams-prod-api_handler has the permission s3:GetObject on *, which its function does not need: "
        "remove it."
    ]


_EXTRA = {"Effect": "Allow", "Action": "s3:GetObject"}


@first_function
def test_a_missing_role_is_named(function: Function, iam: Any) -> None:
    role = f"cams-prod-{function.name}"
    iam.delete_role_policy(RoleName=role, PolicyName=role)
    iam.delete_role(RoleName=role)
    assert check_permissions(iam) == [f"The role {role} does not exist: run `chalice deploy`."]


@first_function
def test_a_role_that_lambda_may_not_assume_is_named(function: Function, iam: Any) -> None:
    role = f"cams-prod-{function.name}"
    other = json.dumps(TRUST).replace("lambda.", "ec2.")
    iam.update_assume_role_policy(RoleName=role, PolicyDocument=other)
    (problem,) = check_permissions(iam)
    assert problem.startswith(f"Lambda may not assume the role {role}: ")


def check_functions(account: Functions) -> list[str]:
    return problems(functions.check_functions(deployed(**{"lambda": account})))


@pytest.mark.parametrize("name", ["CAMS_STORED_LAYOUT", "CAMS_CORS_ORIGIN", "CAMS_WEBHOOK_ALLOW_PRIVATE"])
def test_another_variable_of_one_function_is_named(name: str) -> None:
    account = Functions()
    assert check_functions(account) == []
    account.deployed["cams-prod-maintain"]["Environment"]["Variables"][name] = "another"
    assert check_functions(account) == [
        f"The function cams-prod-maintain has a different value for {name}: run `chalice deploy`."
    ]


def test_a_function_that_cannot_run_is_named() -> None:
    account = Functions()
    account.reserved = {"cams-prod-maintain": 0, "cams-prod-deliver": 20}
    assert check_functions(account) == [
        "The reserved concurrency of cams-prod-maintain is 0, so Lambda never invokes it: run `chalice deploy`."
    ]


class Mappings(Lambda):
    """A fake Lambda client with a deployment's mappings."""

    def __init__(self) -> None:
        super().__init__()
        event_sources.configure(self, "cams-prod", OUTPUTS, {}, declared_functions())

    def get_function_concurrency(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803 - the parameter of boto3
        return {}

    def get_account_settings(self) -> dict[str, Any]:
        return {"AccountLimit": {"UnreservedConcurrentExecutions": 1_000}}


def check_mappings(account: Mappings) -> list[str]:
    return problems(functions.check_mappings(deployed(**{"lambda": account})))


def test_the_mappings_of_a_deployment_have_no_problem() -> None:
    assert check_mappings(Mappings()) == []


def test_each_missing_mapping_is_named() -> None:
    for name in MAPPED:
        account = Mappings()
        del account.mappings[name]
        (problem,) = check_mappings(account)
        assert f" does not invoke {name}, because" in problem


def test_each_disabled_mapping_is_named() -> None:
    for name in MAPPED:
        account = Mappings()
        account.mappings[name]["State"] = "Disabled"
        (problem,) = check_mappings(account)
        assert (
            f" to {name} is Disabled: run `aws lambda update-event-source-mapping --uuid {name} --enabled`." in problem
        )


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("cams-prod-fan_out_leads", "FilterCriteria"),
        ("cams-prod-fan_out_leads", "DestinationConfig"),
        ("cams-prod-maintain", "ScalingConfig"),
    ],
)
def test_another_setting_of_a_mapping_is_named(name: str, member: str) -> None:
    account = Mappings()
    account.mappings[name].pop(member)
    (problem,) = check_mappings(account)
    assert problem.endswith(f"to {name} has a different {member}: run `chalice deploy`.")
