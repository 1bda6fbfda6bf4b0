"""After a failed deployment, on another machine, or when a stream has changed: what Chalice notes down is put right."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.deploy import recorded, stage
from tests.deployment.test_functions import OUTPUTS

_TRUST = {"Version": "2012-10-17", "Statement": []}


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """An account with what a first deployment had made when it failed: a role, its function, an API."""
    monkeypatch.setattr(stage, "CHALICE", tmp_path)
    with mock_aws():
        role = boto3.client("iam").create_role(
            RoleName="cams-prod-fan_out_leads", AssumeRolePolicyDocument=json.dumps(_TRUST)
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
    """The ARN of the stream of a table of this name."""
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


def add_api(function: str) -> str:
    gateway = boto3.client("apigateway")
    api_id: str = gateway.create_rest_api(name="cams")["id"]
    (root,) = gateway.get_resources(restApiId=api_id)["items"]
    place = {"restApiId": api_id, "resourceId": root["id"], "httpMethod": "GET"}
    gateway.put_method(**place, authorizationType="NONE")
    uri = f"arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/{function}/invocations"
    gateway.put_integration(**place, type="AWS_PROXY", integrationHttpMethod="POST", uri=uri)
    return api_id


def agree(account: dict[str, str]) -> dict[str, dict[str, Any]]:
    recorded.agree(boto3.client, "prod", "cams-prod", account)
    noted = json.loads((stage.CHALICE / "deployed" / "prod.json").read_text())
    assert noted["schema_version"] == "2.0"
    return {one["name"]: one for one in noted["resources"]}


def mappings() -> list[str]:
    found = boto3.client("lambda").list_event_source_mappings(FunctionName="cams-prod-fan_out_leads")
    return [one["UUID"] for one in found["EventSourceMappings"]]


def test_roles_and_functions_that_are_there_are_noted(account: dict[str, str]) -> None:
    assert agree(account).keys() == {"fan_out_leads_role", "fan_out_leads", "api_handler"}


def test_a_mapping_that_is_there_is_noted_and_not_made_again(account: dict[str, str]) -> None:
    uuid = add_mapping(account["LeadsStream"])
    note = agree(account)["fan_out_leads-dynamodb-event-source"]
    assert (note["event_uuid"], note["stream_arn"]) == (uuid, account["LeadsStream"])
    assert mappings() == [uuid]


def test_of_two_mappings_that_would_call_everything_twice_one_stays(
    account: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    uuid = add_mapping(account["LeadsStream"])
    # moto makes no second one of the same; the emulator of the rehearsal does.
    (mapping,) = recorded.mappings(boto3.client("lambda"), "cams-prod-fan_out_leads")
    twice = [{**mapping, "UUID": "kept"}, mapping]
    monkeypatch.setattr(recorded, "mappings", lambda *_: twice)
    assert agree(account)["fan_out_leads-dynamodb-event-source"]["event_uuid"] == "kept"
    monkeypatch.undo()
    assert uuid not in [
        one["UUID"] for one in boto3.client("lambda").list_event_source_mappings()["EventSourceMappings"]
    ]


def test_a_mapping_to_a_stream_that_is_gone_is_deleted(account: dict[str, str]) -> None:
    add_mapping(account["old"])
    assert "fan_out_leads-dynamodb-event-source" not in agree(account)
    assert mappings() == []


def test_the_api_is_found_by_the_function_that_it_calls(account: dict[str, str]) -> None:
    function = "arn:aws:lambda:eu-west-1:123456789012:function:cams-prod"
    add_api(function.replace("prod", "test"))
    own = add_api(function)
    note = agree(account)["rest_api"]
    assert note["rest_api_id"] == own
    assert note["rest_api_url"] == f"https://{own}.execute-api.eu-west-1.amazonaws.com/prod/"


def test_what_chalice_knows_of_a_function_that_the_application_had_once_stays(account: dict[str, str]) -> None:
    path = stage.CHALICE / "deployed" / "prod.json"
    path.parent.mkdir()
    once = {"name": "once", "resource_type": "lambda_function", "lambda_arn": "arn"}
    gone = {"name": "deliver", "resource_type": "lambda_function", "lambda_arn": "arn"}
    path.write_text(json.dumps({"resources": [once, gone], "schema_version": "2.0"}))
    noted = agree(account)
    assert noted["once"] == once
    assert "deliver" not in noted
