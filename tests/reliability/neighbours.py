"""Measures how much a misbehaving workspace delays another workspace's webhooks on a local run.

python -m tests.reliability.neighbours CASE [--seconds 30]

The command prints the seconds from commit to POST, without and with the disturbance. `CASES` lists the cases.
"""

import argparse
import itertools
import json
import math
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import receiver
from chalicelib import ids
from infra.local.children import ROOT
from tests.reliability.runs import Run, ask, begin, end, free_port

ENDPOINTS = 50
CREATED = 300
MESSAGES = 15_000
PROMOTED_MESSAGES = 4_000
_INTERVAL = 0.2
_SECONDS_TO_ARRIVE = 40


class Waits(NamedTuple):
    """The delays in seconds, and how many of the misbehaving workspace's deliveries arrived."""

    quiet: list[float]
    disturbed: list[float]
    others: int


def measure(case: str, seconds: float, directory: Path) -> Waits:
    """Start a run and measure one of `CASES`."""
    with receiver.running(core=0) as port, _running(directory) as run:
        urls = [f"http://{host}:{port}" for host in receiver.HOSTS]
        noisy, quiet = (_create_workspace(run, name) for name in ("noisy", "quiet"))
        _listen(run, quiet, f"{urls[0]}/0", "organisation_created")
        _neighbour(run, quiet, urls[0], 2)  # wait until the endpoint's host counts as fast
        before = _neighbour(run, quiet, urls[0], seconds)
        stopped = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            disturber = pool.submit(CASES[case], run, noisy, urls[1:], stopped)
            try:
                time.sleep(1)
                during = _neighbour(run, quiet, urls[0], seconds)
                others = len(_arrivals(urls[0])) - len(before) - len(during)
            finally:
                stopped.set()
            disturber.result()  # raise any exception from the disturbing thread
        return Waits(before, during, others)


def _hang(run: Run, token: str, urls: list[str], stopped: threading.Event) -> None:
    for round_ in itertools.count():
        made = [_listen(run, token, f"{url}/hangs", "organisation_created") for url in urls[:ENDPOINTS]]
        for number in range(10):
            _ask(run, token, "POST", f"/v2/orgs/noisy-{round_}-{number}", {"name": "Noisy"})
        stopped.wait(2)
        for webhook_id in made:
            _ask(run, token, "DELETE", f"/v3/webhooks/{webhook_id}")
        if stopped.is_set():
            return


def _flood(run: Run, token: str, urls: list[str], stopped: threading.Event) -> None:
    for url in urls[:ENDPOINTS]:
        _listen(run, token, f"{url}/0", "message_received")
    _ask(run, token, "POST", "/v2/agents/support", {"title": "Support"})
    turns = [{"from": "human", "messages": [{"type": "w"}] * MESSAGES}]
    _ask(run, token, "POST", "/agents/support/interact/first/state", {"turns": [{"from": "human", "messages": [{}]}]})
    time.sleep(2)  # wait until the hosts count as fast
    _ask(run, token, "POST", "/agents/support/interact/ann/state", {"turns": turns})
    stopped.wait()


def _flood_one(run: Run, token: str, urls: list[str], stopped: threading.Event) -> None:
    _listen(run, token, f"{urls[0]}/200", "message_received")
    _ask(run, token, "POST", "/v2/agents/support", {"title": "Support"})
    turns = [{"from": "human", "messages": [{"type": "w"}] * MESSAGES}]
    for round_ in itertools.count():
        _ask(run, token, "POST", f"/agents/support/interact/user-{round_}/state", {"turns": turns})
        if stopped.wait(5):
            return


def _create(run: Run, token: str, urls: list[str], stopped: threading.Event) -> None:
    _listen(run, token, f"{urls[0]}/0", "message_received")
    _ask(run, token, "POST", "/v2/agents/support", {"title": "Support"})
    state = {"turns": [{"from": "human", "messages": [{"type": "w"}]}]}

    def create(path: str) -> None:
        while True:
            try:
                _ask(run, token, "POST", path, state)
            except OSError:  # this many simultaneous connections exceed the backlog of the server's socket
                time.sleep(0.1)
            else:
                return

    with ThreadPoolExecutor(CREATED) as pool:
        for round_ in itertools.count():
            paths = [f"/agents/support/interact/user-{round_}-{number}/state" for number in range(CREATED)]
            for _ in pool.map(create, paths):
                pass
            if stopped.wait(2):
                return


def _rest(run: Run, token: str, urls: list[str], stopped: threading.Event) -> None:
    stopped.wait()


def _promote(run: Run, token: str, urls: list[str], stopped: threading.Event) -> None:
    webhook_id = _listen(run, token, f"{urls[0]}/0", "message_received")
    _ask(run, token, "POST", "/v2/agents/support", {"title": "Support"})
    path = "/agents/support/interact"
    _ask(run, token, "POST", f"{path}/first/state", {"turns": [{"from": "human", "messages": [{}]}]})
    time.sleep(2)  # wait until the host counts as fast
    _ask(run, token, "PATCH", f"/v3/webhooks/{webhook_id}", {"webhook": {"url": f"{urls[0]}/hangs"}})
    turns = [{"from": "human", "messages": [{"type": "w"}] * PROMOTED_MESSAGES}]
    _ask(run, token, "POST", f"{path}/ann/state", {"turns": turns})
    stopped.wait()


NOTHING = "nothing"
CASES: dict[str, Callable[[Run, str, list[str], threading.Event], None]] = {
    NOTHING: _rest,
    # 50 endpoints accept requests but never respond. They are continuously deleted and recreated.
    "hanging": _hang,
    # One write of 15,000 one-word messages is fanned out to 50 endpoints that respond at once.
    "flood": _flood,
    # The same write is repeated every five seconds, with one endpoint that responds after 200 ms.
    "one endpoint": _flood_one,
    # 300 conversations of one agent are created simultaneously, again and again.
    "creations": _create,
    # A host that counts as fast suddenly hangs while 4,000 messages are queued for it.
    "promoted": _promote,
}


def _neighbour(run: Run, token: str, url: str, seconds: float) -> list[float]:
    """Cause events for this number of seconds; return each event's seconds from commit to POST."""
    known, start, count = set(_arrivals(url)), time.monotonic(), 0
    begun = int(time.time() * 1000)
    names = f"quiet-{begun}"
    while time.monotonic() < start + seconds:
        _ask(run, token, "POST", f"/v2/orgs/{names}-{count}", {"name": "Quiet"})
        count += 1
        time.sleep(max(0.0, start + count * _INTERVAL - time.monotonic()))
    webhook_id = _ask(run, token, "GET", "/v3/webhooks")["data"][0]["id"]
    deadline = time.monotonic() + _SECONDS_TO_ARRIVE
    while True:
        wanted = _delivered(run, token, webhook_id, begun)
        arrived = {name: at for name, at in _arrivals(url).items() if name in wanted and name not in known}
        if len(arrived) >= count or time.monotonic() > deadline:
            break
        time.sleep(0.5)
    offset = time.time() - time.monotonic()
    waits = [at + offset - ids.timestamp_of(name) / 1000 for name, at in arrived.items()]
    return waits + [math.inf] * (count - len(waits))


def _delivered(run: Run, token: str, webhook_id: str, since: int) -> set[str]:
    """Return the ids of the events delivered to an endpoint since a time."""
    event_ids: set[str] = set()
    path = cursor = f"/v3/webhooks/{webhook_id}/deliveries?limit=100"
    while True:
        answer = _ask(run, token, "GET", cursor)
        event_ids.update(one["eventId"] for one in answer["data"] if one["createdAt"] >= since)
        if "nextCursor" not in answer:
            return event_ids
        cursor = f"{path}&cursor={answer['nextCursor']}"


@contextmanager
def _running(directory: Path) -> Iterator[Run]:
    run = begin(directory, free_port())
    try:
        yield run
    finally:
        end(run, signal.SIGINT)


def _create_workspace(run: Run, name: str) -> str:
    command = [sys.executable, "-m", "infra.cams", "workspace", "create", "--name", name, "--json"]
    made = subprocess.run(command, cwd=ROOT, env=run.environment, capture_output=True, text=True, check=True)
    token: str = json.loads(made.stdout)["workspace_key"]
    return token


def _listen(run: Run, token: str, url: str, type_: str) -> str:
    webhook = {"webhook": {"url": url, "events": [type_]}}
    found: str = _ask(run, token, "POST", "/v3/webhooks", webhook)["data"]["id"]
    return found


def _ask(run: Run, token: str, method: str, path: str, body: Any = None) -> Any:
    status, answer = ask(run, method, path, token, body)
    if status != 200:
        raise RuntimeError(f"{method} {path} returned {status}: {answer}")
    return answer


def _arrivals(url: str) -> dict[str, float]:
    with urllib.request.urlopen(f"{url}/arrivals", timeout=30) as answer:
        found: dict[str, float] = json.load(answer)
        return found


def percentile(waits: list[float]) -> float:
    """Return the 99th percentile."""
    return sorted(waits)[math.ceil(0.99 * len(waits)) - 1]


def _report(name: str, waits: list[float]) -> None:
    sys.stdout.write(
        f"{name}: {len(waits)} webhooks, median {statistics.median(waits):.3f} s, "
        f"99th percentile {percentile(waits):.3f} s, longest {max(waits):.3f} s\n"
    )


def main() -> None:
    """Measure one case and print it."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.neighbours")
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        waits = measure(options.case, options.seconds, Path(directory) / "run")
    _report("quiet", waits.quiet)
    _report("disturbed", waits.disturbed)
    sys.stdout.write(f"{waits.others:,} other requests arrived\n")


if __name__ == "__main__":
    main()
