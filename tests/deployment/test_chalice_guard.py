"""Each Chalice command works, is handed over to `infra.deploy`, or fails with a one-sentence error."""

import ast
import compileall
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

from infra.local import children
from tests.deployment import clones, cloud
from tests.selection import first_case, whole

# The tests run this executable, because the reloader of `chalice local` reruns its own command line.
_CHALICE = str(Path(sys.executable).with_name("chalice"))
_NO_ENGINE = {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
# No server listens at this address, so a command that gets past the guard fails without changing an account.
_NOWHERE = {**_NO_ENGINE, "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}

_REFUSED = "The engine at http://127.0.0.1:9 does not respond"

# A replacement for `.venv/bin/python` that prints the guard's command line.
_PYTHON = f"""#!{sys.executable}
import json, os, sys
if sys.argv[2] == "infra.local.install":
    sys.exit(len(os.environ.get("FAIL", "")))
print(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the project, with a `.venv` whose Python prints its command line instead of executing it."""
    settings = {"environment_variables": {"CAMS_CORS_ORIGIN": "*", "HTTPS_PROXY": "http://proxy.example"}}
    copy = cloud.copy_project(tmp_path_factory.mktemp("guard") / "project", settings)
    python = copy / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(_PYTHON)
    python.chmod(0o755)
    # The reloader of `chalice local` watches the project. It fails or restarts when Python writes bytecode there.
    compileall.compile_dir(copy, maxlevels=0, quiet=1)
    return copy


@pytest.fixture(scope="module")
def only_chalice(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the `chalice` command of an environment that contains only Chalice."""
    return str(clones.only_chalice(tmp_path_factory.mktemp("chalice") / "venv"))


def chalice(
    project: Path, *arguments: str, command: str = _CHALICE, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run `chalice` and wait until it exits."""
    return subprocess.run(
        [command, *arguments],
        cwd=project,
        env={**children.clean_environment(), **_NO_ENGINE, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def status(port: int, path: str) -> int:
    """Return a response's status. Check that the response does not repeat the credential."""
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
    ("arguments", "executed"),
    [
        (["deploy"], ["deploy", "--stage", "dev"]),
        (["deploy", "--stage", "rehearsal", "--api-gateway-stage", "rehearsal"], ["deploy", "--stage", "rehearsal"]),
        (["delete", "--stage", "rehearsal"], ["destroy", "--stage", "rehearsal"]),
    ],
)
@first_case
def test_deploy_and_delete_are_handed_over(
    project: Path, only_chalice: str, arguments: list[str], executed: list[str]
) -> None:
    before = files(project)
    ran = chalice(project, *arguments, command=only_chalice)
    assert (ran.returncode, ran.stderr) == (0, "")
    command, directory, environment = json.loads(ran.stdout)
    assert (command, directory) == (["-m", "infra.deploy", *executed], str(project))
    # Chalice adds the stage's variables to its own environment, although they are meant for the functions.
    assert not {"CAMS_CORS_ORIGIN", "HTTPS_PROXY", "AWS_CHALICE_CLI_MODE"} & environment.keys()
    assert environment["AWS_ACCESS_KEY_ID"] == "none"
    assert files(project) == before


@whole
def test_settings_that_remove_others_are_handed_over(project: Path, tmp_path: Path) -> None:
    """Check settings that Chalice reads before it imports the app."""
    copy = shutil.copytree(project, tmp_path / "project", symlinks=True)
    defaults = (
        "throttle",
        "requests_per_credential",
        "lambda_architecture",
        "python_version",
        "layers",
        "tags",
        "xray",
    )
    settings = {
        **dict.fromkeys((*defaults, "subnet_ids", "security_group_ids")),
        "environment_variables": {"OTHER": ""},
        "lambda_functions": {"deliver": None, "erase": {"reserved_concurrency": None}},
    }
    config = {"version": "2.0", "app_name": "cams", "stages": {"dev": settings}}
    (copy / ".chalice" / "config.json").write_text(json.dumps(config))
    ran = chalice(copy, "deploy")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout)[0][-1] == "dev"


def test_another_directory_and_a_profile_are_handed_over(project: Path, tmp_path: Path) -> None:
    names = {"AWS_SESSION_TOKEN": "old", "AWS_DEFAULT_PROFILE": "old", "AWS_PROFILE": "old"}
    ran = chalice(tmp_path, "--project-dir", str(project), "deploy", "--profile", "other", **names)
    _, directory, environment = json.loads(ran.stdout)
    kept = {name: value for name, value in environment.items() if name.startswith("AWS_")}
    assert (directory, kept) == (str(project), {"AWS_PROFILE": "other", "AWS_DEFAULT_REGION": "eu-west-1"})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["deploy", "--api-gateway-stage", "v1"], "The API stage is always called dev: omit "
                                                  "--api-gateway-stage."),
        (["deploy", "--autogen-policy"], "infra/deploy/functions.py declares the permissions: omit --autogen-policy."),
        (["deploy", "--connection-timeout", "9"], "A deployment sets its own timeouts: omit --connection-timeout."),
        (["package", "out"], "`chalice package` omits a stage's tables, key, streams and permissions: use "
                             "`chalice deploy`."),
        (["dev", "plan"], "`chalice dev plan` omits a stage's tables, key, streams and permissions: use "
                          "`chalice deploy`."),
        (["dev", "appgraph"], "`chalice dev appgraph` needs the project's packages: run `make install`, then "
                              "`.venv/bin/chalice`."),
        (["local"], "`chalice local` needs the project's packages: run `make install`, then `.venv/bin/chalice`."),
    ],
)  # fmt: skip
@first_case
def test_what_does_not_work_is_one_sentence(
    project: Path, only_chalice: str, arguments: list[str], sentence: str
) -> None:
    before = files(project)
    ran = chalice(project, *arguments, command=only_chalice)
    assert (ran.stdout, ran.stderr) == ("", f"Error: {sentence}\n")
    assert ran.returncode == (0 if arguments == ["local"] else 1)  # the reloader of `chalice local` exits with 0
    assert files(project) == before


def test_a_failure_of_the_set_up_ends_the_command(project: Path) -> None:
    ran = chalice(project, "deploy", FAIL="1")
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", "")


@whole
def test_without_a_supported_python_the_command_stops(project: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(project, tmp_path / "project", symlinks=True)
    shutil.rmtree(copy / ".venv")
    guard = copy / "chalice_guard.py"
    guard.write_text(guard.read_text().replace("((3, 10), (3, 14))", "((3, 99), (3, 99))"))
    ran = chalice(copy, "deploy")
    sentence = "CAMS needs Python 3.99 to 3.99: install one, then run the command again."
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", f"Error: {sentence}\n")


@whole
def test_a_built_project_is_deployed_by_infra_deploy_only(tmp_path: Path) -> None:
    """Check `chalice deploy` in `build/<stage>`, which would otherwise hand itself over endlessly."""
    built = cloud.copy_project(tmp_path / "built", {})
    shutil.rmtree(built / "infra")
    ran = chalice(built, "deploy")
    sentence = f"{built} is not a complete checkout of CAMS: run `chalice deploy` in one."
    assert (ran.returncode, ran.stderr) == (1, f"Error: {sentence}\n")
    ran = chalice(built, "deploy", CAMS_DEPLOYER="1", **_NOWHERE)
    assert "Could not connect to the endpoint URL" in ran.stderr  # Chalice's own error


def test_a_user_with_an_older_python_can_hand_over() -> None:
    """Check that the modules that Chalice imports compile on Python 3.9, because Chalice 1.32 runs there."""
    for name in ("app.py", "chalice_guard.py"):
        source = (children.ROOT / name).read_text()
        ast.parse(source, feature_version=(3, 9))
    assert "from __future__ import annotations" in source


@whole
@pytest.mark.parametrize("autoreload", ["--autoreload", "--no-autoreload"])
def test_without_an_engine_chalice_local_does_not_serve(project: Path, autoreload: str) -> None:
    for variables, reason in (({}, "There is no local engine"), (_NOWHERE, _REFUSED)):
        ran = chalice(project, "local", autoreload, "--port", "0", **variables)
        assert ran.returncode == (0 if autoreload == "--autoreload" else 1)
        (line,) = [one for one in ran.stderr.splitlines() if one.startswith("Error")]
        assert (
            line == f"Error: {reason}: start `make run`, then run `set -a; . .local/environment; set +a` in this shell."
        )
        assert "Serving on" not in ran.stdout + ran.stderr


@whole
@pytest.mark.parametrize("autoreload", ["--autoreload", "--no-autoreload"])
def test_with_an_engine_chalice_local_serves_and_prints_no_path(project: Path, tmp_path: Path, autoreload: str) -> None:
    def output() -> str:
        return (tmp_path / "output").read_text()

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # This engine only listens, because no request reaches it.
    engine = socket.create_server(("127.0.0.1", 0))
    listening = {**_NOWHERE, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{engine.getsockname()[1]}"}
    with (tmp_path / "output").open("wb") as printed:
        serving = subprocess.Popen(
            [_CHALICE, "local", autoreload, "--port", str(port)],
            cwd=project,
            env={**children.clean_environment(), **listening, "PYTHONUNBUFFERED": "1"},
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
        engine.close()


@whole
def test_a_command_without_the_app_needs_nothing(project: Path) -> None:
    ran = chalice(project, "gen-policy")
    assert (ran.returncode, ran.stderr) == (0, "")


@whole
def test_url_asks_for_the_record_of_a_deployment(project: Path) -> None:
    assert "Could not find a record of a Rest API" in chalice(project, "url").stderr


def test_a_function_does_not_import_the_guard() -> None:
    code = "import app, sys; print(sorted({'chalice_guard', 'click'} & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=children.ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
