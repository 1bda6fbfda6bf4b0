"""The command that shows what each workspace used: from the tallies, and from the lines that requests write."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chalicelib import clock, queues, storage
from chalicelib.analytics import counts
from chalicelib.analytics.hours import Happened
from chalicelib.ids import id_at
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from infra.cams import prices, request_lines
from infra.cams.commands import cams
from infra.local.request_log import Split
from tests.api import Api

DAY = 24 * 60 * 60


@pytest.fixture
def log(workspace: NewWorkspace, api: Api, agent_id: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The lines of three requests, one of them without a valid credential, and what else is in a log."""
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
    (found,) = json.loads(run("--log", str(log), "--json"))
    expected = {
        "workspace_id": workspace.workspace_id,
        **dict.fromkeys(("conversations", "messages", "interactions", "deliveries", "leads"), 0),
        "requests": 2,
        "database_requests": sum(line["requests"] for line in lines),
        "read_units": sum(line["readUnits"] for line in lines),
        "write_units": sum(line["writeUnits"] for line in lines),
        "milliseconds": sum(line["durationMs"] for line in lines),
    }
    dollars = float(found.pop("dollars"))
    assert found == expected
    assert expected["write_units"] > 0
    units = prices.units(expected["read_units"], expected["write_units"])
    assert dollars == pytest.approx(units + prices.requests(2, expected["milliseconds"] / 1000), abs=1e-6)


def test_lines_before_the_period_do_not_count(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later = clock.milliseconds() + 3 * DAY * 1000
    monkeypatch.setattr(clock, "milliseconds", lambda: later)
    assert json.loads(run("--log", str(log), "--json", "--last", "1d"))[0]["requests"] == 0
    assert json.loads(run("--log", str(log), "--json", "--last", "3d"))[0]["requests"] == 2


def test_counts_are_those_of_all_agents_and_of_none(
    workspace: NewWorkspace, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[str] = []
    monkeypatch.setattr(queues, "send", lambda queue, texts, *rest: wanted.extend(texts))
    for agent, numbers in (("support", {"messages": 3}), ("", {"deliveries": 2})):
        tag = id_at(clock.milliseconds(), 1)
        counts.record([Happened(storage.key(workspace.workspace_id, agent), tag, numbers, {})])
    for text in wanted:
        counts.recount(*json.loads(text)[:3])
    (row,) = csv.DictReader(io.StringIO(run("--log", str(log), "--csv", "--workspace", workspace.workspace_id)))
    assert (row["messages"], row["deliveries"], row["leads"]) == ("3", "2", "0")


def test_a_table_has_every_workspace(workspace: NewWorkspace, log: Path) -> None:
    quiet = workspaces.create("Quiet").workspace_id
    heading, *rows = run("--log", str(log)).splitlines()
    assert heading.split()[:3] == ["workspace", "id", "conversations"]
    assert sorted(row.split()[0] for row in rows) == sorted([workspace.workspace_id, quiet])


class Insights:
    """Logs Insights, which needs two polls."""

    def __init__(self, status: str, rows: list[dict[str, str]]) -> None:
        self.asked: dict[str, Any] = {}
        self._answers = [{"status": "Scheduled"}, {"status": "Running"}]
        results = [[{"field": name, "value": value} for name, value in row.items()] for row in rows]
        self._answers.append({"status": status, "results": results})

    def start_query(self, **asked: Any) -> dict[str, str]:
        self.asked = asked
        return {"queryId": "1"}

    def get_query_results(self, queryId: str) -> dict[str, Any]:  # noqa: N803 - the SDK's name
        return self._answers.pop(0)


def test_the_lines_of_a_stage_are_added_up_by_logs_insights(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"calls": "3", "requests": "4", "readUnits": "2.5", "writeUnits": "1", "durationMs": "70", "workspace": "w"}
    insights = Insights("Complete", [row])
    monkeypatch.setattr(storage, "sdk_client", lambda service: insights)
    monkeypatch.setattr(clock, "sleep", lambda seconds: None)
    found = request_lines.of_stage(DAY, 2 * DAY)
    assert found == {"w": {"calls": 3, "requests": 4, "readUnits": 2.5, "writeUnits": 1, "durationMs": 70}}
    assert insights.asked["logGroupName"] == "/aws/lambda/cams"
    assert (insights.asked["startTime"], insights.asked["endTime"]) == (DAY, 2 * DAY - 1)
    assert "sum(readUnits) as readUnits" in insights.asked["queryString"]


def test_a_query_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "sdk_client", lambda service: Insights("Timeout", []))
    monkeypatch.setattr(clock, "sleep", lambda seconds: None)
    ran = CliRunner().invoke(cams, ["usage"])
    assert (ran.exit_code, "ended as Timeout" in ran.output) == (1, True)


def test_a_local_run_keeps_the_lines_of_requests_in_a_file(tmp_path: Path) -> None:
    terminal, path = io.StringIO(), tmp_path / "requests.log"
    for _ in range(2):
        out = Split(terminal, path)
        for line in ('{"_aws":{}}\n', '{"level":"ERROR"}\n'):
            out.write(line)
            out.flush()
    assert terminal.getvalue() == '{"level":"ERROR"}\n' * 2
    assert path.read_text("utf-8") == '{"_aws":{}}\n' * 2
    assert path.stat().st_mode & 0o777 == 0o600
