"""A stage in `.chalice/config.json`: a deployment writes its own settings and keeps the operator's."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.deploy import stage
from infra.deploy.functions import FUNCTIONS
from tests.deployment.test_functions import OUTPUTS


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stage, "CHALICE_DIRECTORY", tmp_path)
    operators = {"environment_variables": {"OPERATORS": "1"}}
    config = {"version": "2.0", "app_name": "cams", "stages": {"local": {}, "prod": operators}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    return tmp_path


def stages(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "config.json").read_text())["stages"]


def test_a_stage_gets_the_outputs_of_the_stack(directory: Path) -> None:
    stage.record("prod", "cams-prod", OUTPUTS)
    variables = stages(directory)["prod"]["environment_variables"]
    assert variables["CAMS_TABLE_PREFIX"] == "cams-prod-"
    assert variables["CAMS_ENCRYPTION_KEY"] == OUTPUTS["EncryptionKeyArn"]
    assert variables["CAMS_STREAM_LEADS"] == OUTPUTS["LeadsStream"]


def test_settings_of_an_operator_are_kept(directory: Path) -> None:
    stage.record("prod", "cams-prod", OUTPUTS)
    assert stages(directory)["prod"]["environment_variables"]["OPERATORS"] == "1"
    stage.remove("prod")
    assert stages(directory)["prod"] == {"environment_variables": {"OPERATORS": "1"}}


def test_every_function_gets_its_own_policy_file(directory: Path) -> None:
    stage.record("prod", "cams-prod", OUTPUTS)
    for function in FUNCTIONS:
        own = stages(directory)["prod"]["lambda_functions"][function.name]
        assert (own["lambda_memory_size"], own["lambda_timeout"]) == (function.memory_mb, function.timeout_seconds)
        assert json.loads((directory / own["iam_policy_file"]).read_text())["Statement"]
    stage.remove("prod")
    assert [one.name for one in directory.iterdir()] == ["config.json"]


def test_the_function_that_sends_mail_may_use_the_sender_of_the_stage_only(directory: Path) -> None:
    config = json.loads((directory / "config.json").read_text())
    config["stages"]["prod"]["environment_variables"]["CAMS_MAIL_SENDER"] = "CAMS <cams@example.com>"
    (directory / "config.json").write_text(json.dumps(config))
    stage.record("prod", "cams-prod", OUTPUTS)
    statements = json.loads((directory / "policy-prod-notify_people.json").read_text())["Statement"]
    (found,) = (one for one in statements if one["Action"] == ["ses:SendRawEmail"])
    assert found["Condition"] == {"StringEquals": {"ses:FromAddress": "cams@example.com"}}
    assert "ses:" not in (directory / "policy-prod-api_handler.json").read_text()


def test_the_architecture_is_the_operators_and_x86_64_by_default(directory: Path) -> None:
    stage.record("prod", "cams-prod", OUTPUTS)
    assert stage.architecture("prod") == "x86_64"
    config = json.loads((directory / "config.json").read_text())
    config["stages"]["prod"]["lambda_architecture"] = "arm64"
    (directory / "config.json").write_text(json.dumps(config))
    stage.record("prod", "cams-prod", OUTPUTS)
    assert stage.architecture("prod") == "arm64"
    stage.remove("prod")
    assert stage.architecture("prod") == "arm64"


def test_a_stage_has_the_architecture_of_all_stages_unless_it_has_its_own(directory: Path) -> None:
    config = {"stages": {"prod": {}, "old": {"lambda_architecture": "x86_64"}}, "lambda_architecture": "arm64"}
    (directory / "config.json").write_text(json.dumps(config))
    assert (stage.architecture("prod"), stage.architecture("old")) == ("arm64", "x86_64")


def test_the_local_stage_stays_empty(directory: Path) -> None:
    """Its variables would override those of the local run."""
    stage.record("prod", "cams-prod", OUTPUTS)
    assert stages(directory)["local"] == {}


def test_recording_a_stage_is_idempotent(directory: Path) -> None:
    stage.record("prod", "cams-prod", OUTPUTS)
    before = {one.name: one.read_bytes() for one in directory.iterdir()}
    stage.record("prod", "cams-prod", OUTPUTS)
    assert {one.name: one.read_bytes() for one in directory.iterdir()} == before
