"""The sending process, on its own core. It reads one command per line and answers with one line.

The commands are the functions of the other modules.
"""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CORE, RECEIVERS_CORE = 0, 1


class Sender:
    """The running process; `running` starts it."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def ask(self, module: str, function: str, **arguments: Any) -> Any:
        """Call `benchmarks.fanout.<module>.<function>` in the process. Raises RuntimeError if it fails."""
        assert self._process.stdin and self._process.stdout  # noqa: S101
        self._process.stdin.write(json.dumps([module, function, arguments]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{module}.{function} failed")
        return json.loads(answer)


@contextmanager
def running(environment: Mapping[str, str] = {}) -> Iterator[Sender]:
    """Run a sending process for the duration of the block. It may send to receivers on this machine."""
    merged = {
        **os.environ,
        "AWS_DEFAULT_REGION": "us-east-1",
        "CAMS_WEBHOOK_ALLOW_PRIVATE": "1",
        **environment,
    }
    command = [sys.executable, "-m", "benchmarks.fanout.process"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=merged) as process:
        yield Sender(process)
        assert process.stdin  # noqa: S101
        process.stdin.close()


def main() -> None:
    """Answer commands until the standard input ends."""
    os.sched_setaffinity(0, {CORE})
    answers = sys.stdout
    with Path(os.devnull).open("w", encoding="utf-8") as sys.stdout:  # the product logs each delivery
        for line in sys.stdin:
            module, function, arguments = json.loads(line)
            measure = getattr(importlib.import_module(f"benchmarks.fanout.{module}"), function)
            print(json.dumps(measure(**arguments)), file=answers, flush=True)


if __name__ == "__main__":
    main()
