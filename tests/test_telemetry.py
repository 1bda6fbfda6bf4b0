"""Logs and metrics are JSON lines that an operator can search, without customer data or secrets."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from chalice.local import LambdaContext

from chalicelib import telemetry
from chalicelib.agents import store as agents
from chalicelib.webhooks import functions
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import state_body, webhook_body
from tests.webhooks.conftest import inbox, stream  # noqa: F401 - the fixtures
from tests.webhooks.pipeline import Inbox, Stream, take

STATE = "/agents/support/interact/ann@x.test/state"
Lines = Callable[[], list[Any]]


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Lines:
    """Return a function that parses the lines since its last call. Each line must be JSON."""
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_request_logs_one_line_with_its_route_status_and_cost(
    api: Api, agent_id: str, workspace: NewWorkspace, lines: Lines
) -> None:
    api.post("/v3/agents/support/convos", {"conversation": {}})  # this read caches the workspace's retention
    lines()
    answer = api.post(STATE, state_body("Hello"))
    (line,) = lines()
    metrics = line.pop("_aws")
    assert isinstance(line.pop("durationMs"), int)
    assert line.pop("readUnits") + line.pop("writeUnits") > 0
    assert line == {
        "level": "INFO",
        "requestId": answer.headers["x-request-id"],
        "method": "POST",
        "route": "/agents/{agent_id}/interact/{user_id}/state",
        "workspace": workspace.workspace_id,
        "status": 200,
        "requests": 2,
    }
    (declared,) = metrics["CloudWatchMetrics"]
    assert (declared["Namespace"], declared["Dimensions"]) == ("cams", [[]])
    assert [one["Name"] for one in declared["Metrics"]] == ["durationMs", "readUnits", "writeUnits"]


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_refused_request_logs_a_line_with_its_id(api: Api, status: int, lines: Lines) -> None:
    callers = {400: api, 401: Api(), 404: api}
    paths = {400: "/v3/agents?limit=0", 401: "/v3/agents", 404: "/v3/agents/unknown"}
    answer = callers[status].get(paths[status])
    (line,) = lines()
    assert (answer.status, line["status"]) == (status, status)
    assert line["requestId"] == answer.headers["x-request-id"]
    assert ("workspace" in line) == (status != 401)


def test_a_failure_logs_its_traceback_with_the_id_of_the_request(
    api: Api, agent_id: str, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents, "find_with_tools", lambda *_: 1 / 0)
    lines()
    answer = api.get("/v3/agents/support")
    failure, line = lines()
    assert (answer.status, line["status"], failure["level"]) == (500, 500, "ERROR")
    assert "ZeroDivisionError" in failure["exception"]
    assert failure["requestId"] == line["requestId"] == answer.headers["x-request-id"]


def test_no_line_contains_a_body_a_path_value_or_a_token(
    api: Api, agent_id: str, workspace: NewWorkspace, lines: Lines
) -> None:
    lines()
    api.post(STATE, state_body("Hello"))
    api.post(STATE, {"turns": "Hello"})
    printed = lines()
    assert len(printed) == 2
    for secret in ("Hello", "ann@x.test", workspace.workspace_key, workspace.workspace_secret):
        assert secret not in json.dumps(printed)


def test_a_delivery_logs_a_line_with_the_id_of_its_invocation(
    api: Api,
    workspace: NewWorkspace,
    lines: Lines,
    stream: Stream,  # noqa: F811
    inbox: Inbox,  # noqa: F811
) -> None:
    created = api.post("/v3/webhooks", webhook_body(inbox.url(), "agent_created")).data
    api.post(f"/v3/webhooks/{created['id']}/test")
    lines()
    context = LambdaContext("deliver", 256)
    functions.deliver({"Records": take().records}, context)
    (line,) = lines()
    assert line.pop("deliveryMs") >= 0
    assert [one["Name"] for one in line.pop("_aws")["CloudWatchMetrics"][0]["Metrics"]] == [
        "deliveryMs",
        "failedDeliveries",
    ]
    assert line == {
        "level": "INFO",
        "requestId": context.aws_request_id,
        "workspace": workspace.workspace_id,
        "type": "webhook_test",
        "responseStatus": 200,
        "failedDeliveries": 0,
    }


def test_a_line_outside_a_request_has_no_id(lines: Lines) -> None:
    telemetry.set_request_id(None)
    telemetry.log_metrics({"failed": "Count"}, failed=1)
    (line,) = lines()
    assert {name for name in line if name != "_aws"} == {"level", "failed"}


def test_any_text_stays_in_one_line_of_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    text = 'é 😀 "\\ \n \u2028 \x00'
    telemetry.log_metrics({"failed": "Count"}, failed=1, type=text)
    logging.getLogger("chalicelib").error(text)
    printed = capsys.readouterr().out
    metrics, error = (json.loads(line) for line in printed.splitlines())
    assert printed.isascii()
    assert (metrics["type"], error["message"]) == (text, text)


def test_the_local_run_can_turn_the_lines_off(lines: Lines, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, telemetry.__name__):
        telemetry.log_metrics({"failed": "Count"}, failed=1)
    assert lines() == []


def test_each_stage_has_its_own_metrics_namespace(lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAMS_TABLE_PREFIX", "cams-prod-")
    telemetry.log_metrics({"failed": "Count"}, failed=1)
    (line,) = lines()
    assert [one["Namespace"] for one in line["_aws"]["CloudWatchMetrics"]] == ["cams-prod"]
