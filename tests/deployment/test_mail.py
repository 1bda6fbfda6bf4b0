"""The settings of a stage that sends mail: a deployment refuses those with which no mail could be sent."""

import pytest

from infra.deploy import mail

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
    assert [one.split()[0] for one in mail.problems({"environment_variables": variables}, "prod")] == problems
