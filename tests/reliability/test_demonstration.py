"""`make demo` on a real local run: it fills it once, prints the webhooks of live conversations, and cleans up."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.demo import texts
from infra.local.children import ROOT
from tests.builders import webhook_body
from tests.reliability.runs import Run, ask, begin, end, free_port, listens
from tests.selection import whole

pytestmark = [pytest.mark.engine, whole]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    started = begin(tmp_path_factory.mktemp("demonstration") / "state", free_port())
    yield started
    end(started, signal.SIGINT)


def demonstrate(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "infra.demo", "--state", str(directory), *options]
    return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def data(run: Run, path: str) -> Any:
    status, answer = ask(run, "GET", path, run.credentials["workspace_key"])
    assert status == 200, answer
    return answer["data"]


def test_it_fills_the_run_that_is_there_and_prints_webhooks(run: Run) -> None:
    left_behind = webhook_body("http://127.0.0.1:9/cams-demonstration")
    assert ask(run, "POST", "/v3/webhooks", run.credentials["workspace_key"], left_behind)[0] == 200
    ran = demonstrate(run.directory, "--conversations", "25", "--seconds", "8")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Two agents with 25 conversations, 65 visitors and their leads" in ran.stdout
    assert len(re.findall(r"^\d\d:\d\d:\d\d  message_received  Harbour", ran.stdout, re.MULTILINE)) >= 2
    assert "cams_" not in ran.stdout.replace("infra.cams", "")
    assert {one["id"] for one in data(run, "/v3/agents")} == {*texts.AGENTS}
    now = int(time.time())
    report = data(run, f"/v3/orgs/{texts.ORGANISATION}/analytics?from={now - 91 * 86_400}&to={now}")
    assert (report["totals"]["conversations"], report["totals"]["newVisitors"]) == (25, 65)
    assert data(run, "/v3/webhooks") == []
    # Its requests would hide the webhooks, if it has started the run. The only one is of this test.
    assert run.output.count("POST") == 1


def test_it_adds_nothing_to_its_history_again(run: Run) -> None:
    demonstrate(run.directory, "--conversations", "25", "--seconds", "0")
    before = [data(run, f"/v3/agents/{agent}/analytics") for agent in texts.AGENTS]
    ran = demonstrate(run.directory, "--conversations", "99", "--seconds", "0")
    assert ran.returncode == 0
    assert "The demonstration data is there already; nothing was added." in ran.stdout
    assert [data(run, f"/v3/agents/{agent}/analytics") for agent in texts.AGENTS] == before


def test_without_a_run_it_starts_one_until_its_end(tmp_path: Path) -> None:
    port = free_port()
    ran = demonstrate(tmp_path / "state", "--port", str(port), "--conversations", "5", "--seconds", "0")
    assert ran.returncode == 0, ran.stderr
    assert f"CAMS is ready at http://127.0.0.1:{port}" in ran.stdout
    assert "Two agents with 5 conversations" in ran.stdout
    assert not listens(port)


def test_a_port_in_use_is_one_sentence(run: Run, tmp_path: Path) -> None:
    ran = demonstrate(tmp_path / "state", "--port", str(run.port))
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr
    assert f"Port {run.port} is in use" in ran.stderr
