"""`make demo` adds its data to a real local run exactly once."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib.extensions import has
from infra.demo import texts
from infra.local.children import ROOT
from tests import extensions
from tests.reliability.runs import SECONDS, Run, ask, begin, end, free_port
from tests.selection import whole

extensions.require("console", "reports")

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


def test_it_fills_the_run_once(run: Run) -> None:
    ran = demonstrate(run.directory, "--conversations", "25")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Two agents with 25 conversations and 65 visitors" in ran.stdout
    assert "cams_" not in ran.stdout.replace("infra.cams", "")
    assert {agent["id"] for agent in data(run, "/v3/agents")} == {*texts.AGENTS}
    now = int(time.time())
    path = f"/v3/orgs/{texts.ORGANISATION}/analytics?from={now - 91 * 86_400}&to={now}"
    report = data(run, path)
    assert (report["totals"]["conversations"], report["totals"]["newVisitors"]) == (25, 65)
    again = demonstrate(run.directory, "--conversations", "99")
    assert again.returncode == 0
    assert "The demonstration data already exists; nothing was added." in again.stdout
    assert data(run, path)["totals"] == report["totals"]
    assert run.output.count("POST") == 0


@pytest.mark.skipif(not has("feeds"), reason="The bot reads a pull endpoint.")
def test_the_bot_answers_a_visitor_until_it_is_interrupted(run: Run) -> None:
    assert demonstrate(run.directory, "--conversations", "25").returncode == 0
    command = [sys.executable, "-m", "infra.demo.bot", "--state", str(run.directory)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as bot:
        assert bot.stdout is not None
        deadline = threading.Timer(SECONDS, bot.kill)
        deadline.start()
        lines = [bot.stdout.readline()]
        while not lines[-1].startswith("  Bot: ") or "Shall I find you a person?" not in lines[-1]:
            lines.append(bot.stdout.readline())
            assert lines[-1]
        guest = data(run, f"/v3/agents/{texts.HOTEL}/convos/demo-guest")
        second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        bot.send_signal(signal.SIGINT)
        lines += bot.stdout.readlines()
        deadline.cancel()
    assert bot.returncode == 0
    assert guest["origin"] == "web-chat"
    assert "Stopped the bot. The next `make demo` continues where it stopped." in lines[-1]
    output = "".join(lines)
    assert "cams_" not in output and "Traceback" not in output
    assert output.count("  Bot: ") > 2
    assert f"/convos/{texts.HOTEL}/demo-guest" in output
    assert second.stderr == "Error: The bot is already running in another terminal.\n"
    assert run.output.count("/events") == 0


def test_without_a_run_it_names_the_command_that_starts_it(tmp_path: Path) -> None:
    ran = demonstrate(tmp_path / "state")
    assert ran.returncode == 1
    assert "Start `make run` in another terminal first." in ran.stderr
    assert "Traceback" not in ran.stderr
