"""API Gateway's own error responses have the service's envelope. A deployment puts only responses that differ."""

import json
from typing import Any

import boto3
import pytest
from botocore.loaders import Loader

from infra.deploy import gateway_responses
from tests.openapi.document import document
from tests.selection import first_case, one_of_each

STAGE = "prod"
HEADER = "gatewayresponse.header."
Responses = dict[str, dict[str, Any]]


def deployment(api_id: str) -> str:
    deployed: str = boto3.client("apigateway").get_stage(restApiId=api_id, stageName=STAGE)["deploymentId"]
    return deployed


def put(api_id: str) -> Responses:
    """Put the gateway responses; return the API's responses by type."""
    gateway_responses.put(boto3.client, api_id, STAGE)
    current = boto3.client("apigateway").get_gateway_responses(restApiId=api_id)["items"]
    return {one["responseType"]: one for one in current}


def test_every_response_type_of_api_gateway_has_a_response() -> None:
    known = Loader().load_service_model("apigateway", "service-2")["shapes"]["GatewayResponseType"]["enum"]
    assert set(known) == set(gateway_responses.RESPONSES)


def test_a_response_is_the_envelope_and_echoes_nothing_from_the_request(api_id: str) -> None:
    codes = document()["components"]["schemas"]["Error"]["properties"]["code"]["examples"]
    for response_type, response in put(api_id).items():
        assert list(response["responseTemplates"]) == ["application/json"]
        template = response["responseTemplates"]["application/json"]
        envelope = json.loads(template)
        assert (list(envelope), envelope["success"]) == (["success", "message", "code"], False)
        assert envelope["code"] in codes, response_type
        assert "$" not in template
        assert {value for value in response["responseParameters"].values() if value[0] != "'"} == {"context.requestId"}


@one_of_each(lambda code: code)
@pytest.mark.parametrize(
    ("response_type", "status", "code"),
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
def test_a_response_type_has_its_status_and_code(
    api_id: str, response_type: str, status: str | None, code: str
) -> None:
    response = put(api_id)[response_type]
    assert response.get("statusCode") == status
    assert json.loads(response["responseTemplates"]["application/json"])["code"] == code


@pytest.mark.parametrize("response_type", ["INTEGRATION_TIMEOUT", "INTEGRATION_FAILURE", "DEFAULT_5XX"])
@first_case
def test_after_a_timeout_or_failure_the_message_leaves_the_outcome_open(response_type: str) -> None:
    assert gateway_responses.RESPONSES[response_type].message.endswith("; the request may have taken effect.")


def test_every_response_has_the_request_id(api_id: str) -> None:
    for response in put(api_id).values():
        assert response["responseParameters"][HEADER + "X-Request-Id"] == "context.requestId"


def test_only_throttling_responses_have_retry_after(api_id: str) -> None:
    responses = put(api_id)
    with_header = {
        response_type
        for response_type, response in responses.items()
        if HEADER + "Retry-After" in response["responseParameters"]
    }
    assert with_header == {"THROTTLED", "QUOTA_EXCEEDED"}
    assert responses["THROTTLED"]["responseParameters"][HEADER + "Retry-After"] == "'1'"


def test_any_page_reads_a_response_and_when_to_try_again(api_id: str) -> None:
    for response in put(api_id).values():
        allowed, exposed = (
            response["responseParameters"][HEADER + "Access-Control-" + name]
            for name in ("Allow-Origin", "Expose-Headers")
        )
        assert (allowed, exposed) == ("'*'", "'Retry-After,X-Request-Id'")


def test_the_stage_is_redeployed_only_if_a_response_has_changed(api_id: str) -> None:
    before = deployment(api_id)
    assert gateway_responses.put(boto3.client, api_id, STAGE) == len(gateway_responses.RESPONSES)
    after = deployment(api_id)
    assert after != before
    assert gateway_responses.put(boto3.client, api_id, STAGE) == 0
    assert deployment(api_id) == after


def test_only_responses_that_differ_are_put_again(api_id: str) -> None:
    put(api_id)
    gateway = boto3.client("apigateway")
    gateway.delete_gateway_response(restApiId=api_id, responseType="THROTTLED")
    gateway.put_gateway_response(restApiId=api_id, responseType="DEFAULT_5XX", statusCode="500")
    before = deployment(api_id)
    assert gateway_responses.put(boto3.client, api_id, STAGE) == 2
    assert deployment(api_id) != before


def test_a_foreign_status_is_removed(api_id: str) -> None:
    response = put(api_id)["DEFAULT_4XX"]
    parts = {name: response[name] for name in ("responseParameters", "responseTemplates")}
    boto3.client("apigateway").put_gateway_response(
        restApiId=api_id, responseType="DEFAULT_4XX", statusCode="418", **parts
    )
    assert gateway_responses.put(boto3.client, api_id, STAGE) == 1
    assert "statusCode" not in put(api_id)["DEFAULT_4XX"]


def test_a_response_inherited_from_a_default_is_put() -> None:
    """Use a fake client, because moto does not implement inheritance from a default response."""
    gateway = Gateway()
    assert gateway_responses.put(lambda *_, **__: gateway, "api", STAGE) == len(gateway_responses.RESPONSES)
    inherited = gateway.responses["INTEGRATION_FAILURE"]
    inherited["defaultResponse"] = True
    assert gateway_responses.put(lambda *_, **__: gateway, "api", STAGE) == 1


class Gateway:
    """A fake API Gateway client that stores gateway responses."""

    def __init__(self) -> None:
        self.responses: Responses = {}

    def get_gateway_responses(self, **_: Any) -> dict[str, Any]:
        return {"items": [{"responseType": name, **response} for name, response in self.responses.items()]}

    def put_gateway_response(self, responseType: str, restApiId: str, **response: Any) -> None:  # noqa: N803
        assert restApiId == "api"
        self.responses[responseType] = {"defaultResponse": False, **response}

    def create_deployment(self, **target: str) -> None:
        assert target == {"restApiId": "api", "stageName": STAGE}
