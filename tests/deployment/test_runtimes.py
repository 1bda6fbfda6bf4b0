"""The functions' Python version: its support dates, its selection, and the package for each version."""

import json
import platform
import sys
from datetime import date, timedelta
from importlib.resources import files
from pathlib import Path

import pytest
from chalice.config import Config
from chalice.deploy.packager import LambdaDeploymentPackager

from app import app
from infra import extension_parts
from infra.deploy import chalice_process, runtimes
from infra.deploy.runtimes import RUNTIMES, Runtime
from infra.package import build, interpreters, wheels
from tests.deployment import package_runs
from tests.deployment.test_package import MAX_BYTES

_DAYS_AHEAD = 90
_PINNED = "3.12"
# Environment of a deployed function while its module is imported.
_ENVIRONMENT = {"CAMS_TABLE_PREFIX": "cams-", "CAMS_ENCRYPTION_KEY": "alias/cams", "AWS_DEFAULT_REGION": "eu-west-1"}
_MODULES = (package_runs.API, *sorted({source.handler_string.rpartition(".")[0] for source in app.event_sources}))


def endings(today: date) -> list[str]:
    """Return the versions whose support ends within 90 days."""
    soon = today + timedelta(days=_DAYS_AHEAD)
    return [
        f"{version}: {field} {day}"
        for version, runtime in RUNTIMES.items()
        for field, day in zip(Runtime._fields, runtime, strict=True)
        if day <= soon
    ]


def test_lambda_ends_no_supported_version_within_90_days() -> None:
    assert endings(date.today()) == [], "Inform the version's operators, then remove it from infra/deploy/runtimes.py."


def test_the_test_fails_90_days_before_the_first_date() -> None:
    assert endings(date(2027, 3, 31)) == []
    assert endings(date(2027, 4, 1)) == ["3.11: deprecated 2027-06-30"]


def test_the_dates_are_those_of_cfn_lint() -> None:
    listed = json.loads((files("cfnlint") / "data/AdditionalSpecs/LmbdRuntimeLifecycle.json").read_text())
    names = ("deprecated", "create-block", "update-block")
    for version, runtime in RUNTIMES.items():
        assert [str(day) for day in runtime] == [listed[f"python{version}"][name] for name in names], version


def test_no_version_is_supported_longer_than_the_default() -> None:
    assert RUNTIMES[runtimes.DEFAULT] == max(RUNTIMES.values())


def test_chalice_supports_every_version() -> None:
    assert {f"python{version}" for version in RUNTIMES} <= set(LambdaDeploymentPackager._RUNTIME_TO_ABI)


def test_a_new_stage_has_the_default() -> None:
    assert runtimes.version({}) == runtimes.DEFAULT
    assert runtimes.version({"python_version": _PINNED}) == _PINNED


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.15", "3", "python3.13"])
def test_another_version_is_refused(version: str) -> None:
    assert list(runtimes.problems({"python_version": version}, "prod")) == [
        f"The functions of stage prod cannot run on Python {version}: set its python_version in .chalice/config.json "
        "to one of 3.11, 3.12, 3.13, 3.14."
    ]
    assert not list(runtimes.problems({"python_version": _PINNED}, "prod"))


def test_a_version_that_ends_within_a_year_is_warned_of() -> None:
    settings = {"python_version": "3.11"}
    assert runtimes.warning(settings, "prod", date(2026, 6, 29)) == ""
    assert runtimes.warning(settings, "prod", date(2026, 6, 30)) == (
        "Lambda stops patching Python 3.11 on 2027-06-30, and updating its functions on 2027-08-31: set "
        '"python_version": "3.13" of stage prod in .chalice/config.json, and deploy.'
    )
    assert runtimes.warning({}, "prod", date(2026, 6, 30)) == ""


def test_chalice_deploys_the_version_of_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Config, "lambda_python_version", Config.__dict__["lambda_python_version"])
    chalice_process._pin_runtime(f"python{_PINNED}")
    assert Config.create().lambda_python_version == f"python{_PINNED}"


# ---- interpreters ---------------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Simulate a machine with only this Python, and folders for `bin`, pyenv and uv."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "uv"))
    return tmp_path


def install(path: Path, version: str, code: int = 0) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\nexit {code}\n")
    path.chmod(0o755)
    return str(path)


def test_this_python_compiles_for_its_own_version(machine: Path) -> None:
    assert interpreters.find(interpreters.VERSION) == sys.executable


@pytest.mark.parametrize(
    "place", ["bin/python3.99", "pyenv/versions/3.99.1/bin/python", "uv/cpython-3.99.1-x/bin/python"]
)
def test_a_python_of_another_version_is_found(place: str, machine: Path) -> None:
    assert interpreters.find("3.99") is None
    python = install(machine / place, "3.99")
    assert interpreters.find("3.99") == python


def test_a_command_that_is_no_such_python_is_passed_over(machine: Path) -> None:
    install(machine / "bin" / "python3.99", "", 127)  # as pyenv's command does for a version that is not selected
    assert interpreters.find("3.99") is None
    python = install(machine / "pyenv/versions/3.99.1/bin/python", "3.99")
    assert interpreters.find("3.99") == python


# ---- packages -------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=RUNTIMES)
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return an installed Python of each version, and the Lambda package for this version."""
    python = interpreters.find(request.param)
    if python is None or (sys.platform, platform.machine()) != ("linux", "x86_64"):
        pytest.skip(f"Python {request.param} is not installed, or the platform differs from Lambda's.")
    directory = tmp_path_factory.mktemp("package")
    assert build.stage(directory, wheels.LAMBDA, request.param)
    zipped = package_runs.build_zip(directory)
    assert zipped.stat().st_size < MAX_BYTES
    return python, package_runs.unzip(zipped, directory / "unzipped")


@pytest.mark.long
def test_every_function_starts_on_every_version_without_compiling(package: tuple[str, Path]) -> None:
    python, directory = package
    for module in _MODULES:
        started = package_runs.run(directory, module, [], _ENVIRONMENT, python)
        assert started.at_start["compiled"] == [], module


@pytest.mark.long
@pytest.mark.parametrize("architecture", wheels.PLATFORMS)
@pytest.mark.parametrize("version", RUNTIMES)
def test_every_package_has_wheels_of_every_version(version: str, architecture: str) -> None:
    tag = f"cpython-{version.replace('.', '')}-"
    compiled = [
        file.path
        for file in wheels.unpack_files(extension_parts.requirements(), wheels.PLATFORMS[architecture], python=version)
        if file.path.endswith(".so")
    ]
    assert [path for path in compiled if tag in path]
    assert not [path for path in compiled if "cpython-" in path and tag not in path]


@pytest.mark.long
def test_without_a_python_of_the_version_the_package_has_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreters, "find", lambda _: None)
    assert not build.stage(tmp_path, wheels.THIS_MACHINE)
    assert list((tmp_path / "vendor" / "botocore").glob("client.py"))
    assert not list(tmp_path.rglob("*.pyc"))
    directory = package_runs.unzip(package_runs.build_zip(tmp_path), tmp_path / "unzipped")
    package_runs.run(directory, package_runs.API, [], _ENVIRONMENT)
