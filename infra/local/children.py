"""The child processes of a local run: start, wait until ready, and stop. No child outlives its parent.

The local run and the tests start the engine with this module. `run` decides which processes a run consists of.
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
ENGINE_PYTHON = ROOT / ".venv-engine" / "bin" / "python"
REGION = "us-east-1"
_SECONDS_TO_START = 120
_SECONDS_TO_STOP = 15


class RunError(Exception):
    """The local run cannot start or continue. The message is a sentence for the user."""


@dataclass(frozen=True)
class Child:
    """A child process and its log file, unless the process writes to the terminal."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path | None = None

    def exit_reason(self) -> str:
        """Return why the process exited: the signal, the last log line, or the exit code."""
        code = self.process.returncode
        if code < 0:
            return f"killed by signal {-code}"
        lines = self.log.read_text(errors="replace").splitlines() if self.log else []
        return next((line for line in reversed(lines) if line.strip()), f"exit code {code}")


@dataclass(frozen=True)
class Engine(Child):
    """The running engine: its port and its credentials."""

    port: int = 0
    access_key: str = field(default="", repr=False)
    secret_key: str = field(default="", repr=False)

    @property
    def url(self) -> str:
        """The endpoint URL for an SDK."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that point an AWS SDK at the engine, including the engine's credentials."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": REGION,
        }


def start(
    name: str,
    command: list[str],
    environment: Mapping[str, str],
    log: Path | None = None,
    stdout: int | None = None,
) -> Child:
    """Start a child that stops when this process dies, because the child watches its standard input (`lifeline`)."""
    with _block_interrupts(), _open(log) as stderr:
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
    """Start the engine with a state directory and wait until the engine is ready. Raise RunError."""
    if not ENGINE_PYTHON.exists():
        raise RunError("The engine is not installed: run `make install`.")
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
    """Start the worker. The worker can start before the tables exist."""
    command = [sys.executable, "-m", "infra.local.worker", "--state", str(state.resolve())]
    return start("worker", command, environment, stdout=subprocess.PIPE)


def wait_until_ready(child: Child) -> bytes:
    """Wait until a child reports with its first output line that it is ready. Return the line.

    Raise RunError if the child exits, or after 120 seconds.
    """
    output = child.process.stdout
    if output is None:
        raise ValueError(f"the output of the {child.name} is not a pipe")
    deadline = time.monotonic() + _SECONDS_TO_START
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([output], [], [], max(0.0, deadline - time.monotonic()))[0]:
            hint = f"; see {child.log}" if child.log else ""
            raise RunError(f"The {child.name} was not ready after {_SECONDS_TO_START} seconds{hint}.")
        received = os.read(output.fileno(), 1024)
        if not received:
            child.process.wait()
            raise RunError(child.exit_reason())
        line += received
    return line


def stop(children: Iterable[Child]) -> None:
    """Stop the children one at a time, in this order. Kill any child that has not stopped after 15 seconds."""
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
    """Return the environment without variables that point at another interpreter or at an AWS account."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTHON"))}


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Block SIGINT in this process and in children started inside the block. Only the supervisor reacts to Ctrl-C."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _open(log: Path | None) -> Iterator[IO[bytes] | None]:
    if log is None:
        yield None
        return
    with log.open("wb") as file:
        yield file
