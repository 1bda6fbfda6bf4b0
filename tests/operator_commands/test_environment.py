"""Operator commands read the stage's extensions from the environment."""

import pytest
from click.testing import CliRunner

from infra.operator import commands
from infra.operator.commands import cams

COMMAND = ["workspace", "list"]


@pytest.mark.parametrize(
    ("variables", "is_refused"),
    [
        ({}, False),
        ({"CAMS_TABLE_PREFIX": "cams-prod-"}, True),
        ({"CAMS_TABLE_PREFIX": "cams-prod-", "CAMS_EXTENSIONS": ""}, False),
        ({"CAMS_TABLE_PREFIX": "cams-prod-", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, False),
    ],
)
def test_a_stage_whose_extensions_are_unknown_is_refused(
    variables: dict[str, str], is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reject unknown extensions, because a command would write to tables that the stage does not have."""
    for name in ("CAMS_TABLE_PREFIX", "CAMS_EXTENSIONS", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    refusal = "CAMS_EXTENSIONS is not set: use the environment variables that deploying the stage prints"
    assert (refusal in CliRunner().invoke(cams, [*COMMAND, "--help"]).output) == is_refused


def test_a_command_of_an_extension_that_is_off_is_refused() -> None:
    refused = CliRunner().invoke(commands._refusing(commands.workspace, "moons"), ["list", "--last", "3"])
    assert refused.exit_code == 1
    assert refused.output == "Error: This command needs the extension moons, which is disabled in this stage.\n"
