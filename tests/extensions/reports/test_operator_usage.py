"""The command that prints each workspace's usage, from the tallies and from request log lines."""

import csv
import io
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from chalicelib import clock, extensions, queues, settings, storage
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.extensions.reports import counts, recent_counts
from chalicelib.extensions.reports.deploy import request_lines
from chalicelib.extensions.reports.deploy import usage_command as usage
from chalicelib.ids import id_at
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from infra.deploy import template
from infra.local.request_log import SplitOutput
from infra.operator import prices
from infra.operator.commands import cams
from tests.api import Api
from tests.extensions.console.browser import Browser

DAY = 24 * 60 * 60


@pytest.fixture
def log(workspace: NewWorkspace, api: Api, agent_id: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return a log with lines for three requests (one without a valid credential) and other lines."""
    capsys.readouterr()
    assert api.post("/v2/agents/support/analytics/ann", {"record": "load"}).status == 200
    assert api.get("/v3/agents/support").status == 200
    assert Api("unknown").get("/v3/agents").status == 401
    path = tmp_path / "requests.log"
    path.write_text(f"START\n{capsys.readouterr().out}[1]\n{{}}\n" + '{"_aws": {"Timest', encoding="utf-8")
    return path


def run(*arguments: str) -> str:
    ran = CliRunner().invoke(cams, ["usage", *arguments])
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_requests_units_and_dollars_are_those_of_the_lines(workspace: NewWorkspace, log: Path) -> None:
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines() if workspace.workspace_id in line]
    assert len(lines) == 2
    (usage,) = json.loads(run("--log", str(log), "--json"))
    expected = {
        "workspace_id": workspace.workspace_id,
        **dict.fromkeys(("conversations", "messages", "interactions", "deliveries", "leads"), 0),
        "requests": 2,
        "database_requests": sum(line["requests"] for line in lines),
        "read_units": sum(line["readUnits"] for line in lines),
        "write_units": sum(line["writeUnits"] for line in lines),
        "milliseconds": sum(line["durationMs"] for line in lines),
    }
    dollars = float(usage.pop("dollars"))
    assert usage == expected
    assert expected["write_units"] > 0
    units = prices.units(expected["read_units"], expected["write_units"])
    assert dollars == pytest.approx(units + prices.requests(2, expected["milliseconds"] / 1000), abs=1e-6)


def test_the_environment_of_a_local_run_names_its_log(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAMS_REQUEST_LOG", str(log))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")

    assert usage._local_logs() == (log,)

    log.unlink()
    with pytest.raises(click.ClickException, match="does not exist: start `make run`, or choose a file with --log"):
        usage._local_logs()
    # For a deployed stage, the command does not read the local log.
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    assert usage._local_logs() == ()


@pytest.mark.skipif(not extensions.has("console"), reason="the extension console is off")
def test_requests_of_the_console_are_those_of_their_workspace(
    workspace: NewWorkspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    browser, path = Browser(workspace.workspace_id), tmp_path / "requests.log"
    assert browser.post("", {"key": workspace.workspace_key}).status == 200
    capsys.readouterr()
    assert browser.open("/analytics").status == 200
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    (found,) = json.loads(run("--log", str(path), "--json"))
    assert (found["workspace_id"], found["requests"]) == (workspace.workspace_id, 1)


def test_lines_before_the_period_do_not_count(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later = clock.milliseconds() + 3 * DAY * 1000
    monkeypatch.setattr(clock, "milliseconds", lambda: later)
    assert json.loads(run("--log", str(log), "--json", "--last", "1d"))[0]["requests"] == 0
    assert json.loads(run("--log", str(log), "--json", "--last", "3d"))[0]["requests"] == 2


def test_counts_are_those_of_all_agents_and_of_none(
    workspace: NewWorkspace, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes appear before they are counted, for any number of agents."""
    monkeypatch.setattr(queues, "send", lambda *_: None)
    for agent, numbers in (("support", {"messages": 3}), ("", {"deliveries": 2})):
        tag = id_at(clock.milliseconds(), 1)
        counts.record_changes([CountedChange(storage.join_key(workspace.workspace_id, agent), tag, numbers, {})])
    for agents_per_read in (50, 1):
        monkeypatch.setattr(recent_counts, "MAX_AGENTS", agents_per_read)
        (row,) = csv.DictReader(io.StringIO(run("--log", str(log), "--csv", "--workspace", workspace.workspace_id)))
        assert (row["messages"], row["deliveries"], row["leads"]) == ("3", "2", "0")


def test_a_table_has_every_workspace(workspace: NewWorkspace, log: Path) -> None:
    quiet = workspaces.create("Quiet").workspace_id
    heading, *rows = run("--log", str(log)).splitlines()
    assert heading.split()[:3] == ["workspace", "id", "conversations"]
    assert sorted(row.split()[0] for row in rows) == sorted([workspace.workspace_id, quiet])


class Insights:
    """A fake Logs Insights client that returns results on the third poll."""

    def __init__(self, status: str, rows: list[dict[str, str]]) -> None:
        self.query: dict[str, Any] = {}
        self._answers = [{"status": "Scheduled"}, {"status": "Running"}]
        results = [[{"field": name, "value": value} for name, value in row.items()] for row in rows]
        self._answers.append({"status": status, "results": results})

    def start_query(self, **query: Any) -> dict[str, str]:
        self.query = query
        return {"queryId": "1"}

    def get_query_results(self, queryId: str) -> dict[str, Any]:  # noqa: N803 - the SDK's name
        return self._answers.pop(0)


@pytest.mark.usefixtures("no_pauses")
def test_the_lines_of_a_stage_are_added_up_by_logs_insights(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"calls": "3", "requests": "4", "readUnits": "2.5", "writeUnits": "1", "durationMs": "70", "workspace": "w"}
    insights = Insights("Complete", [row])
    monkeypatch.setattr(storage, "sdk_client", lambda service: insights)
    found = request_lines.sum_stage(None, DAY, 2 * DAY)
    assert found == {"w": {"calls": 3, "requests": 4, "readUnits": 2.5, "writeUnits": 1, "durationMs": 70}}
    assert insights.query["logGroupName"] == "/aws/lambda/cams"
    assert (insights.query["startTime"], insights.query["endTime"]) == (DAY, 2 * DAY - 1)
    assert "sum(readUnits) as readUnits" in insights.query["queryString"]


GOOD = (
    '{"_aws":{"Timestamp":1000},"route":"/x","workspace":"w",'
    '"requests":1,"readUnits":0.5,"writeUnits":0,"durationMs":3}'
)
DAMAGED = {
    "no metrics": GOOD.replace('{"Timestamp":1000}', "5"),
    "no time": GOOD.replace('"Timestamp":1000', '"x":1'),
    "a time as text": GOOD.replace("1000", '"1000"'),
    "a time that no float has": GOOD.replace("1000", "9" * 400),
    "workspaces": GOOD.replace('"w"', '["w"]'),
    "no workspace": GOOD.replace('"w"', "null"),
    "a number as text": GOOD.replace('"durationMs":3', '"durationMs":"3"'),
    "a flag": GOOD.replace('"requests":1', '"requests":true'),
    "not a number": GOOD.replace("0.5", "NaN"),
    "infinite": GOOD.replace("0.5", "1e999"),
    "less than nothing": GOOD.replace("0.5", "-4"),
    "digits": GOOD.replace("0.5", "9" * 5_000),
    "brackets": "[" * 100_000,
    "zeros": "\0" * 50 + GOOD,
    "two in one": GOOD + GOOD,
    "half": GOOD[: len(GOOD) // 2],
    "a list": f"[{GOOD}]",
    "a text": '"workspace"',
}


def test_a_damaged_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    expected = {"calls": 2, "requests": 2, "readUnits": 1.0, "durationMs": 6}
    for name, damaged in DAMAGED.items():
        path.write_text(f"{GOOD}\n{damaged}\n{GOOD}\n", "utf-8")
        assert request_lines.sum_files([path], 0, 10) == {"w": expected}, name


@pytest.fixture
def insights(monkeypatch: pytest.MonkeyPatch, no_pauses: None) -> Insights:
    """Replace Logs Insights with a fake that returns one row."""
    row = {**dict.fromkeys(("calls", "requests", "readUnits", "writeUnits", "durationMs"), "1"), "workspace": "w"}
    made = Insights("Complete", [row])
    monkeypatch.setattr(storage, "sdk_client", lambda service: made)
    return made


def test_a_stage_has_a_log_group_of_its_own(insights: Insights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "table_prefix", lambda: "cams-prod-")
    request_lines.sum_stage(None, 0, 1)
    assert insights.query["logGroupName"] == "/aws/lambda/cams-prod"


def test_a_period_beyond_the_log_is_named_in_a_sentence(engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "milliseconds", lambda: 100 * DAY * 1000 + 5_000)
    monkeypatch.setattr(request_lines, "sum_stage", lambda *_: {})
    sentence = "The log keeps requests for 30 days, so requests before 1970-03-12T00:00:06Z are not counted."
    for last, is_said in (((), False), (("--last", "30d"), True), (("--last", "90d"), True)):
        ran = CliRunner().invoke(cams, ["usage", *last])
        assert (ran.exit_code, sentence in ran.stderr.splitlines()) == (0, is_said)
    assert {one["RetentionInDays"] for one in template.declared("AWS::Logs::LogGroup")} == {request_lines.KEPT_DAYS}


def test_a_workspace_is_asked_for_by_itself(insights: Insights) -> None:
    request_lines.sum_stage("01k", 0, 1)
    assert ' and workspace = "01k" | stats' in insights.query["queryString"]
    with pytest.raises(click.BadParameter):
        request_lines.sum_stage('w" or 1 = 1 or "', 0, 1)


@pytest.mark.usefixtures("no_pauses")
def test_more_workspaces_than_insights_answers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {**dict.fromkeys(("calls", "requests", "readUnits", "writeUnits", "durationMs"), "1"), "workspace": "w"}
    for number, is_refused in ((9_999, False), (10_000, True)):
        insights = Insights("Complete", [{**row, "workspace": str(one)} for one in range(number)])
        monkeypatch.setattr(storage, "sdk_client", lambda service, insights=insights: insights)
        with pytest.raises(click.ClickException, match="--workspace") if is_refused else nullcontext():
            assert len(request_lines.sum_stage(None, 0, 1)) == number


def test_an_unknown_workspace_is_refused(workspace: NewWorkspace, log: Path) -> None:
    ran = CliRunner().invoke(cams, ["usage", "--log", str(log), "--workspace", "unknown"])
    assert (ran.exit_code, ran.stderr.splitlines()[-1]) == (1, "Error: There is no such workspace.")


@pytest.mark.usefixtures("no_pauses")
def test_a_query_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "sdk_client", lambda service: Insights("Timeout", []))
    ran = CliRunner().invoke(cams, ["usage"])
    assert (ran.exit_code, "ended with the status Timeout" in ran.output) == (1, True)


def test_a_local_run_keeps_the_lines_of_requests_in_a_file(tmp_path: Path) -> None:
    terminal, path = io.StringIO(), tmp_path / "requests.log"
    for _ in range(2):
        out = SplitOutput(terminal, path)
        for line in ('{"_aws":{}}\n', '{"level":"ERROR"}\n'):
            out.write(line)
            out.flush()
    assert terminal.getvalue() == '{"level":"ERROR"}\n' * 2
    assert path.read_text("utf-8") == '{"_aws":{}}\n' * 2
    assert path.stat().st_mode & 0o777 == 0o600
