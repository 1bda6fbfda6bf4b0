"""Measures an idle local run's CPU time, in total and per process, as a share of one core.

On Linux, `python -m tests.local_run.idle_run` starts a run in an empty directory and measures for a minute.
`tests/reliability/test_local_worker.py` counts the requests of an idle worker.
"""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.reliability import runs

# After the start, the worker polls its queues until they are empty.
_SECONDS_TO_SETTLE = 10
_SECONDS = 60


def main() -> None:
    """Print the CPU share of each process and the total."""
    with tempfile.TemporaryDirectory() as directory:
        run = runs.begin(Path(directory), runs.free_port())
        try:
            time.sleep(_SECONDS_TO_SETTLE)
            before = {process: _cpu_seconds(process) for process in run.processes}
            time.sleep(_SECONDS)
            shares = {
                command: (_cpu_seconds(process) - before[process]) / _SECONDS
                for process, command in run.processes.items()
            }
        finally:
            runs.end(run, signal.SIGINT)
    for command, share in shares.items():
        sys.stdout.write(f"{share:7.2%}  {command[:80]}\n")
    sys.stdout.write(f"{sum(shares.values()):7.2%}  of a core in total\n")


def _cpu_seconds(process: int) -> float:
    """Return a process's user and system time since its start, in seconds."""
    after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
