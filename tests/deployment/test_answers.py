"""What the gateway answers by itself: our envelope, for every case that it knows, put when it is not there."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.loaders import Loader
from moto import mock_aws

from chalicelib.openapi import error_responses
from infra.deploy import answers
from infra.tables import declared

STAGE = "prod"
HEADER = "gatewayresponse.header."
Deployed = dict[str, dict[str, Any]]


@pytest.fixture
def api_id() -> Iterator[str]:
    """An API that has been deployed once, as Chalice leaves it."""
    with mock_aws():
        gateway = boto3.client("apigateway")
        api: str = gateway.create_rest_api(name="cams")["id"]
        (root,) = gateway.get_resources(restApiId=api)["items"]
        place = {"restApiId": api, "resourceId": root["id"], "httpMethod": "GET"}
        gateway.put_method(**place, authorizationType="NONE")
        gateway.put_integration(**place, type="MOCK")
        gateway.create_deployment(restApiId=api, stageName=STAGE)
        yield api


def deployment(api_id: str) -> str:
    deployed: str = boto3.client("apigateway").get_stage(restApiId=api_id, stageName=STAGE)["deploymentId"]
    return deployed


def told(api_id: str, origin: str = "*") -> Deployed:
    """What the gateway has been told, by case."""
    answers.put(boto3.client, api_id, STAGE, origin)
    found = boto3.client("apigateway").get_gateway_responses(restApiId=api_id)["items"]
    return {one["responseType"]: one for one in found}


def test_every_case_that_the_gateway_knows_has_an_answer() -> None:
    known = Loader().load_service_model("apigateway", "service-2")["shapes"]["GatewayResponseType"]["enum"]
    assert set(known) == set(answers.ANSWERS)


def test_an_answer_is_the_envelope_and_repeats_nothing_that_was_sent(api_id: str) -> None:
    codes = error_responses.schemas()["Error"]["properties"]["code"]["examples"]
    for case, said in told(api_id).items():
        assert list(said["responseTemplates"]) == ["application/json"]
        template = said["responseTemplates"]["application/json"]
        envelope = json.loads(template)
        assert (list(envelope), envelope["success"]) == (["success", "message", "code"], False)
        assert envelope["code"] in codes, case
        assert "$" not in template
        assert {value for value in said["responseParameters"].values() if value[0] != "'"} == {"context.requestId"}


@pytest.mark.parametrize(
    ("case", "status", "code"),
    [
        ("MISSING_AUTHENTICATION_TOKEN", "404", "NOT_FOUND"),
        ("RESOURCE_NOT_FOUND", "404", "NOT_FOUND"),
        ("REQUEST_TOO_LARGE", "413", "TOO_LARGE"),
        ("UNSUPPORTED_MEDIA_TYPE", "415", "UNSUPPORTED_MEDIA_TYPE"),
        ("ACCESS_DENIED", "403", "FORBIDDEN"),
        ("INVALID_SIGNATURE", "403", "FORBIDDEN"),
        ("THROTTLED", "429", "THROTTLED"),
        ("QUOTA_EXCEEDED", "429", "THROTTLED"),
        ("INTEGRATION_TIMEOUT", "504", "UNAVAILABLE"),
        ("INTEGRATION_FAILURE", "504", "INTERNAL"),
        ("DEFAULT_4XX", None, "INVALID"),
        ("DEFAULT_5XX", None, "INTERNAL"),
    ],
)
def test_a_case_has_its_status_and_its_code(api_id: str, case: str, status: str | None, code: str) -> None:
    said = told(api_id)[case]
    assert said.get("statusCode") == status
    assert json.loads(said["responseTemplates"]["application/json"])["code"] == code


@pytest.mark.parametrize("case", ["INTEGRATION_TIMEOUT", "INTEGRATION_FAILURE", "DEFAULT_5XX"])
def test_where_a_function_may_have_done_its_work_the_answer_does_not_deny_it(case: str) -> None:
    assert answers.ANSWERS[case].sentence.endswith("; whether something has changed is not known.")


def test_every_answer_has_the_id_of_the_request(api_id: str) -> None:
    for said in told(api_id).values():
        assert said["responseParameters"][HEADER + "X-Request-Id"] == "context.requestId"


def test_who_is_throttled_is_told_when_to_try_again(api_id: str) -> None:
    saying = {case for case, said in told(api_id).items() if HEADER + "Retry-After" in said["responseParameters"]}
    assert saying == {"THROTTLED", "QUOTA_EXCEEDED"}
    assert told(api_id)["THROTTLED"]["responseParameters"][HEADER + "Retry-After"] == "'1'"


@pytest.mark.parametrize(
    ("origin", "said"), [("*", "'*'"), ("https://example.com", "'https://example.com'"), ("", None)]
)
def test_pages_of_the_stages_origin_may_read_every_answer(api_id: str, origin: str, said: str | None) -> None:
    for one in told(api_id, origin).values():
        assert one["responseParameters"].get(HEADER + "Access-Control-Allow-Origin") == said
        exposed = one["responseParameters"].get(HEADER + "Access-Control-Expose-Headers")
        assert exposed == (said and "'X-Request-Id'")


def test_the_stage_gets_them_and_is_left_alone_when_it_has_them(api_id: str) -> None:
    before = deployment(api_id)
    assert answers.put(boto3.client, api_id, STAGE, "*") == len(answers.ANSWERS)
    after = deployment(api_id)
    assert after != before
    assert answers.put(boto3.client, api_id, STAGE, "*") == 0
    assert deployment(api_id) == after


def test_only_what_differs_is_put_again(api_id: str) -> None:
    told(api_id)
    gateway = boto3.client("apigateway")
    gateway.delete_gateway_response(restApiId=api_id, responseType="THROTTLED")
    gateway.put_gateway_response(restApiId=api_id, responseType="DEFAULT_5XX", statusCode="500")
    before = deployment(api_id)
    assert answers.put(boto3.client, api_id, STAGE, "*") == 2
    assert deployment(api_id) != before


def test_a_status_that_is_not_ours_is_taken_back(api_id: str) -> None:
    said = told(api_id)["DEFAULT_4XX"]
    parts = {name: said[name] for name in ("responseParameters", "responseTemplates")}
    boto3.client("apigateway").put_gateway_response(
        restApiId=api_id, responseType="DEFAULT_4XX", statusCode="418", **parts
    )
    assert answers.put(boto3.client, api_id, STAGE, "*") == 1
    assert "statusCode" not in told(api_id)["DEFAULT_4XX"]


def test_what_a_case_only_has_from_its_default_is_put() -> None:
    """As the cloud describes it: the moto that the other tests use does not let a case inherit."""
    gateway = Gateway()
    assert answers.put(lambda *_, **__: gateway, "api", STAGE, "*") == len(answers.ANSWERS)
    inherited = gateway.told["INTEGRATION_FAILURE"]
    inherited["defaultResponse"] = True
    assert answers.put(lambda *_, **__: gateway, "api", STAGE, "*") == 1


class Gateway:
    """What the gateway has been told."""

    def __init__(self) -> None:
        self.told: Deployed = {}

    def get_gateway_responses(self, **_: Any) -> dict[str, Any]:
        return {"items": [{"responseType": case, **said} for case, said in self.told.items()]}

    def put_gateway_response(self, responseType: str, restApiId: str, **said: Any) -> None:  # noqa: N803 - the cloud's
        assert restApiId == "api"
        self.told[responseType] = {"defaultResponse": False, **said}

    def create_deployment(self, **where: str) -> None:
        assert where == {"restApiId": "api", "stageName": STAGE}


def test_the_alarm_on_deliveries_hears_of_its_own_stage_only() -> None:
    (alarm,) = [one for one in declared("AWS::CloudWatch::Alarm") if one["MetricName"] == "failedDeliveries"]
    assert alarm["Namespace"] == {"Ref": "Name"}
    assert "Dimensions" not in alarm
