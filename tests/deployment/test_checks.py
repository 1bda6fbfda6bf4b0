"""Before a deployment, each failed check prints a one-sentence error with the operator's next step."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import click
import pytest
from botocore.exceptions import NoCredentialsError
from click.testing import CliRunner
from moto import mock_aws

from chalicelib import settings
from chalicelib.extensions import present
from infra import tables
from infra.deploy import checks, concurrency, stack, stage
from infra.deploy.commands import deployment
from tests.selection import first_case

COMMANDS = {
    "deploy": ["--stage", "prod"],
    "destroy": ["--stage", "prod"],
    "restore": ["--stage", "prod", "--at", "latest", "--to", "prod2"],
    "adopt": ["--stage", "prod"],
}
# This machine's address in every notation.
HERE = (
    "http://127.0.0.1:4566", "http://localhost:4566", "http://[::1]:1", "http://0.0.0.0:1", "http://127.1:4566",
    "http://0x7f.1", "http://2130706433", "http://localhost.:4566", "http://a.localhost", "http://[::ffff:127.0.0.1]:1",
)  # fmt: skip


@pytest.fixture(autouse=True)
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(stage, "CHALICE_DIRECTORY", tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"stages": {"local": {}}}))
    with mock_aws():
        yield


def failure(**settings: Any) -> str:
    """Return a function that returns the error message of the check that fails with these stage settings."""
    (stage.CHALICE_DIRECTORY / "config.json").write_text(json.dumps({"stages": {"prod": settings}}))
    with pytest.raises(checks.NotReady) as failed:
        checks.run_all(boto3.session.Session(), "cams-prod", "prod")
    assert "\n" not in failed.value.message
    return failed.value.message


def test_an_empty_account_passes_all_checks() -> None:
    checks.run_all(boto3.session.Session(), "cams-prod", "prod")


def test_a_missing_region_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert "set AWS_DEFAULT_REGION" in failure()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_without_a_region_is_refused_in_one_sentence(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    answer = CliRunner().invoke(deployment, [command, *COMMANDS[command]])
    assert (answer.exit_code, answer.output.splitlines()) == (
        1,
        ["Error: No region: set AWS_DEFAULT_REGION, or set AWS_PROFILE to a profile that has one."],
    )


@pytest.mark.parametrize(
    ("command", "variable"),
    [(command, "AWS_ENDPOINT_URL") for command in COMMANDS] + [("deploy", "AWS_ENDPOINT_URL_DYNAMODB")],
)
def test_an_endpoint_on_this_machine_is_refused_in_one_sentence(
    command: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, HERE[0])
    monkeypatch.delenv("CAMS_DEPLOY_TO_EMULATOR", raising=False)
    answer = CliRunner().invoke(deployment, [command, *COMMANDS[command]])
    (line,) = answer.output.splitlines()
    assert (answer.exit_code, line.partition(":")[0]) == (1, "Error")
    assert f"{variable} points at this machine" in line
    monkeypatch.setenv("CAMS_DEPLOY_TO_EMULATOR", "1")
    checks.require_cloud(boto3.session.Session())


def test_every_notation_of_this_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in HERE:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        assert "points at this machine" in failure(), url


@pytest.mark.parametrize(
    "url", ["127.0.0.1:4566", "localhost:4566", "http://", "http://[::1", "http://[::g]", "https://a b/"]
)
def test_an_endpoint_that_is_no_url_is_refused_in_one_sentence(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    answer = CliRunner().invoke(deployment, ["deploy", *COMMANDS["deploy"]])
    expected = ["Error: AWS_ENDPOINT_URL is not a valid URL: correct it, or unset it."]
    assert (answer.exit_code, answer.output.splitlines()) == (1, expected)


def test_an_endpoint_elsewhere_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in (
        "https://vpce-1.dynamodb.eu-west-1.vpce.amazonaws.com",
        "https://127.example.com",
        "http://10.0.0.1",
        "",
    ):
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        checks.require_cloud(boto3.session.Session())


def test_missing_credentials_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise NoCredentialsError

    monkeypatch.setattr(boto3.session.Session, "client", refuse)
    assert "set AWS_PROFILE" in failure()


def test_an_unknown_architecture_is_reported() -> None:
    assert "is 'arm': use arm64 or x86_64" in failure(lambda_architecture="arm")


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"environment_variables": []}, "environment_variables"),
        ({"environment_variables": {"A": True}}, "environment_variables"),
        ({"tags": "x"}, "tags"),
        ({"tags": {"team": 1}}, "tags"),
        ({"layers": "x"}, "layers"),
        ({"subnet_ids": [1]}, "subnet_ids"),
        ({"security_group_ids": {}}, "security_group_ids"),
        ({"xray": "yes"}, "xray"),
        ({"python_version": 3.13}, "python_version"),
        ({"lambda_architecture": []}, "lambda_architecture"),
        ({"lambda_functions": {"erase": {"tags": 1}}}, "lambda_functions.erase.tags"),
    ],
)
def test_a_setting_of_another_type_is_reported(settings: dict[str, Any], place: str) -> None:
    assert failure(**settings).startswith(f"{place} of stage prod has the wrong type: use ")


def test_a_setting_without_effect_is_reported() -> None:
    assert failure(lambda_memory_size=4000).startswith("lambda_memory_size of stage prod is set by CAMS")
    assert "remove it" in failure(lambda_functions={"erase": {"lambda_timeout": 9}})
    sentence = "environment_variables.CAMS_STREAM_LEADS of stage prod is set by CAMS: remove it."
    assert failure(environment_variables={"CAMS_STREAM_LEADS": "arn"}) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", ".chalice/config.json cannot be read: "),
        ("[]", ".chalice/config.json has no object such as "),
        ('{"stages": []}', ".chalice/config.json has no object such as "),
        ('{"stages": {"prod": null}}', ".chalice/config.json has no object such as "),
        ('{"app_name": "other", "stages": {}}', '.chalice/config.json has the wrong "app_name": set it to "cams".'),
    ],
)
def test_a_malformed_file_is_reported(text: str, sentence: str) -> None:
    (stage.CHALICE_DIRECTORY / "config.json").write_text(text)
    with pytest.raises(click.ClickException) as caught:
        stage.read("prod")
    assert caught.value.message.startswith(sentence)


def test_a_file_without_stages_has_the_settings_of_all() -> None:
    (stage.CHALICE_DIRECTORY / "config.json").write_text('{"xray": true}')
    assert stage.read("prod") == {"xray": True}


def test_an_invalid_limit_is_reported() -> None:
    assert "throttle.rate of stage prod is 0: " in failure(throttle={"rate": 0})


def test_null_asks_for_the_default_of_a_setting() -> None:
    settings = {"throttle": None, "requests_per_credential": None, "lambda_functions": {"deliver": None}}
    (stage.CHALICE_DIRECTORY / "config.json").write_text(json.dumps({"stages": {"prod": settings}}))
    checks.run_all(boto3.session.Session(), "cams-prod", "prod")


def test_an_account_that_is_too_small_is_refused_before_anything_is_created(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "available_executions", lambda *_: 5)
    answer = CliRunner().invoke(deployment, ["deploy", "--stage", "prod"])
    (line,) = answer.output.splitlines()
    assert line.startswith("Error: The account has 5 concurrent executions for this stage, which needs at least 10: ")
    assert boto3.client("cloudformation").list_stacks()["StackSummaries"] == []


def test_a_new_stack_is_created_with_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that settings survive if the deployment is interrupted before its first stack update."""
    settings = {"lambda_architecture": "arm64", "alarms_email": "ops@example.com", "monthly_budget": 9}
    (stage.CHALICE_DIRECTORY / "config.json").write_text(json.dumps({"stages": {"prod": settings}}))
    parameters: list[dict[str, str]] = []
    monkeypatch.setattr(concurrency, "available_executions", lambda *_: 1000)
    monkeypatch.setattr(stack, "create", lambda *arguments: parameters.append(arguments[-1]) or sys.exit(9))
    assert CliRunner().invoke(deployment, ["deploy", "--stage", "prod"]).exit_code == 9
    assert parameters == [
        {
            "OperatorSettings": '{"lambda_architecture":"arm64","python_version":"3.13"}',
            "AlarmsEmail": "ops@example.com",
            "MonthlyBudget": "9",
            "Extensions": ",".join(present()) or "none",
        }
    ]


def test_an_unsupported_python_version_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 0))
    assert "A deployment runs on Python 3.10 to 3.14, not " in failure()


def test_an_unsupported_python_version_of_the_functions_is_reported() -> None:
    assert "cannot run on Python 3.10: set its python_version" in failure(python_version="3.10")


def test_an_untested_package_version_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks.metadata, "version", lambda _: "0.1")
    assert "is 0.1 here: run `make install`" in failure()


def test_credentials_of_another_account_are_reported() -> None:
    arn = "arn:aws:lambda:eu-west-1:999999999999:function:cams-prod"
    recorded = {"resources": [{"name": "api_handler", "resource_type": "lambda_function", "lambda_arn": arn}]}
    (stage.CHALICE_DIRECTORY / "deployed").mkdir()
    (stage.CHALICE_DIRECTORY / "deployed" / "prod.json").write_text(json.dumps(recorded))
    sentence = failure()
    assert "Stage prod is in account 999999999999" in sentence
    assert sentence.endswith(", delete .chalice/deployed/prod.json first.")


def add_role(name: str, *resources: str) -> None:
    """Create a role with an inline policy, as Chalice does."""
    iam = boto3.client("iam")
    iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")
    statements = [{"Effect": "Allow", "Action": ["kms:Decrypt"], "Resource": one} for one in resources]
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_role_policy(RoleName=name, PolicyName=name, PolicyDocument=document)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_stage_of_another_region_is_refused_before_anything_changes(command: str) -> None:
    """Reject a second region, because role names are unique per account, so both regions would share the roles."""
    name = f"cams-{COMMANDS[command][-1]}"
    role = f"{name}-api_handler"
    add_role(role, "*", "arn:aws:s3:::packages", "arn:aws:kms:eu-central-1:123456789012:key/1")
    answer = CliRunner().invoke(deployment, [command, *COMMANDS[command]])
    sentence = (
        f"{name} is deployed in region eu-central-1, and its role {role} exists once for the account: use that region, "
        f"or choose another stage name for {boto3.session.Session().region_name}."
    )
    assert (answer.exit_code, answer.output.splitlines()[-1]) == (1, f"Error: {sentence}")
    assert boto3.client("cloudformation").list_stacks()["StackSummaries"] == []


def test_roles_of_the_same_region_and_of_others_pass_the_check() -> None:
    session = boto3.session.Session()
    add_role("cams-prod-api_handler", f"arn:aws:kms:{session.region_name}:123456789012:key/1")
    add_role("cams-prod2-api_handler", "arn:aws:kms:eu-central-1:123456789012:key/1")
    checks.require_own_region(session, "cams-prod")


def test_a_running_stack_operation_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "status", lambda *_: "UPDATE_IN_PROGRESS")
    assert "wait until it has finished" in failure()


@first_case
@pytest.mark.parametrize("state", ["CREATE_FAILED", "DELETE_FAILED", "ROLLBACK_FAILED", "UPDATE_ROLLBACK_FAILED"])
def test_a_broken_stack_is_reported(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "status", lambda *_: state)
    assert state in failure()


@first_case
@pytest.mark.parametrize(
    "state", ["CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "ROLLBACK_COMPLETE"]
)
def test_an_updatable_stack_passes_all_checks(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "status", lambda *_: state)
    checks.run_all(boto3.session.Session(), "cams-prod", "prod")


def test_tables_without_a_stack_are_reported() -> None:
    tables.create_missing(boto3.client, "cams-prod-")
    assert "Tables of cams-prod exist without a stack" in failure()


@pytest.mark.parametrize("state", stack.NEVER_CREATED)
def test_tables_beside_an_empty_stack_are_reported(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the state after an interrupted restore, in which a deployment would create another key."""
    tables.create_missing(boto3.client, "cams-prod-")
    monkeypatch.setattr(stack, "status", lambda *_: state)
    assert "If `make restore` was interrupted, repeat it" in failure()


def test_tables_of_another_stage_are_ignored() -> None:
    tables.create_missing(boto3.client, settings.table_prefix())
    checks.run_all(boto3.session.Session(), "cams-prod", "prod")


@first_case
@pytest.mark.parametrize("name", ["", "local", "Prod", "pr-od", "1st", "seventeenletters1"])
def test_an_invalid_stage_name_is_rejected(name: str) -> None:
    answer = CliRunner().invoke(deployment, ["deploy", "--stage", name])
    sentence = f"The stage {name!r} has an invalid name: use 1 to 16 of a-z and 0-9, a letter first, no `local`."
    assert (answer.exit_code, answer.output) == (1, f"Error: {sentence}\n")


def test_destroying_an_unknown_stage_fails() -> None:
    answer = CliRunner().invoke(deployment, ["destroy", "--stage", "prod", "--yes"])
    assert answer.exit_code == 1
    assert "There is no stack cams-prod" in answer.output


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, click.Abort], ids=["at work", "at a question"])
def test_an_interruption_is_one_sentence(interruption: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise interruption

    monkeypatch.setattr(stack, "status", interrupt)
    answer = CliRunner().invoke(deployment, ["destroy", "--stage", "prod"])
    assert (answer.exit_code, answer.output) == (1, "\nError: Interrupted: run the command again to complete it.\n")


def test_destroying_asks_for_the_stage_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "status", lambda *_: "UPDATE_COMPLETE")
    answer = CliRunner().invoke(deployment, ["destroy", "--stage", "prod"], input="yes\n")
    assert answer.exit_code == 1
    assert "nothing has been changed" in answer.output
