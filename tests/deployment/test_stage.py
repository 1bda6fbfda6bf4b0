"""A deployment reads the operator's settings from `.chalice/config.json` and generates Chalice's configuration."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.deploy import stage
from infra.deploy.functions import declared_functions
from tests.deployment.test_functions import OUTPUTS

OWN: dict[str, Any] = {"environment_variables": {"OPERATORS": "1"}}


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory that contains the operator's settings: `OWN` for the stage `prod`."""
    monkeypatch.setattr(stage, "CHALICE_DIRECTORY", tmp_path)
    configure(tmp_path, OWN)
    return tmp_path


def configure(directory: Path, prod: dict[str, Any], **of_all: Any) -> None:
    config = {"version": "2.0", "app_name": "cams", "stages": {"local": {}, "prod": prod}, **of_all}
    (directory / "config.json").write_text(json.dumps(config))


def generate(project: Path, settings: dict[str, Any] = OWN) -> dict[str, Any]:
    """Generate and return the configuration of the stage `prod`."""
    stage.generate(project, "prod", "cams-prod", settings, OUTPUTS, stage.variables("cams-prod", OUTPUTS))
    config = json.loads((project / ".chalice" / "config.json").read_text())
    assert (config["version"], config["app_name"], [*config["stages"]]) == ("2.0", "cams", ["prod"])
    generated: dict[str, Any] = config["stages"]["prod"]
    return generated


def test_a_stage_gets_the_outputs_of_the_stack(tmp_path: Path) -> None:
    variables = generate(tmp_path)["environment_variables"]
    assert variables["CAMS_TABLE_PREFIX"] == "cams-prod-"
    assert variables["CAMS_ENCRYPTION_KEY"] == OUTPUTS["EncryptionKeyArn"]
    assert variables["CAMS_STREAM_LEADS"] == OUTPUTS["LeadsStream"]


def test_settings_of_an_operator_are_deployed(tmp_path: Path) -> None:
    deliver = {"reserved_concurrency": 20}
    settings = {**OWN, "lambda_architecture": "arm64", "lambda_functions": {"deliver": deliver}}
    generated = generate(tmp_path, settings)
    assert generated["environment_variables"]["OPERATORS"] == "1"
    assert generated["lambda_architecture"] == "arm64"
    assert generated["lambda_functions"]["deliver"].items() > deliver.items()


def test_every_function_gets_its_own_policy_file(tmp_path: Path) -> None:
    functions = generate(tmp_path)["lambda_functions"]
    for function in declared_functions():
        own = functions[function.name]
        assert (own["lambda_memory_size"], own["lambda_timeout"]) == (function.memory_mb, function.timeout_seconds)
        assert json.loads((tmp_path / ".chalice" / own["iam_policy_file"]).read_text())["Statement"]
    assert len([*(tmp_path / ".chalice").iterdir()]) == len(declared_functions()) + 1


def test_generating_replaces_an_earlier_configuration_and_keeps_the_state_of_chalice(tmp_path: Path) -> None:
    state = tmp_path / ".chalice" / "deployed" / "prod.json"
    state.parent.mkdir(parents=True)
    state.write_text("{}")
    stale = tmp_path / ".chalice" / "policy-prod-retired.json"
    stale.write_text("{}")
    assert generate(tmp_path, {"environment_variables": {"OLD": "1"}}) != generate(tmp_path)
    assert "OLD" not in generate(tmp_path)["environment_variables"]
    assert (state.exists(), stale.exists()) == (True, False)


def test_a_deployment_changes_no_file_of_the_checkout(
    directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = (directory / "config.json").read_bytes()
    generate(tmp_path_factory.mktemp("project"), stage.read("prod"))
    assert [one.name for one in directory.iterdir()] == ["config.json"]
    assert (directory / "config.json").read_bytes() == before


def test_a_stage_has_the_settings_of_all_stages_unless_it_has_its_own(directory: Path) -> None:
    of_all = {"lambda_architecture": "arm64", "environment_variables": {"OPERATORS": "0", "ALL": "1"}}
    configure(directory, OWN, **of_all)
    assert stage.read("prod") == {
        "lambda_architecture": "arm64",
        "environment_variables": {"OPERATORS": "1", "ALL": "1"},
    }
    assert stage.read("unknown") == of_all
    configure(directory, {"lambda_architecture": "x86_64"}, **of_all)
    assert stage.architecture(stage.read("prod")) == "x86_64"


def test_the_architecture_is_x86_64_by_default(directory: Path) -> None:
    assert stage.architecture(stage.read("prod")) == "x86_64"
