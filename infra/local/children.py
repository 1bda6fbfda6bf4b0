"""The processes of a run: starting them so that none outlives it, waiting until they are ready, stopping
them.

Knows how the engine is started, for the run and for the tests alike; what a run consists of is `run`'s
business.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
ENGINE_PYTHON = ROOT / ".venv-engine" / "bin" / "python"
REGION = "us-east-1"
_SECONDS_TO_START = 120
_SECONDS_TO_STOP = 15


class RunError(Exception):
    """Why the run does not start or does not go on, as one sentence for the person who started it."""


@dataclass(frozen=True)
class Child:
    """A process and, when its output does not go to the terminal, the file that has it."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path | None = None

    def how_it_ended(self) -> str:
        """The last line of its log, where it ended by itself and left one."""
        code = self.process.returncode
        if code < 0:
            return f"killed by signal {-code}"
        lines = self.log.read_text(errors="replace").splitlines() if self.log else []
        return next((line for line in reversed(lines) if line.strip()), f"exit code {code}")


@dataclass(frozen=True)
class Engine(Child):
    """The running engine, its address, and what it found in its journal."""

    port: int = 0
    records: int = 0
    seconds: float = 0.0

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"


def start(
    name: str,
    command: list[str],
    environment: Mapping[str, str],
    log: Path | None = None,
    stdout: int | None = None,
) -> Child:
    """Starts a process that ends with this one: its standard input closes then, which it watches (`lifeline`)."""
    with _interrupts_held_back(), _opened(log) as stderr:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=stderr if stdout is None else stdout,
            stderr=stderr,
        )
    return Child(name, process, log)


def start_engine(state: Path, port: int = 0, *options: str) -> Engine:
    """Starts the engine on a directory and waits until it answers."""
    if not ENGINE_PYTHON.exists():
        raise RunError("The engine is not installed: `make run` and `make test` do that.")
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    command = [str(ENGINE_PYTHON), "-m", "infra.local.engine", "--until-stdin-closes"]
    command += ["--state", str(state.resolve()), "--port", str(port), *options]
    child = start("engine", command, clean_environment(), state / "engine.log", subprocess.PIPE)
    try:
        ready = json.loads(wait_until_ready(child))
    except BaseException:
        stop([child])
        raise
    return Engine(child.name, child.process, child.log, **ready)


def start_worker(state: Path, environment: Mapping[str, str]) -> Child:
    """Starts what reads streams and queues; it may be started before the tables are there."""
    command = [sys.executable, "-m", "infra.local.worker", "--state", str(state.resolve())]
    return start("worker", command, environment, stdout=subprocess.PIPE)


def wait_until_ready(child: Child) -> bytes:
    """Waits for the line with which a child says that it is ready, and returns it."""
    output = child.process.stdout
    if output is None:
        raise ValueError(f"the output of the {child.name} goes elsewhere")
    deadline = time.monotonic() + _SECONDS_TO_START
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([output], [], [], max(0.0, deadline - time.monotonic()))[0]:
            seen = f"; see {child.log}" if child.log else ""
            raise RunError(f"The {child.name} was not ready after {_SECONDS_TO_START} seconds{seen}.")
        received = os.read(output.fileno(), 1024)
        if not received:
            child.process.wait()
            raise RunError(child.how_it_ended())
        line += received
    return line


def stop(children: Iterable[Child]) -> None:
    """Ends the children one after the other, in this order; one that does not want to is killed."""
    for child in children:
        if child.process.poll() is None:
            child.process.terminate()
        try:
            child.process.wait(_SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            child.process.kill()
            child.process.wait()
        for pipe in (child.process.stdin, child.process.stdout):
            if pipe is not None:
                pipe.close()


def clean_environment() -> dict[str, str]:
    """This process's environment without what would point a child at another interpreter or at a real account."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTHON"))}


def address_of(engine_url: str) -> dict[str, str]:
    """The variables that point any AWS SDK at the engine. The engine checks no signature: these are no secrets."""
    return {
        "AWS_ENDPOINT_URL": engine_url,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": REGION,
    }


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Ctrl-C reaches every process of the terminal; children inherit the held-back state and leave it to the run."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _opened(log: Path | None) -> Iterator[IO[bytes] | None]:
    if log is None:
        yield None
        return
    with log.open("wb") as file:
        yield file
