"""`chalice deploy`, `package` and `local` stop at once without what the stage needs. The tests run real processes."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infra.deploy import stage
from infra.local import children
from tests.deployment import cloud
from tests.deployment.test_functions import OUTPUTS
from tests.selection import whole

# The reloader of `chalice local` starts its own command line again.
_CHALICE = str(Path(sys.executable).with_name("chalice"))
_NO_ENGINE = {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
# Nothing listens there, so a command that continues fails, and changes no account.
_NOWHERE = {**_NO_ENGINE, "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, with the stage `rehearsal` complete."""
    copy = cloud.copy_project(tmp_path_factory.mktemp("guard") / "project", {})
    stage.generate(copy, "rehearsal", "cams-rehearsal", {}, OUTPUTS, stage.variables("cams-rehearsal", OUTPUTS))
    return copy


def chalice(project: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `chalice` to its end."""
    return subprocess.run(
        [_CHALICE, *arguments],
        cwd=project,
        env={**children.clean_environment(), **_NO_ENGINE, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def status(port: int, path: str) -> int:
    """The status of an answer, which does not repeat the credential."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers={"Authorization": "Bearer canary"})
        answer = connection.getresponse()
        assert b"canary" not in answer.read()
        return answer.status
    finally:
        connection.close()


def files(project: Path) -> set[Path]:
    return {path for path in project.rglob("*") if "__pycache__" not in path.parts}


@pytest.mark.parametrize(
    "arguments", [["deploy", "--stage", "prod"], ["package", "--stage", "prod", "out"], ["deploy"]]
)
def test_a_stage_without_tables_is_neither_deployed_nor_packaged(project: Path, arguments: list[str]) -> None:
    before = files(project)
    ran = chalice(project, *arguments)
    name = "prod" if "prod" in arguments else "dev"
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr.splitlines() == [
        f"Error: `.chalice` lacks tables, key, streams or policies of stage {name}: "
        f"run `make deploy STAGE={name}`, which puts them into build/{name}."
    ]
    assert files(project) == before


@whole
@pytest.mark.parametrize("missing", ["CAMS_TABLE_PREFIX", "CAMS_ENCRYPTION_KEY", "CAMS_STREAM_LEADS", "deliver"])
def test_each_variable_and_policy_of_the_stage_is_needed(project: Path, tmp_path: Path, missing: str) -> None:
    directory = shutil.copytree(project, tmp_path / "project", symlinks=True) / ".chalice"
    config = json.loads((directory / "config.json").read_text())
    if config["stages"]["rehearsal"]["environment_variables"].pop(missing, None) is None:
        (directory / f"policy-rehearsal-{missing}.json").unlink()
    (directory / "config.json").write_text(json.dumps(config))
    assert "make deploy STAGE=rehearsal" in chalice(directory.parent, "deploy", "--stage", "rehearsal").stderr


@pytest.mark.parametrize("autoreload", [pytest.param("--autoreload", marks=whole), "--no-autoreload"])
def test_without_an_engine_chalice_local_does_not_serve(project: Path, autoreload: str) -> None:
    ran = chalice(project, "local", autoreload, "--port", "0")
    assert ran.returncode == (0 if autoreload == "--autoreload" else 1)
    (line,) = [one for one in ran.stderr.splitlines() if one.startswith("Error")]
    assert line == ("Error: There is no local engine: run `make run`, or `set -a; . .local/environment` while it runs.")
    assert "Serving on" not in ran.stdout + ran.stderr


@whole
@pytest.mark.parametrize("autoreload", ["--autoreload", "--no-autoreload"])
def test_with_an_engine_chalice_local_serves_and_prints_no_path(project: Path, tmp_path: Path, autoreload: str) -> None:
    def output() -> str:
        return (tmp_path / "output").read_text()

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (tmp_path / "output").open("wb") as printed:
        serving = subprocess.Popen(
            [_CHALICE, "local", autoreload, "--port", str(port)],
            cwd=project,
            env={**children.clean_environment(), **_NOWHERE, "PYTHONUNBUFFERED": "1"},
            stdout=printed,
            stderr=printed,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 30
        while "Serving on" not in output():
            assert serving.poll() is None and time.monotonic() < deadline, output()
            time.sleep(0.05)
        statuses = [status(port, path) for path in ("/v3/agents/canary@x.test?canary=1", "/unknown/canary")]
        assert statuses == [401, 404]
        while "(no route)" not in output():
            assert time.monotonic() < deadline, output()
            time.sleep(0.05)
        assert '"GET /v3/agents/{agent_id}" 401' in output()
        assert "canary" not in output()
    finally:
        os.killpg(serving.pid, signal.SIGKILL)
        serving.wait()


@whole
def test_a_complete_stage_is_packaged(project: Path, tmp_path: Path) -> None:
    (project / "requirements.txt").write_text("")
    ran = chalice(project, "package", "--stage", "rehearsal", str(tmp_path / "out"))
    assert ran.returncode == 0, ran.stderr
    assert OUTPUTS["LeadsStream"] in (tmp_path / "out" / "sam.json").read_text()


@pytest.mark.parametrize("arguments", [["delete"], pytest.param(["gen-policy"], marks=whole)])
def test_other_commands_need_nothing(project: Path, arguments: list[str]) -> None:
    ran = chalice(project, *arguments)
    assert (ran.returncode, "make deploy" in ran.stderr) == (0, False), ran.stderr


@whole
def test_url_asks_for_the_record_of_a_deployment(project: Path) -> None:
    assert "Could not find a record of a Rest API" in chalice(project, "url").stderr


def test_a_function_does_not_import_the_guard() -> None:
    code = "import app, sys; print(sorted({'chalice_guard', 'click'} & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=children.ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
