"""A deployment from any clone keeps the deployed stage's settings and prints each changed setting."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from chalicelib.extensions import present
from infra.deploy import checks, concurrency, deployed_settings, stage
from infra.deploy.stage import Settings

VARIABLES = {"CAMS_CONSOLE_URL": "https://cams.example.com/console", "SECRET": "the value"}
OWN: dict[str, Any] = {
    "environment_variables": VARIABLES,
    "lambda_architecture": "arm64",
    "python_version": "3.13",
    "requests_per_credential": 2000,
    "tags": {"team": "support"},
    "extensions": [],
    "throttle": {"rate": 50, "burst": 20},
    "lambda_functions": {"deliver": {"reserved_concurrency": 5}, "deliver_slow": {"reserved_concurrency": None}},
}
KEPT = {**OWN, "alarms_email": "ops@example.com"}
ARN = "arn:aws:lambda:eu-west-1:123456789012:function:cams-prod"


class Meta:
    region_name = "eu-west-1"


class Account:
    """A fake for all SDK clients of an account that contains one deployed stage, `prod`."""

    meta = Meta()

    def __init__(
        self, settings: Settings, own: Settings | None = None, *, reserved: dict[str, int] | None = None
    ) -> None:
        """Create an account whose functions have `settings`. The stack has `own` (by default, the same settings)."""
        self.settings = settings
        self.function = "cams-prod"
        self.parameter = json.dumps(settings if own is None else own)
        self.reserved = reserved if reserved is not None else concurrency.reservations(settings)
        self.restored_from = {"cams-copy-keyring": "arn:aws:dynamodb:eu-west-1:1:table/cams-prod-keyring"}

    def __call__(self, service: str) -> "Account":
        return self

    def get_function_configuration(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803
        if FunctionName != self.function:
            raise missing("ResourceNotFoundException")
        generated = {"CAMS_TABLE_PREFIX": "cams-prod-", "CAMS_STREAM_LEADS": "arn", "CAMS_STORED_LAYOUT": "3"}
        generated["CAMS_EXTENSIONS"] = ",".join(self.settings.get("extensions", present()))
        return {
            "FunctionArn": ARN,
            "Runtime": f"python{self.settings.get('python_version', '3.12')}",
            "Architectures": [self.settings.get("lambda_architecture", "x86_64")],
            "Environment": {"Variables": {**generated, **self.settings.get("environment_variables", {})}},
        }

    def get_function_concurrency(self, FunctionName: str) -> dict[str, int]:  # noqa: N803
        value = self.reserved.get(FunctionName.removeprefix("cams-prod-"))
        return {} if value is None else {"ReservedConcurrentExecutions": value}

    def list_tags(self, Resource: str) -> dict[str, Any]:  # noqa: N803
        assert Resource == ARN
        generated = {"aws-chalice": "version=1:stage=prod:app=cams", "aws:cloudformation:stack-name": "x"}
        return {"Tags": {**generated, **self.settings.get("tags", {})}}

    def get_paginator(self, operation: str) -> Any:
        items = {"get_rest_apis": [{"id": "api", "name": "cams", "createdDate": 0}]}.get(operation, [method()])
        return type("Pages", (), {"paginate": lambda *_, **__: [{"items": items}]})()

    def get_stage(self, restApiId: str, stageName: str) -> dict[str, Any]:  # noqa: N803
        assert (restApiId, stageName) == ("api", "prod")
        throttle = self.settings.get("throttle", {"rate": 1000, "burst": 1000})
        settings = {"throttlingRateLimit": float(throttle["rate"]), "throttlingBurstLimit": throttle["burst"]}
        return {"methodSettings": {"*/*": settings}}

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803
        values = {"RequestsPerCredential": str(self.settings.get("requests_per_credential", 0))}
        values |= {"AlarmsEmail": "ops@example.com", "MonthlyBudget": "0", "OperatorSettings": self.parameter}
        if StackName != "cams-prod":
            values = {}
        parameters = [{"ParameterKey": key, "ParameterValue": value} for key, value in values.items()]
        return {"Stacks": [{"StackStatus": "UPDATE_COMPLETE", "Parameters": parameters}]}

    def describe_table(self, TableName: str) -> dict[str, Any]:  # noqa: N803
        if TableName not in self.restored_from:
            raise missing("ResourceNotFoundException")
        return {"Table": {"RestoreSummary": {"SourceTableArn": self.restored_from[TableName]}}}


def method() -> dict[str, Any]:
    return {"resourceMethods": {"GET": {"methodIntegration": {"uri": f"arn:x/functions/{ARN}/invocations"}}}}


def missing(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "not there"}}, "Call")


def deploy(account: Account, operators: Settings, name: str = "cams-prod") -> tuple[dict[str, Any], list[str]]:
    """Return the settings that a deployment would deploy, without defaults, and the lines that it prints."""
    deployed = deployed_settings.read(account, name)
    settings = deployed_settings.combine(deployed, operators)
    chosen = {**settings, "extensions": [*stage.extensions(settings)]}
    filled = {"lambda_architecture": "x86_64", **concurrency.with_defaults(chosen, 1_000)}
    return settings, deployed_settings.describe(deployed, operators, filled)


def test_a_clone_without_settings_keeps_the_deployed_ones() -> None:
    settings, lines = deploy(Account(OWN), {})
    assert settings == KEPT
    (line,) = lines
    assert line.startswith("keeps deployed settings that .chalice/config.json does not have: ")
    assert {"throttle.rate", "environment_variables.SECRET", "lambda_functions.deliver.reserved_concurrency"} <= {
        *line.partition(": ")[2].split(", ")
    }
    assert "the value" not in line


def test_settings_of_the_operator_win_and_each_change_is_printed() -> None:
    operators = {
        "environment_variables": {"CAMS_CONSOLE_URL": "https://new.example/console", "SECRET": "another", "NEW": "1"},
        "throttle": {"rate": 100},
        "lambda_functions": {"deliver": {"reserved_concurrency": 9}},
        "requests_per_credential": 0,
        "python_version": "3.14",
    }
    settings, lines = deploy(Account(OWN), operators)
    assert settings["throttle"] == {"rate": 100, "burst": 20}
    assert settings["lambda_architecture"] == "arm64"
    assert sorted(lines[1:]) == [
        "environment_variables: CAMS_CONSOLE_URL https://cams.example.com/console -> https://new.example/console",
        "environment_variables: NEW is added",
        "environment_variables: SECRET changes",
        "lambda_functions: deliver.reserved_concurrency 5 -> 9",
        "python_version: 3.13 -> 3.14",
        "requests_per_credential: 2000 -> 0",
        "throttle: rate 50 -> 100",
    ]


def test_an_empty_variable_is_removed_and_null_restores_the_default_of_a_setting() -> None:
    operators = {
        "environment_variables": {"SECRET": ""},
        "throttle": None,
        "lambda_architecture": None,
        "lambda_functions": {"deliver": None},
    }
    settings, lines = deploy(Account(OWN), operators)
    assert settings["environment_variables"] == {"CAMS_CONSOLE_URL": VARIABLES["CAMS_CONSOLE_URL"]}
    assert settings["lambda_functions"] == {"deliver_slow": {"reserved_concurrency": None}}
    assert not settings.keys() & {"throttle", "lambda_architecture"}
    assert "throttle" not in lines[0] and "SECRET" not in lines[0]
    assert sorted(lines[1:]) == [
        "environment_variables: SECRET is removed",
        "lambda_architecture: arm64 -> x86_64",
        "lambda_functions: deliver.reserved_concurrency 5 -> 200",
        "throttle: burst 20 -> 1000",
        "throttle: rate 50 -> 1000",
    ]


def test_what_a_deployment_chose_follows_the_account() -> None:
    chosen = concurrency.with_defaults({}, 500)
    account = Account({"throttle": chosen["throttle"]}, {}, reserved=concurrency.reservations(chosen))
    settings, lines = deploy(account, {"python_version": "3.12"})
    assert settings == {"python_version": "3.12", "alarms_email": "ops@example.com"}
    assert sorted(lines[1:]) == [
        "lambda_functions: deliver.reserved_concurrency 100 -> 200",
        "lambda_functions: deliver_slow.reserved_concurrency 25 -> 50",
        "throttle: burst 500 -> 1000",
        "throttle: rate 500 -> 1000",
    ]


def test_an_interrupted_first_deployment_is_completed_with_its_settings() -> None:
    account = Account({}, OWN)
    account.function = ""
    settings, lines = deploy(account, {})
    assert settings == KEPT
    (line,) = lines
    assert line.startswith("keeps deployed settings ")


def test_an_interrupted_change_is_completed_with_all_its_settings() -> None:
    changed = {**OWN, "environment_variables": {"CAMS_CORS_ORIGIN": "*"}, "throttle": {"rate": 66, "burst": 20}}
    settings, lines = deploy(Account(OWN, changed), {})
    assert settings == {**changed, "alarms_email": "ops@example.com"}
    assert sorted(lines[1:]) == [
        "environment_variables: CAMS_CONSOLE_URL https://cams.example.com/console -> none",
        "environment_variables: CAMS_CORS_ORIGIN none -> *",
        "environment_variables: SECRET is removed",
        "throttle: rate 50 -> 66",
    ]


def test_without_the_parameter_the_functions_tell_the_settings_except_the_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deployed_settings, "present", lambda: ("history",))
    account = Account(OWN)
    account.parameter = ""
    assert deploy(account, {})[0] == {
        key: value for key, value in KEPT.items() if key not in ("throttle", "lambda_functions")
    }


def test_a_stage_with_all_extensions_gets_those_of_a_later_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployed_settings, "present", lambda: ("history",))
    account = Account({**OWN, "extensions": ["history"]})
    account.parameter = ""
    assert "extensions" not in deploy(account, {})[0]


def test_an_extension_that_is_switched_off_is_printed() -> None:
    operators = {"extensions": ["history"]}
    account = Account({**OWN, "extensions": ["console", "history"]})
    assert "extensions: console, history -> history" in deploy(account, operators)[1]
    assert "extensions: console, history -> none" in deploy(account, {"extensions": []})[1]


def test_settings_that_the_account_cannot_tell_are_kept_and_not_printed() -> None:
    own = {**OWN, "lambda_functions": {"erase": {"environment_variables": {"TOKEN": "the value"}}}}
    settings, lines = deploy(
        Account(OWN, own, reserved={"deliver": 200, "deliver_slow": 50}), {"unknown": 1, "xray": False}
    )
    assert settings == {**own, "alarms_email": "ops@example.com", "unknown": 1, "xray": False}
    (line,) = lines
    assert "lambda_functions.erase.environment_variables.TOKEN" in line
    assert "the value" not in line


def test_settings_that_are_too_long_for_the_stack_are_refused() -> None:
    with pytest.raises(
        checks.NotReady, match="have 5034 bytes as JSON, but CloudFormation stores at most 4096: shorten"
    ):
        deployed_settings.parameters({"environment_variables": {"A": "ä" * 2500}})


def test_a_new_stage_has_no_deployed_settings() -> None:
    account = Account(OWN)
    assert deploy(account, {"throttle": {"rate": 5}}, "cams-new") == ({"throttle": {"rate": 5}}, [])


def test_a_restored_stage_takes_over_the_settings_of_the_other_one() -> None:
    settings, lines = deploy(Account(OWN), {"throttle": {"rate": 5}}, "cams-copy")
    assert settings == {**KEPT, "throttle": {"rate": 5, "burst": 20}}
    (line,) = lines
    assert line.startswith("keeps settings of cams-prod that .chalice/config.json does not have: ")


def test_another_error_of_the_account_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account(OWN)

    def refuse(**_: str) -> dict[str, Any]:
        raise missing("AccessDeniedException")

    monkeypatch.setattr(account, "get_function_configuration", refuse)
    with pytest.raises(ClientError):
        deployed_settings.read(account, "cams-prod")
