"""A stage's limits: the throttle, the reserved concurrency, and the requests per credential."""

import json
from typing import Any

import boto3
import pytest

from infra.deploy import limits, stack, template
from infra.deploy.functions import declared_functions
from infra.deploy.gateway_responses import RESPONSES

_TEMPLATE = template.build()
RESOURCES: dict[str, Any] = _TEMPLATE["Resources"]


# ---- the throttle ---------------------------------------------------------------------------------


def throttle(api_id: str) -> tuple[float, int]:
    settings = boto3.client("apigateway").get_stage(restApiId=api_id, stageName="prod")["methodSettings"]["*/*"]
    return settings["throttlingRateLimit"], settings["throttlingBurstLimit"]


def test_a_deployment_sets_rate_and_burst(api_id: str) -> None:
    for rate, burst in ((1_000, 1_000), (50, 20)):
        settings = {"throttle": {"rate": rate, "burst": burst}}
        assert limits.throttle(boto3.client("apigateway"), api_id, "prod", settings)
        assert throttle(api_id) == (rate, burst)


def test_the_throttle_is_set_only_if_it_differs(api_id: str) -> None:
    settings = {"throttle": {"rate": 50, "burst": 20}}
    assert limits.throttle(boto3.client("apigateway"), api_id, "prod", settings)
    assert not limits.throttle(boto3.client("apigateway"), api_id, "prod", settings)


# ---- the requests per credential -----------------------------------------------------------------


def test_the_limit_of_a_credential_is_off_by_default() -> None:
    assert limits.requests_per_credential({}) == _TEMPLATE["Parameters"]["RequestsPerCredential"]["Default"] == 0
    assert limits.requests_per_credential({"requests_per_credential": 2_000}) == 2_000


def test_the_limit_counts_the_requests_of_each_token_and_shows_none() -> None:
    acl = RESOURCES["CredentialLimit"]["Properties"]
    (rule,) = acl["Rules"]
    limit = rule["Statement"]["RateBasedStatement"]
    assert limit["AggregateKeyType"] == "CUSTOM_KEYS"
    assert [one["Header"]["Name"] for one in limit["CustomKeys"]] == ["authorization"]
    assert limit["Limit"] == {"Ref": "RequestsPerCredential"}
    assert not any(one["VisibilityConfig"]["SampledRequestsEnabled"] for one in (acl, rule))


def test_the_limit_counts_all_spellings_of_a_token_together() -> None:
    (key,) = RESOURCES["CredentialLimit"]["Properties"]["Rules"][0]["Statement"]["RateBasedStatement"]["CustomKeys"]
    transformations = key["Header"]["TextTransformations"]
    assert [one["Type"] for one in transformations] == ["COMPRESS_WHITE_SPACE", "LOWERCASE"]
    assert [one["Priority"] for one in transformations] == [0, 1]


def test_the_limit_answers_as_the_throttle_does() -> None:
    acl = RESOURCES["CredentialLimit"]["Properties"]
    answer = acl["Rules"][0]["Action"]["Block"]["CustomResponse"]
    throttled = RESPONSES["THROTTLED"]
    assert answer["ResponseCode"] == throttled.status
    assert [one["Name"] for one in answer["ResponseHeaders"]] == list(throttled.headers)
    body = json.loads(acl["CustomResponseBodies"][answer["CustomResponseBodyKey"]]["Content"])
    assert body == {"success": False, "message": throttled.message, "code": throttled.code}


class CloudFormation:
    """A fake client with a stack that contains this API id."""

    def __init__(self, api_id: str) -> None:
        self.values = {"ApiId": api_id}
        self.is_protected = False

    def describe_stacks(self, **_: str) -> dict[str, Any]:
        parameters = [{"ParameterKey": name, "ParameterValue": value} for name, value in self.values.items()]
        return {"Stacks": [{"StackStatus": "UPDATE_COMPLETE", "Parameters": parameters}]}

    def update_stack(self, Parameters: list[dict[str, str]], **_: Any) -> None:  # noqa: N803
        self.values = {one["ParameterKey"]: one["ParameterValue"] for one in Parameters}

    def update_termination_protection(self, EnableTerminationProtection: bool, **_: Any) -> None:  # noqa: N803
        self.is_protected = EnableTerminationProtection


def test_a_stack_keeps_the_api_of_the_limit() -> None:
    cloudformation = CloudFormation("known")
    stack.apply(cloudformation, "cams-prod", "prod", {"RequestsPerCredential": "10"})
    assert (cloudformation.values["ApiId"], cloudformation.values["RequestsPerCredential"]) == ("known", "10")
    stack.apply(cloudformation, "cams-prod", "prod", {"RequestsPerCredential": "10", "ApiId": "new"})
    assert cloudformation.values["ApiId"] == "new"
    stack.retain_data_only(cloudformation, "cams-prod", "prod")
    assert "ApiId" not in cloudformation.values


def test_a_stack_has_termination_protection_until_its_data_are_deleted() -> None:
    cloudformation = CloudFormation("known")
    stack.apply(cloudformation, "cams-prod", "prod", {})
    assert cloudformation.is_protected
    stack.retain_data_only(cloudformation, "cams-prod", "prod")
    assert cloudformation.is_protected
    stack.retain_data_only(cloudformation, "cams-prod", "prod", protected=False)
    assert not cloudformation.is_protected


# ---- checks ---------------------------------------------------------------------------------------


def reserving(function: str, concurrency: Any) -> dict[str, Any]:
    return {"lambda_functions": {function: {"reserved_concurrency": concurrency}}}


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"throttle": None}, "throttle of stage prod is None: "),
        ({"throttle": 1_000}, "throttle of stage prod is 1000: "),
        ({"throttle": {"rate": 0}}, "throttle.rate of stage prod is 0: "),
        ({"throttle": {"rate": 0.5}}, "throttle.rate of stage prod is 0.5: "),
        ({"throttle": {"rate": True}}, "throttle.rate of stage prod is True: "),
        ({"throttle": {"rate": 10_001}}, "throttle.rate of stage prod is 10001: "),
        ({"throttle": {"burst": "many"}}, "throttle.burst of stage prod is 'many': "),
        ({"throttle": {"rte": 5}}, "throttle.rte of stage prod is 5: "),
        ({"requests_per_credential": None}, "requests_per_credential of stage prod is None: "),
        ({"requests_per_credential": "2000"}, "requests_per_credential of stage prod is '2000': "),
        ({"requests_per_credential": 9}, "requests_per_credential of stage prod is 9: "),
        ({"requests_per_credential": 2_000_000_001}, "requests_per_credential of stage prod is 2000000001: "),
        ({"lambda_functions": None}, "lambda_functions of stage prod is None: "),
        ({"lambda_functions": {"deliver": None}}, "lambda_functions.deliver of stage prod is None: "),
        (reserving("deliver", 1), "reserved_concurrency of deliver, stage prod, is 1: "),
        (reserving("deliver", 1_001), "reserved_concurrency of deliver, stage prod, is 1001: "),
        (reserving("fan_out_agents", 0), "reserved_concurrency of fan_out_agents, stage prod, is 0: "),
        (reserving("api_handler", "5"), "reserved_concurrency of api_handler, stage prod, is '5': "),
    ],
)
def test_a_setting_that_aws_rejects_is_reported(settings: dict[str, Any], problem: str) -> None:
    (found,) = limits.problems(settings, "prod")
    assert found.startswith(problem)


@pytest.mark.parametrize(
    "settings",
    [
        {"throttle": {"rate": 1, "burst": 1}, "requests_per_credential": 10, **reserving("deliver", 2)},
        {"throttle": {"rate": 10_000}, "requests_per_credential": 2_000_000_000, **reserving("deliver", 1_000)},
        {"throttle": {}, "requests_per_credential": 0, **reserving("deliver", None)},
        reserving("fan_out_agents", 1),  # stream mappings do not limit the concurrency of their functions
        reserving("api_handler", 3_000),
    ],
)
def test_valid_settings_have_no_problem(settings: dict[str, Any]) -> None:
    assert list(limits.problems(settings, "prod")) == []


def test_settings_without_a_function_have_no_effect() -> None:
    """Check that a deployment warns about settings for a function from an older version or a disabled extension."""
    assert list(limits.problems(reserving("retired", "5"), "prod")) == []
    settings = {"lambda_functions": {"deliver": {}, "retired": {}}}
    assert limits.unknown_functions(settings, declared_functions()) == ["retired"]
    assert limits.unknown_functions({}, declared_functions()) == []
