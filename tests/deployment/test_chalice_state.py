"""Chalice's state file is rebuilt after a failed deployment, on another machine, and after a stream is replaced."""

import io
import json
import zipfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import boto3
import click
import pytest
from moto import mock_aws

import app
from infra.deploy import chalice_state, checks, event_sources, stage
from infra.deploy.functions import declared_functions
from tests.deployment.conftest import add_api
from tests.deployment.test_functions import OUTPUTS
from tests.selection import first_case

_TRUST: dict[str, Any] = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"},
    ],
}
_FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:cams-prod"
_POLICY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "logs:*", "Resource": "*"}]}


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Return the outputs of a stack whose first deployment has failed after creating a role and two functions."""
    monkeypatch.setattr(stage, "CHALICE_DIRECTORY", tmp_path)
    with mock_aws():
        role = boto3.client("iam").create_role(
            RoleName="cams-prod-fan_out_leads", AssumeRolePolicyDocument=json.dumps(_POLICY)
        )["Role"]["Arn"]
        code = io.BytesIO()
        with zipfile.ZipFile(code, "w") as archive:
            archive.writestr("app.py", "")
        for name in ("cams-prod-fan_out_leads", "cams-prod"):
            boto3.client("lambda").create_function(
                FunctionName=name, Role=role, Runtime="python3.11", Handler="app.app", Code={"ZipFile": code.getvalue()}
            )
        yield {"old": stream("old"), **OUTPUTS, "LeadsStream": stream("new")}


def stream(label: str) -> str:
    """Create a table with a stream; return the stream's ARN."""
    table = boto3.client("dynamodb").create_table(
        TableName=f"leads-{label}",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    arn: str = table["TableDescription"]["LatestStreamArn"]
    return arn


def add_mapping(arn: str) -> str:
    uuid: str = boto3.client("lambda").create_event_source_mapping(
        EventSourceArn=arn, FunctionName="cams-prod-fan_out_leads", StartingPosition="TRIM_HORIZON"
    )["UUID"]
    return uuid


def add_function_api(function: str) -> str:
    """Create an API with one method that invokes the function; return the API's id."""
    uri = f"arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/{function}/invocations"
    return add_api(type="AWS_PROXY", integrationHttpMethod="POST", uri=uri)


def reconcile(account: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Rebuild the state file; return the entries by name."""
    chalice_state.reconcile(boto3.client, "prod", "cams-prod", account, declared_functions())
    state = json.loads((stage.CHALICE_DIRECTORY / "deployed" / "prod.json").read_text())
    assert state["schema_version"] == "2.0"
    return {one["name"]: one for one in state["resources"]}


def mappings() -> list[str]:
    found = boto3.client("lambda").list_event_source_mappings(FunctionName="cams-prod-fan_out_leads")
    return [one["UUID"] for one in found["EventSourceMappings"]]


def test_existing_roles_and_functions_are_recorded(account: dict[str, str]) -> None:
    assert reconcile(account).keys() == {"fan_out_leads_role", "fan_out_leads", "api_handler"}


def test_an_existing_mapping_is_recorded_and_not_created_again(account: dict[str, str]) -> None:
    uuid = add_mapping(account["LeadsStream"])
    recorded = reconcile(account)["fan_out_leads-dynamodb-event-source"]
    assert (recorded["event_uuid"], recorded["stream_arn"]) == (uuid, account["LeadsStream"])
    assert mappings() == [uuid]


def test_a_duplicate_mapping_is_deleted(account: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    uuid = add_mapping(account["LeadsStream"])
    # moto rejects duplicate mappings, but the rehearsal's emulator accepts them.
    (mapping,) = event_sources.list_mappings(boto3.client("lambda"), "cams-prod-fan_out_leads")
    duplicates = [{**mapping, "UUID": "kept"}, mapping]
    monkeypatch.setattr(event_sources, "list_mappings", lambda *_: duplicates)
    assert reconcile(account)["fan_out_leads-dynamodb-event-source"]["event_uuid"] == "kept"
    monkeypatch.undo()
    assert uuid not in [
        one["UUID"] for one in boto3.client("lambda").list_event_source_mappings()["EventSourceMappings"]
    ]


def test_a_mapping_to_a_deleted_stream_is_deleted(account: dict[str, str]) -> None:
    add_mapping(account["old"])
    assert "fan_out_leads-dynamodb-event-source" not in reconcile(account)
    assert mappings() == []


def test_the_api_is_found_by_the_function_that_it_invokes(account: dict[str, str]) -> None:
    add_function_api(_FUNCTION.replace("prod", "test"))
    own = add_function_api(_FUNCTION)
    recorded = reconcile(account)["rest_api"]
    assert recorded["rest_api_id"] == own
    assert recorded["rest_api_url"] == f"https://{own}.execute-api.eu-west-1.amazonaws.com/prod/"


def test_the_resources_of_an_api_are_one_request(account: dict[str, str]) -> None:
    """Check for a single request, because API Gateway accepts five GetResources requests in two seconds per account."""
    api_id = add_function_api(_FUNCTION)
    gateway, limits = boto3.client("apigateway"), list[tuple[str, Any]]()
    gateway.meta.events.register(
        "provide-client-params.apigateway.*", lambda params, model, **_: limits.append((model.name, params["limit"]))
    )
    assert chalice_state.find_api(gateway, "prod", _FUNCTION) == api_id
    assert limits == [("GetRestApis", 500), ("GetResources", 500)]
    assert len(app.app.routes) < 500


@first_case
@pytest.mark.parametrize("name", ["cams-prod2", "cams-prod-fan_out_leads", "other-cams-prod"])
def test_the_api_of_a_function_with_a_similar_name_is_another_one(account: dict[str, str], name: str) -> None:
    add_function_api(_FUNCTION.replace("cams-prod", name))
    assert "rest_api" not in reconcile(account)


def test_of_several_apis_the_oldest_is_kept_and_the_others_are_named(
    account: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    apis = [add_function_api(_FUNCTION) for _ in range(4)]
    ages = dict(zip(apis, [3, 1, 2, 4], strict=True))
    sort = sorted

    def by_age(items: Any, key: Any) -> Any:  # moto creates the APIs within one second
        dated = [{**one, "createdDate": datetime(2026, 11, ages[one["id"]], tzinfo=timezone.utc)} for one in items]
        return sort(dated, key=key)

    monkeypatch.setattr(chalice_state, "sorted", by_age, raising=False)
    lines = chalice_state.reconcile(boto3.client, "prod", "cams-prod", account, declared_functions())
    assert reconcile(account)["rest_api"]["rest_api_id"] == apis[1]
    assert [line.partition(":")[0] for line in lines] == [apis[2], apis[0], apis[3]]
    assert all(f"`aws apigateway delete-rest-api --rest-api-id {line.partition(':')[0]}`" in line for line in lines)


@first_case
@pytest.mark.parametrize("text", ['{"resources": [', "", "{}", "[]"])
def test_an_older_record_does_not_matter(account: dict[str, str], text: str) -> None:
    path = stage.CHALICE_DIRECTORY / "deployed" / "prod.json"
    path.parent.mkdir()
    path.write_text(text)
    assert reconcile(account).keys() == {"fan_out_leads_role", "fan_out_leads", "api_handler"}


def test_an_entry_without_a_resource_in_the_account_is_removed(account: dict[str, str]) -> None:
    path = stage.CHALICE_DIRECTORY / "deployed" / "prod.json"
    path.parent.mkdir()
    gone = [{"name": name, "resource_type": "lambda_function", "lambda_arn": "arn"} for name in ("retired", "deliver")]
    path.write_text(json.dumps({"resources": gone, "schema_version": "2.0"}))
    assert reconcile(account).keys() == {"fan_out_leads_role", "fan_out_leads", "api_handler"}


def add_role(name: str, trust: dict[str, Any]) -> str:
    """Create a role with an inline policy of the same name, as Chalice does; return the role's ARN."""
    iam = boto3.client("iam")
    arn: str = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
    iam.put_role_policy(RoleName=name, PolicyName=name, PolicyDocument=json.dumps(_POLICY))
    return arn


def add_leftovers(name: str, app: str = "cams", stage_name: str = "prod") -> None:
    """Create the function and the shared role that Chalice leaves after a failed run."""
    role = add_role(name, _TRUST)
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("app.py", "")
    boto3.client("lambda").create_function(
        FunctionName=f"{name}-fan_out_tools",
        Role=role,
        Runtime="python3.11",
        Handler="app.app",
        Code={"ZipFile": code.getvalue()},
        Tags={"aws-chalice": f"version=1.34.0:stage={stage_name}:app={app}"},
    )


def test_what_a_failed_run_of_an_older_version_left_behind_is_handed_to_chalice(account: dict[str, str]) -> None:
    add_leftovers("cams-prod")
    entries = reconcile(account)
    assert entries["default-role"]["role_name"] == "cams-prod"
    assert entries["fan_out_tools"]["lambda_arn"].endswith(":cams-prod-fan_out_tools")
    assert list(entries).index("default-role") < list(entries).index("fan_out_tools")  # deleted in reverse order


def test_a_mapping_of_a_leftover_function_is_deleted(account: dict[str, str]) -> None:
    add_leftovers("cams-prod")
    boto3.client("lambda").create_event_source_mapping(
        EventSourceArn=account["LeadsStream"], FunctionName="cams-prod-fan_out_tools", StartingPosition="TRIM_HORIZON"
    )
    reconcile(account)
    assert boto3.client("lambda").list_event_source_mappings()["EventSourceMappings"] == []


def test_resources_of_others_are_not_leftovers(account: dict[str, str]) -> None:
    add_leftovers("cams-test", stage_name="test")
    add_leftovers("cams-prod-ci", app="ci")
    add_role("cams-prod-deployer", {**_TRUST, "Statement": [{**_TRUST["Statement"][0], "Principal": {"AWS": "*"}}]})
    add_role("cams-prod-reporter", _TRUST)
    iam = boto3.client("iam")
    iam.put_role_policy(RoleName="cams-prod-reporter", PolicyName="another", PolicyDocument=json.dumps(_POLICY))
    assert reconcile(account).keys() == {"fan_out_leads_role", "fan_out_leads", "api_handler"}


def test_leftovers_of_a_stage_with_a_longer_name_stay(account: dict[str, str]) -> None:
    add_leftovers("cams-prod2", stage_name="prod2")
    assert reconcile(account).keys() == {"fan_out_leads_role", "fan_out_leads", "api_handler"}


def test_no_name_of_one_stage_begins_a_name_of_another() -> None:
    """Check that stage names contain no hyphens, because a resource name is the stack's name, a hyphen and a suffix."""
    for invalid in ("dev-2", "dev-fan_out_leads", "dev_2", "dev.2"):
        with pytest.raises(checks.NotReady):
            checks.validate_stage_name(click.Context(click.Command("x")), click.Option(["--stage"]), invalid)
