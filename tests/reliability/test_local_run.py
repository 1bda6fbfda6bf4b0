"""`make run` from start to stop, including its files, its errors, and its data after a restart.

Each run has a separate process group, so that tests can interrupt it, kill it, and check for remaining processes.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from chalicelib import extensions
from infra.local import children
from infra.local.children import ROOT
from tests.reliability.runs import (
    SECONDS,
    Run,
    ask,
    begin,
    end,
    engine_client,
    engine_port,
    free_port,
    kill,
    listens,
    read_credentials,
)
from tests.selection import first_case, whole

pytestmark = pytest.mark.engine

_MEMBERS = ["base_url", "edge_url", "workspace_id", "workspace_key", "access_token", "workspace_secret"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Start one run, shared by all tests that do not stop it."""
    started = begin(tmp_path_factory.mktemp("run") / "state", free_port())
    yield started
    end(started, signal.SIGINT)


@pytest.fixture
def start(run: Run, tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Return a function that starts runs on copies of the first run's data. Kill their processes at the end."""
    started: list[Run] = []
    (tmp_path / "state").mkdir(mode=0o700)
    shutil.copy(run.directory / "demonstration.json", tmp_path / "state")
    # A copy of the database file alone would lack the data in the write-ahead log.
    files = [directory / "engine.sqlite" for directory in (run.directory, tmp_path / "state")]
    with closing(sqlite3.connect(files[0])) as running, closing(sqlite3.connect(files[1])) as copy:
        running.backup(copy)

    def start_here(port: int | None = None) -> Run:
        started.append(begin(tmp_path / "state", port or free_port()))
        return started[-1]

    yield start_here
    for each in started:
        kill(each)


def test_credentials_have_the_documented_members_and_only_their_owner_can_read_them(run: Run) -> None:
    url = f"http://127.0.0.1:{run.port}"

    assert list(run.credentials) == _MEMBERS
    assert (run.credentials["base_url"], run.credentials["edge_url"]) == (url, url)
    assert all(isinstance(value, str) and value for value in run.credentials.values())
    for name in ("credentials.json", "demonstration.json", "environment", "curlrc", "engine.sqlite"):
        assert stat.S_IMODE((run.directory / name).stat().st_mode) == 0o600, name


@pytest.mark.parametrize("credential", ["workspace_key", "access_token"])
def test_both_credentials_are_accepted(run: Run, credential: str) -> None:
    status, body = ask(run, "GET", "/v3/agents", run.credentials[credential])

    assert (status, body["success"]) == (200, True)


def test_an_unknown_route_is_answered_in_the_error_envelope_and_echoes_no_token(run: Run) -> None:
    status, body = ask(run, "GET", "/nope", run.credentials["workspace_key"])

    assert (status, body) == (404, {"success": False, "message": "There is no such route.", "code": "NOT_FOUND"})


def test_the_banner_is_what_a_newcomer_needs(run: Run) -> None:
    url, directory = f"http://127.0.0.1:{run.port}", run.directory
    seconds = next(iter(re.findall(r"\((\d+\.\d) s\)", run.output)), "")
    has_console = extensions.has("console")
    page = f"                {url}/console/{run.credentials['workspace_id']}\n" if has_console else ""
    mails = f"  Mails:        {directory}/mail\n" if has_console else ""
    assert run.output.startswith(
        "Starting CAMS ...\n"
        f"CAMS is ready at {url} ({seconds} s).\n"
        "\n"
        f"  In a browser: {url}/docs\n"
        f"{page}"
        f"                Authorize{', or sign in,' if page else ''} with the workspace_key in "
        f"{directory}/credentials.json\n"
        f"  In a shell:   curl -K {directory}/curlrc {url}/v3/agents\n"
        f"{mails}\n"
        f"Press Ctrl-C to stop the service. The data stays in {directory}.\n"
    )
    for name in ("credentials.json", "curlrc", *(["mail"] if has_console else [])):
        assert (directory / name).exists()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_printed_curl_works_when_pasted_and_no_secret_is_printed(run: Run) -> None:
    line = next(line for line in run.output.splitlines() if "curl " in line)
    pasted = subprocess.run(line[line.index("curl ") :], shell=True, capture_output=True, check=True, timeout=SECONDS)

    assert json.loads(pasted.stdout)["success"] is True
    for name in ("workspace_key", "access_token", "workspace_secret"):
        assert run.credentials[name] not in run.output, name


@pytest.mark.skipif(not extensions.has("reports"), reason="the extension reports has the command")
def test_usage_reads_the_log_of_this_run(run: Run) -> None:
    ask(run, "GET", "/v3/agents", run.credentials["workspace_key"])
    variables = {name: shlex.split(value)[0] for name, value in run.environment.items()}
    ran = subprocess.run(
        [sys.executable, "-m", "infra.cams", "usage", "--last", "1d", "--json"],
        cwd=ROOT,
        env=children.clean_environment() | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    (record,) = json.loads(ran.stdout)
    assert record["workspace_id"] == run.credentials["workspace_id"]
    assert record["requests"] > 0
    assert ran.stderr.splitlines()[0] == f"Requests of {run.directory}/requests.log:"


def test_the_environment_file_points_an_sdk_at_this_run(run: Run) -> None:
    assert "cams-credentials" in engine_client(run, "dynamodb").list_tables()["TableNames"]


def test_the_log_has_the_route_of_a_request_and_no_value_of_its_path(run: Run) -> None:
    key = run.credentials["workspace_key"]
    for method, path in (
        ("POST", "/v2/agents/canary-agent"),
        ("GET", "/v3/agents/canary-agent?limit=canary"),
        ("GET", "/no/canary"),
        ("DELETE", "/v3/agents/canary-unknown"),
    ):
        ask(run, method, path, key, {"title": "Support"} if method == "POST" else None)
    for line in ('"POST /v2/agents/{agent_id}" 200', '"GET (no route)" ', '"DELETE /v3/agents/{agent_id}" 404'):
        assert line in run.output
    logs = [path for path in run.directory.iterdir() if path.name in ("output", "engine.log")]
    assert len(logs) == 2
    assert not [path.name for path in logs if "canary" in path.read_text()]


@pytest.mark.parametrize(
    ("text", "status", "line"),
    [
        ("GET /v3/agents/canary malformed canary", 400, '"- (no route)" 400'),
        ("GET /v3/agents/canary HTTP/9.9", 505, '"- (no route)" 505'),
        ("\x16\x03\x01\x02 a TLS handshake with canary", 400, '"- (no route)" 400'),
        ("GET /v3/agents/canary HTTP/1.1\r\nX: " + 70_000 * "a", 431, '"GET /v3/agents/{agent_id}" 431'),
        ("GET /v3/agents/canary HTTP/1.1\r\nContent-Length: canary", None, "A request failed: ValueError at local.py:"),
    ],
)
def test_a_request_that_the_server_refuses_is_one_line_without_its_values(
    run: Run, text: str, status: int | None, line: str
) -> None:
    before = len(run.output)
    with socket.create_connection(("127.0.0.1", run.port), SECONDS) as connection:
        connection.sendall(f"{text}\r\n\r\n".encode())
        answer = connection.makefile("rb").read()
    assert str(status).encode() in answer if status else not answer
    (printed,) = run.output[before:].splitlines()
    assert line in printed
    assert "canary" not in printed


def test_responses_on_a_keep_alive_connection_do_not_wait_for_delayed_acknowledgements(run: Run) -> None:
    """Check that Nagle's algorithm is off, because it would delay each response by 40 ms."""
    key = run.credentials["workspace_key"]
    request = f"GET /v3/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n"
    seconds = []
    with (
        socket.create_connection(("127.0.0.1", run.port), SECONDS) as connection,
        connection.makefile("rb") as answer,
    ):
        for _ in range(20):
            started = time.perf_counter()
            connection.sendall(request.encode())
            length = 0
            while (line := answer.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            answer.read(length)
            seconds.append(time.perf_counter() - started)

    assert sorted(seconds)[3] < 0.03, seconds


def test_a_second_run_on_the_same_state_fails_in_one_line_and_changes_nothing(run: Run) -> None:
    error = _fail_to_start("--port", str(free_port()), "--state", str(run.directory))

    assert error == f"Another run uses {run.directory}: stop it, or choose another STATE.\n"
    assert read_credentials(run.directory) == run.credentials
    assert ask(run, "GET", "/v3/agents", run.credentials["workspace_key"])[0] == 200


def test_a_busy_port_fails_in_one_line_before_any_process_starts(run: Run, tmp_path: Path) -> None:
    error = _fail_to_start("--port", str(run.port), "--state", str(tmp_path))

    assert error == f"Port {run.port} is in use: stop the program that uses it, or choose another PORT.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


@whole
def test_ctrl_c_stops_all_processes_and_the_next_run_has_the_data(
    start: Callable[..., Run],
) -> None:
    first = start()
    token = _new_token(first)

    assert end(first, signal.SIGINT) == 0
    assert not first.processes and not listens(first.port) and not listens(engine_port(first))

    second = start()
    url = f"http://127.0.0.1:{second.port}"
    assert second.credentials == {**first.credentials, "base_url": url, "edge_url": url}
    assert engine_port(second) == engine_port(first)
    assert ask(second, "GET", "/v3/agents", token)[0] == 200


@whole
def test_killing_all_processes_or_the_supervisor_loses_no_acknowledged_write(
    start: Callable[..., Run],
) -> None:
    first = start()
    token = _new_token(first)

    os.killpg(first.process.pid, signal.SIGKILL)
    second = start(first.port)
    assert second.credentials == first.credentials
    assert ask(second, "GET", "/v3/agents", token)[0] == 200

    later = _new_token(second)
    second.process.kill()
    third = start(second.port)
    assert not second.processes
    assert [ask(third, "GET", "/v3/agents", each)[0] for each in (token, later)] == [200, 200]


@first_case
@pytest.mark.parametrize("name", ["engine", "server", "worker"])
def test_the_run_ends_with_a_message_if_one_of_its_processes_dies(start: Callable[..., Run], name: str) -> None:
    run = start()

    victim = next(pid for pid, command in run.processes.items() if f"infra.local.{name}" in command)
    os.kill(victim, signal.SIGKILL)

    assert run.process.wait(SECONDS) == 1
    assert run.output.splitlines()[-1] == f"The {name} exited (killed by signal 9), so the run stops."
    assert not run.processes


@whole
def test_invalid_credentials_are_replaced_for_the_same_workspace(
    run: Run, start: Callable[..., Run], tmp_path: Path
) -> None:
    path = tmp_path / "state" / "demonstration.json"
    stored = json.loads(path.read_text())
    path.write_text(json.dumps({**stored, "workspace_key": "rotated", "token_issued_at": 0}))

    after = start()

    replaced = {name for name in _MEMBERS[2:] if after.credentials[name] != run.credentials[name]}
    assert replaced == {"workspace_key", "access_token"}
    for name in replaced:
        assert ask(after, "GET", "/v3/agents", after.credentials[name])[0] == 200


def _fail_to_start(*options: str) -> str:
    """Start a run that must fail; return its error message."""
    failed = subprocess.run(
        [sys.executable, "-m", "infra.local.run", *options],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (failed.returncode, failed.stdout) == (1, "")
    return failed.stderr


def _new_token(run: Run) -> str:
    """Create an access token, which is an acknowledged write that a later request can verify."""
    body = {"token": {"name": "kept"}}
    status, answer = ask(run, "POST", "/v3/tokens", run.credentials["workspace_key"], body)
    assert status == 200, answer
    token: str = answer["data"]["token"]
    return token
