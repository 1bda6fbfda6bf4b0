"""The sessions question counts what happened to each message, and CAMS keeps all of them."""

import http.client
import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from benchmarks import results, session_service, sessions
from benchmarks.session_network import REQUESTS, DatabaseLine, Line, Reply, listening
from benchmarks.session_table import (
    DISORDERED,
    DOUBLED,
    FAILED,
    FATES,
    KILLS,
    LOSSES,
    LOST,
    READS,
    SITUATIONS,
    WRITES,
)
from benchmarks.session_writers.stores import STORES
from infra.local.children import ROOT
from tests.selection import whole

OURS = "CAMS: OpenAI Agents SDK"


def test_the_results_show_that_cams_keeps_each_message_once_and_in_order() -> None:
    figures = {(row.case, row.metric): row.figures for row in results.read()["sessions"]}
    assert {case for case, _ in figures} == {*SITUATIONS}
    for case in SITUATIONS:
        names = {name for name in STORES if case != LOSSES or STORES[name].is_server}
        assert figures[case, LOST].keys() == names
        ours = {name for name in names if name.startswith("CAMS")}
        assert {figures[case, metric][name] for metric in (LOST, DOUBLED, DISORDERED) for name in ours} == {0}, case


def test_the_fate_of_each_message_is_counted() -> None:
    numbers = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    reports: list[Any] = [[*number, event, 0.0] for number in numbers for event in ("begun", "returned")]
    reports += [[1, 2, "begun", 0.0], [1, 2, "ConnectionError", 0.0], [2, 0, "begun", 0.0]]
    in_order = [[0, 0], [1, 0], [0, 1], [1, 1], [0, 2]]
    none = dict.fromkeys(FATES, 0) | {FAILED: 1}
    assert sessions.fates(reports, in_order) == none
    # The outcome of a failed call, or of the last call of a killed writer, is unknown to the writer.
    assert sessions.fates(reports, [*in_order, [1, 2], [2, 0]]) == none
    assert sessions.fates(reports, in_order[1:]) == none | {LOST: 1}
    assert sessions.fates(reports, [*in_order, [1, 0], [1, 0]]) == none | {DOUBLED: 2}
    assert sessions.fates(reports, [[0, 2], [0, 0], [0, 1], [1, 0], [1, 1]]) == none | {DISORDERED: 2}


class _Server(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received += 1  # type: ignore[attr-defined]
        self.send_response_only(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")


@pytest.fixture
def server() -> Iterator[Any]:
    """Serve empty objects and count the requests."""
    serving = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    serving.received = 0  # type: ignore[attr-defined]
    Thread(target=serving.serve_forever, daemon=True).start()
    yield serving
    serving.shutdown()
    serving.server_close()


def test_every_fifth_response_is_lost_after_the_request_has_arrived(server: Any) -> None:
    line = Line([server.server_address[1]])
    line.lose_every = 5
    outcomes = []
    with listening(line) as url:
        for _ in range(10):
            connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
            connection.request("POST", "/", b"{}")
            try:
                outcomes.append(connection.getresponse().status)
            except http.client.RemoteDisconnected:
                outcomes.append(0)
            connection.close()
    assert outcomes == [200, 200, 200, 200, 0] * 2
    assert line.counts[REQUESTS] == server.received == 10


def test_units_include_large_reads_and_failed_writes() -> None:
    line = DatabaseLine(0)

    def count(operation: str, status: int, sent: Any, answer: Any) -> None:
        headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        line.count(headers, json.dumps(sent).encode(), Reply(status, [], json.dumps(answer).encode()))

    item = {"id": {"S": "x" * 9_000}}
    count("GetItem", 200, {}, {"Item": item, "ConsumedCapacity": {"CapacityUnits": 0.5}})
    assert line.counts == {REQUESTS: 1, READS: 1.5}
    count("Query", 200, {"ConsistentRead": True}, {"Items": [item, item]})
    assert line.counts[READS] == 1.5 + 5
    count("TransactWriteItems", 200, {}, {"ConsumedCapacity": [{"CapacityUnits": 6}, {"CapacityUnits": 2}]})
    count("TransactWriteItems", 400, {}, {"__type": "com.amazonaws#TransactionCanceledException"})
    count("TransactWriteItems", 400, {}, {"__type": "com.amazonaws#ThrottlingException"})
    assert (line.counts[REQUESTS], line.counts[WRITES]) == (5, 16)


@pytest.mark.engine
@whole
@pytest.mark.skipif(
    sys.version_info < (3, 11) or not (ROOT / ".venv-frameworks").exists(),
    reason="NOT TESTED: the sessions question needs Python 3.11 and `make install-frameworks`.",
)
def test_cams_keeps_each_message_of_concurrent_writers(tmp_path: Path) -> None:
    with session_service.running(tmp_path) as service:
        for situation in (LOSSES, KILLS):
            figures = sessions.run(service, OURS, situation, sessions.Load(4, 4, [1]))
            assert {metric: figures[metric] for metric in FATES} == dict.fromkeys(FATES, 0), situation
            assert figures[WRITES] > 2
