"""Fan-out: the deliveries per second and CPU time of one sending process, and its memory while receivers hang.

The sender and the receivers are two processes on two cores. The receivers respond after 200 ms or never. They close
each connection, because real deliveries go to many hosts. In the cloud, at most 200 processes of the function `deliver`
each have 10 deliveries in flight; the worker of the local run has 640. The cases with 200 and 800 deliveries show the
capacity of one process. They use plain HTTP, which production does not use; the memory case uses TLS.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import receiver
from benchmarks.results import OURS, Goal, Row, row
from tests.sending.receivers import certificates

SENDERS = (OURS, "sockets", "requests", "urllib3")
_LEAST_RATE = {200: 800, 800: 2_000}
_HANGING = 900
_ROUNDS = 3
_RECEIVERS_CORE = 1


def measure(quick: bool) -> list[Row]:
    """Return the rows. A quick run measures CAMS and sockets in one round."""
    return [*_rates(SENDERS[:2] if quick else SENDERS, 1 if quick else _ROUNDS), _memory()]


def _rates(senders: tuple[str, ...], rounds: int) -> Iterator[Row]:
    with receiver.running(_RECEIVERS_CORE) as port:
        for count, least in _LEAST_RATE.items():
            measured: dict[str, list[list[float]]] = {name: [] for name in senders}
            for _ in range(rounds):
                for name, figures in measured.items():
                    figures.append(_run("rate", name=name, port=port, in_flight=count))
            rates, cpu = (
                {name: statistics.median(figure[place] for figure in figures) for name, figures in measured.items()}
                for place in (0, 1)
            )
            case = f"{count} in flight"
            yield row(case, "deliveries per second", rates, Goal(">=", least))
            yield row(case, "ms of CPU per delivery", cpu, Goal("<=", 0.4))


def _memory() -> Row:
    with tempfile.TemporaryDirectory() as directory:
        issued = certificates(Path(directory), "hooks.cams.test")
        with receiver.running(_RECEIVERS_CORE, issued.leaves["good"]) as port:
            grown = _run("memory", {"SSL_CERT_FILE": str(issued.authority)}, port=port, count=_HANGING)
    return row(f"{_HANGING} hanging receivers, TLS", "MB of memory", {OURS: grown}, Goal("<=", 120))


def _run(function: str, environment: dict[str, str] | None = None, **arguments: Any) -> Any:
    """Call a function of `benchmarks.sending` in a new process, which is allowed to send to this machine."""
    command = [sys.executable, "-m", "benchmarks.sending", function, json.dumps(arguments)]
    merged = {**os.environ, "CAMS_WEBHOOK_ALLOW_PRIVATE": "1", **(environment or {})}
    return json.loads(subprocess.run(command, env=merged, stdout=subprocess.PIPE, check=True).stdout)
