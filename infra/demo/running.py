"""The local run that the demonstration fills: the one that uses the state directory, or a new one."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.demo.service import Service
from infra.local import children, state
from infra.local.children import Child, RunError

_SECONDS = 120


@contextmanager
def service_of(directory: Path, port: int) -> Iterator[Service]:
    """The service of the run that uses `directory`. Without one, starts it on `port` until the end of the block."""
    lock = state.lock(directory)
    if lock is None:
        _wait(directory, None)
        yield Service(directory)
        return
    lock.close()
    (directory / "credentials.json").unlink(missing_ok=True)
    command = [sys.executable, "-m", "infra.local.run", "--port", str(port), "--state", str(directory.resolve())]
    run = children.start("run", command, children.clean_environment())
    try:
        _wait(directory, run)
        yield Service(directory)
    finally:
        children.stop([run])


def _wait(directory: Path, run: Child | None) -> None:
    """Wait until the run is ready, which its credentials show."""
    deadline = time.monotonic() + _SECONDS
    while not (directory / "credentials.json").exists():
        if run and run.process.poll() is not None:
            raise RunError(f"The service ended before it was ready ({run.exit_reason()}).")
        if time.monotonic() > deadline:
            raise RunError(f"The service was not ready after {_SECONDS} seconds.")
        time.sleep(0.05)
