"""Settings for a stage that sends email: a deployment rejects settings that would prevent sending."""

import json
from pathlib import Path

import boto3
import pytest

from chalicelib.extensions.console.deploy import settings
from infra.deploy import checks, stage
from infra.deploy.functions import declared_functions
from tests.deployment.test_checks import cloud as cloud
from tests.deployment.test_stage import generate

SENDER, CONSOLE = "CAMS <cams@example.com>", "https://example.com/console"


@pytest.mark.parametrize(
    ("sender", "console", "problems"),
    [
        ("", "", []),
        ("", "anything", []),
        (SENDER, CONSOLE, []),
        ("cams@example.com", CONSOLE, []),
        ("CAMS", CONSOLE, ["CAMS_MAIL_SENDER"]),
        (SENDER, "", ["CAMS_CONSOLE_URL"]),
        (SENDER, "http://example.com/console", ["CAMS_CONSOLE_URL"]),
        ("CAMS", "example.com", ["CAMS_MAIL_SENDER", "CAMS_CONSOLE_URL"]),
    ],
)
def test_the_problems_of_the_settings(sender: str, console: str, problems: list[str]) -> None:
    variables = {"CAMS_MAIL_SENDER": sender, "CAMS_CONSOLE_URL": console}
    assert [one.split()[0] for one in settings.problems({"environment_variables": variables}, "prod")] == problems


def test_settings_for_mail_may_be_in_the_file_and_in_the_account(cloud: None) -> None:
    variables = {"CAMS_MAIL_SENDER": SENDER}
    path = stage.CHALICE_DIRECTORY / "config.json"
    path.write_text(json.dumps({"stages": {"prod": {"environment_variables": variables}}}))
    checks.run_all(boto3.session.Session(), "cams-prod", "prod")
    with pytest.raises(checks.NotReady, match="CAMS_CONSOLE_URL of stage prod is not an https address"):
        checks.check_settings(stage.read("prod"), "prod")
    variables["CAMS_CONSOLE_URL"] = CONSOLE
    checks.check_settings({"environment_variables": variables}, "prod")


def test_without_the_console_its_settings_are_not_checked() -> None:
    checks.check_settings({"environment_variables": {"CAMS_MAIL_SENDER": SENDER}, "extensions": []}, "prod")


def test_the_function_that_sends_mail_may_use_the_sender_of_the_stage_only(tmp_path: Path) -> None:
    generate(tmp_path, {"environment_variables": {"CAMS_MAIL_SENDER": "CAMS <cams@example.com>"}})
    policy = tmp_path / ".chalice" / "policy-prod-notify_people.json"
    (found,) = (one for one in json.loads(policy.read_text())["Statement"] if one["Action"] == ["ses:SendRawEmail"])
    assert found["Condition"] == {"StringEquals": {"ses:FromAddress": "cams@example.com"}}
    assert "ses:" not in policy.with_name("policy-prod-api_handler.json").read_text()


def test_only_one_function_may_send_mail() -> None:
    assert [one.name for one in declared_functions() if one.sends_mail] == ["notify_people"]
