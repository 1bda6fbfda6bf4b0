"""Sessions: concurrent writers of one conversation, through CAMS and with the frameworks' own stores.

Twenty processes add ten messages each. Messages are lost if their call has returned and the store does not contain
them; they are out of order if they follow a later message of the same writer. In the second situation, every fifth
response is lost, by the service and by DynamoDB. In the third situation, five writers are killed in their sixth call.
"""

import json
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import session_service
from benchmarks.results import Row
from benchmarks.session_network import REQUESTS
from benchmarks.session_service import Service
from benchmarks.session_table import (
    DATABASE_REQUESTS,
    DISORDERED,
    DOUBLED,
    FAILED,
    KILLS,
    LOSSES,
    LOST,
    READS,
    SECONDS,
    SERVICE_REQUESTS,
    SITUATIONS,
    WRITES,
)
from benchmarks.session_writers.stores import STORES
from infra.local.children import ROOT

_LOSE_EVERY = 5
_WRITERS, _EACH, _VICTIMS = 20, 10, [0, 4, 8, 12, 16]
_QUICK_WRITERS, _QUICK_VICTIMS = 4, [0]
_QUICK = ("CAMS: OpenAI Agents SDK", "LangChain `DynamoDBChatMessageHistory`", "OpenAI Agents SDK `SQLiteSession`")


class Load(NamedTuple):
    """The number of writers, of the messages of each, and the writers that are killed in the last situation."""

    writers: int
    each: int
    victims: Sequence[int]


def measure(quick: bool) -> list[Row]:
    """Return the rows. A quick run measures three stores with four writers."""
    load = Load(_QUICK_WRITERS, _EACH, _QUICK_VICTIMS) if quick else Load(_WRITERS, _EACH, _VICTIMS)
    cases = [
        (situation, name)
        for situation in SITUATIONS
        for name in (_QUICK if quick else STORES)
        if situation != LOSSES or STORES[name].is_server
    ]
    with tempfile.TemporaryDirectory() as directory, session_service.running(Path(directory)) as service:
        return [*rows({(situation, name): run(service, name, situation, load) for situation, name in cases})]


def rows(runs: Mapping[tuple[str, str], Mapping[str, float]]) -> Iterator[Row]:
    """Yield a row for each situation and metric from the figures of each situation and store."""
    metrics = dict.fromkeys(metric for figures in runs.values() for metric in figures)
    for situation in SITUATIONS:
        of_stores = {name: figures for (case, name), figures in runs.items() if case == situation}
        for metric in metrics:
            yield Row(situation, metric, {name: one[metric] for name, one in of_stores.items() if metric in one})


def run(service: Service, name: str, situation: str, load: Load) -> dict[str, float]:
    """Let the writers write to a new conversation, and return what happened to their messages."""
    conversation = f"shared-{SITUATIONS.index(situation)}-{[*STORES].index(name)}"
    lines = (service.requests, service.database)
    arguments = {
        "store": name,
        "directory": str(service.directory),
        "conversation": conversation,
        "writers": load.writers,
        "each": load.each,
        "victims": load.victims if situation == KILLS else [],
    }
    writers = subprocess.Popen(
        [ROOT / STORES[name].environment / "bin/python", "-m", "benchmarks.session_writers", json.dumps(arguments)],
        env=service.environment,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with writers:
        _wait_for(writers, "ready")
        for line in lines:
            line.counts.clear()
            line.lose_every = _LOSE_EVERY if situation == LOSSES else 0
        _wait_for(writers, "written", "\n")
        requests, database = (line.counts.copy() for line in lines)
        for line in lines:
            line.lose_every = 0
        output, _ = writers.communicate("\n")
    if writers.returncode:
        raise RuntimeError(f"{name}: the writers failed")
    outcome = json.loads(output)
    figures = fates(outcome["reports"], outcome["stored"]) | {SECONDS: outcome["seconds"]}
    if STORES[name].is_server:
        figures |= _costs(requests, database, sum(event == "returned" for _, _, event, _ in outcome["reports"]))
    return figures


def fates(reports: Sequence[Any], stored: Sequence[Sequence[int]]) -> dict[str, float]:
    """Return how many messages were lost, doubled and out of order, and how many calls failed.

    `reports` are the writers' reports, and `stored` the writer and number of each stored message.
    """
    copies = Counter((writer, number) for writer, number in stored)
    returned = {(writer, number) for writer, number, event, _ in reports if event == "returned"}
    failed = [event for _, _, event, _ in reports if event not in ("begun", "returned")]
    highest: defaultdict[int, int] = defaultdict(lambda: -1)
    disordered = 0
    for writer, number in dict.fromkeys((writer, number) for writer, number in stored):
        disordered += number < highest[writer]
        highest[writer] = max(number, highest[writer])
    return {
        LOST: len(returned - copies.keys()),
        DOUBLED: sum(count - 1 for count in copies.values()),
        DISORDERED: disordered,
        FAILED: len(failed),
    }


def _costs(requests: Mapping[str, float], database: Mapping[str, float], returned: int) -> dict[str, float]:
    """Return the mean requests and units of a call that has returned."""
    figures = {DATABASE_REQUESTS: database[REQUESTS], READS: database[READS], WRITES: database[WRITES]}
    if REQUESTS in requests:
        figures = {SERVICE_REQUESTS: requests[REQUESTS], **figures}
    return {metric: figure / returned for metric, figure in figures.items()}


def _wait_for(writers: "subprocess.Popen[str]", line: str, answer: str = "") -> None:
    """Answer the writers' last line, and wait for the next."""
    if writers.stdin is None or writers.stdout is None:
        raise ValueError("the writers have no pipes")
    writers.stdin.write(answer)
    writers.stdin.flush()
    if writers.stdout.readline().strip() != line:
        raise RuntimeError("the writers failed")
