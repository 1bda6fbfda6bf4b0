"""The CPU time of an idle local run, as a share of one core, with the share of each of its processes.

`python -m tests.local_run.idle_run` starts a run on an empty directory and measures it for a minute, on Linux.
`tests/reliability/test_local_worker.py` counts the requests of an idle worker.
"""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.reliability import runs

# The worker polls until its queues are empty.
_SECONDS_TO_SETTLE = 10
_SECONDS = 60


def main() -> None:
    """Print a line for each process of the run, and their sum."""
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
    sys.stdout.write(f"{sum(shares.values()):7.2%}  of a core in all\n")


def _cpu_seconds(process: int) -> float:
    """The user and system time of a process since its start."""
    after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
