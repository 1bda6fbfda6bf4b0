"""A stage in `.chalice/config.json`: what a deployment writes down, and what it leaves alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.deploy import stage
from infra.deploy.functions import FUNCTIONS
from tests.deployment.test_functions import OUTPUTS


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stage, "CHALICE", tmp_path)
    theirs = {"environment_variables": {"THEIRS": "1"}}
    config = {"version": "2.0", "app_name": "cams", "stages": {"local": {}, "prod": theirs}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    return tmp_path


def stages(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "config.json").read_text())["stages"]


def test_a_stage_gets_what_the_stack_has_said(directory: Path) -> None:
    stage.record("prod", "cams-prod", OUTPUTS)
    variables = stages(directory)["prod"]["environment_variables"]
    assert variables["CAMS_TABLE_PREFIX"] == "cams-prod-"
    assert variables["CAMS_ENCRYPTION_KEY"] == OUTPUTS["EncryptionKeyArn"]
    assert variables["CAMS_STREAM_LEADS"] == OUTPUTS["LeadsStream"]


def test_what_an_operator_has_put_there_stays(directory: Path) -> None:
    stage.record("prod", "cams-prod", OUTPUTS)
    assert stages(directory)["prod"]["environment_variables"]["THEIRS"] == "1"
    stage.forget("prod")
    assert stages(directory)["prod"] == {"environment_variables": {"THEIRS": "1"}}


def test_every_function_gets_its_own_policy_file(directory: Path) -> None:
    stage.record("prod", "cams-prod", OUTPUTS)
    for function in FUNCTIONS:
        own = stages(directory)["prod"]["lambda_functions"][function.name]
        assert (own["lambda_memory_size"], own["lambda_timeout"]) == (function.memory, function.seconds)
        assert json.loads((directory / own["iam_policy_file"]).read_text())["Statement"]
    stage.forget("prod")
    assert [one.name for one in directory.iterdir()] == ["config.json"]


def test_the_local_stage_stays_empty_as_its_variables_would_override_the_run(directory: Path) -> None:
    stage.record("prod", "cams-prod", OUTPUTS)
    assert stages(directory)["local"] == {}


def test_writing_a_stage_twice_changes_nothing(directory: Path) -> None:
    stage.record("prod", "cams-prod", OUTPUTS)
    before = {one.name: one.read_bytes() for one in directory.iterdir()}
    stage.record("prod", "cams-prod", OUTPUTS)
    assert {one.name: one.read_bytes() for one in directory.iterdir()} == before
