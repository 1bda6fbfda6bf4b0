"""Reports count each stream change exactly once, and read only the tallies."""

import csv
import io
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chalicelib import clock, ids, queues, storage
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.extensions.reports import counts, hours
from chalicelib.extensions.reports.counts import DayRow
from chalicelib.extensions.reports.extension import QUEUE
from chalicelib.extensions.reports.functions import count_hours
from chalicelib.queues.tasks import RecountQuarter
from chalicelib.workspaces.store import NewWorkspace
from infra.operator.commands import cams
from tests.api import Api
from tests.capacity import metered
from tests.conftest import PassTime
from tests.deletion.cascades import as_record, maintain
from tests.direct_writes import put_now
from tests.engines import clear, clear_caches
from tests.followers import follow
from tests.old_agents import create_old_agent
from tests.webhooks.pipeline import Stream

Record = dict[str, Any]
REPORT = "/v3/agents/support/analytics"
STATE = "/agents/support/interact/{}/state"
# The counts other than those of first answers and ends.
UNTIMED = hours.NAMES[: hours.NAMES.index("deliveries") + 1]
# The counts without those of first answers by time.
AVERAGED = hours.NAMES[: hours.NAMES.index("endMilliseconds") + 1]
_TABLES = ("conversations", "leads", "analytics")


class Pipeline:
    """The three streams, their functions, the queue and the counting function."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.stream, self.requests, self.recounts = Stream(), list[str](), list[str]()
        send = queues.send

        def capture(queue: str, texts: Any, *rest: Any) -> None:
            if queue == QUEUE:
                self.requests += texts
            elif queue == queues.MAINTENANCE and RecountQuarter.__name__ in texts[0]:
                self.recounts += texts
            else:
                send(queue, texts, *rest)

        patch.setattr(queues, "send", capture)

    def run(self) -> None:
        """Deliver all stream records, and process count requests until none are left."""
        for table in _TABLES:
            follow(table, self.stream.read(table))
        while self.requests:
            count_again([self.requests.pop()])
        while self.recounts:
            maintain([as_record(self.recounts.pop())])


def count_again(texts: list[str]) -> None:
    records = [{"messageId": str(number), "body": text} for number, text in enumerate(texts)]
    answer = count_hours({"Records": records}, None)
    assert answer == {"batchItemFailures": []}


@pytest.fixture
def pipeline(agent_id: str, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    return Pipeline(monkeypatch)


def counts_with(**numbers: int) -> dict[str, int]:
    """Return an entry's counts. All counts that are not passed are 0."""
    return {**dict.fromkeys(hours.REPORTED, 0), **numbers}


def without_from(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "from"}


def message(ts: float, sender: str = "human") -> Record:
    return {"from": sender, "messages": [{"item": {"text": f"at {ts}"}, "ts": ts}]}


def test_a_period_whose_predecessor_is_cut_at_the_nearest_hour_says_so(api: Api, agent_id: str) -> None:
    # Lord Howe Island is at UTC+10:30 until 4 October 2026, and then at UTC+11.
    days = [clock.start_of_day(day) for day in ("2026-10-10", "2026-10-14", "2026-10-05", "2026-10-09")]
    zone = "tz=Australia/Lord_Howe"
    later, first = (f"{REPORT}?{zone}&from={start}&to={end}" for start, end in (days[:2], days[2:]))
    assert "warnings" not in api.get(later).json
    assert [one["path"] for one in api.get(first).json["warnings"]] == ["tz"]


def test_everything_that_happens_is_counted_once(api: Api, pipeline: Pipeline) -> None:
    load = {"record": "load", "countryCode": "NL", "origin": "web-chat"}
    for _ in range(2):
        assert api.post("/v2/agents/support/analytics/ann", load).status == 200
    assert api.post("/v2/agents/support/analytics/ann", {"record": "convo"}).status == 200
    turns = [message(1_000), message(1_010, "bot")]
    assert api.post(STATE.format("ann"), {"turns": turns}).status == 200
    turns = [*turns, message(1_060)]
    assert api.post(STATE.format("ann"), {"turns": turns, "metadata": {"state": "requested_chat"}}).status == 200
    assert api.post("/v3/leads", {"lead": {"agentId": "support", "name": "Ann"}}).status == 200
    # Shortening a conversation does not reduce any count.
    assert api.post(STATE.format("ann"), {"turns": turns[:2]}).status == 200
    pipeline.run()
    report = api.get(REPORT).data
    expected = counts_with(
        loads=2, newVisitors=1, conversations=1, messages=3, interactions=2, handoffs=1, leads=1, averageSeconds=60
    )
    assert without_from(report["totals"]) == expected
    assert without_from(report["series"][-1]) == expected
    assert without_from(report["previous"]) == counts_with()


@pytest.mark.parametrize(
    ("first", "last"),
    [(1.5, 10**400), (-(10**400), 0.5), (-1e308, 1e308), (10**400, 10**400 + 9)],
    ids=["later", "earlier", "floats", "integers"],
)
def test_times_beyond_all_numbers_stop_no_stream(api: Api, pipeline: Pipeline, first: float, last: float) -> None:
    """Callers, including visitors, choose message times.

    A record that the function cannot count would block its shard.
    """
    assert api.post(STATE.format("ann"), {"turns": [message(first), message(last)]}).status == 200
    pipeline.run()
    totals = api.get(REPORT).data["totals"]
    assert totals["messages"] == 2
    assert 0 <= totals["averageSeconds"] <= 30 * 24 * 3_600


def test_a_report_by_country_has_groups_and_a_table(api: Api, pipeline: Pipeline) -> None:
    for visitor, country in (("ann", "NL"), ("bo", "DE"), ("cy", "NL"), ("dee", None)):
        record = {"record": "load", **({"countryCode": country} if country else {})}
        assert api.post(f"/v2/agents/support/analytics/{visitor}", record).status == 200
    pipeline.run()
    report = api.get(f"{REPORT}?by=country&interval=month").data
    found = {group["value"]: group["totals"]["loads"] for group in report["groups"]}
    assert found == {"DE": 1, "NL": 2, "unknown": 1}
    assert report["totals"]["loads"] == 4
    answer = api.call("GET", f"{REPORT}?by=country&interval=month", None, {**api._headers, "Accept": "text/csv"})
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert answer.headers["content-type"].startswith("text/csv")
    assert Counter(row["country"] for row in rows for _ in range(int(row["loads"]))) == {"DE": 1, "NL": 2, "unknown": 1}
    assert all(row["from"].endswith("Z") for row in rows)


ACCEPTED = {
    "text/csv": True,
    "TEXT/CSV; charset=utf-8": True,
    "text/csv, */*;q=0.1": True,
    "application/json;q=0.5, text/csv": True,
    "application/json, text/csv;q=0.5": False,
    "application/json, text/csv;q=0": False,
    "text/csv;q=0": False,
    "text/csv;q=x": False,
    "text/csv-schema": False,
    "text/*": False,
    "*/*": False,
    "application/pdf": False,
    "": False,
}


def test_a_caller_that_prefers_csv_gets_a_table(api: Api, agent_id: str) -> None:
    for accept, is_csv in ACCEPTED.items():
        answer = api.call("GET", REPORT, None, {**api._headers, "Accept": accept})
        assert (answer.status, answer.headers["content-type"].startswith("text/csv")) == (200, is_csv), accept
    for path in ("/v3/analytics", "/v3/usage"):
        answer = api.call("GET", path, None, {**api._headers, "Accept": "text/csv"})
        assert (answer.status, answer.headers["content-type"].startswith("text/csv")) == (200, True)


def test_a_table_of_a_zone_of_half_hours_has_the_warning(api: Api, agent_id: str) -> None:
    csv_of = {**api._headers, "Accept": "text/csv"}
    answer = api.call("GET", f"{REPORT}?tz=Asia/Kolkata", None, csv_of)
    (warning,) = api.get(f"{REPORT}?tz=Asia/Kolkata").json["warnings"]
    assert answer.headers["warning"] == f'299 - "tz: {warning["message"]}"'
    assert "warning" not in api.call("GET", f"{REPORT}?tz=Europe/Amsterdam", None, csv_of).headers


def test_the_agents_of_an_organisation_and_of_the_workspace_are_added_up(api: Api, pipeline: Pipeline) -> None:
    for number, agent in enumerate(("support", "sales", "other"), start=1):
        assert api.post(f"/v2/agents/{agent}", {}).status == 200
        for visitor in range(number):
            assert api.post(f"/v2/agents/{agent}/analytics/v{visitor}", {"record": "load"}).status == 200
    widgets = {"name": "Acme", "widgetIDs": ["support", "sales", "sales", "gone", "not an id"]}
    assert api.post("/v2/orgs/acme", widgets).status == 200
    pipeline.run()
    assert api.get("/v3/orgs/acme/analytics").data["totals"]["loads"] == 3
    assert api.get("/v3/analytics").data["totals"]["newVisitors"] == 6
    assert api.get("/v3/orgs/unknown/analytics").status == 404
    assert api.get("/v3/agents/unknown/analytics").status == 404


def test_a_report_of_too_many_agents_is_refused(api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chalicelib.extensions.reports.report.MAX_AGENTS", 0)
    answer = api.get("/v3/analytics")
    assert (answer.status, answer.json["code"]) == (409, "TOO_MANY_AGENTS")


def test_a_report_by_a_dimension_is_of_fewer_days_of_agents(api: Api, agent_id: str) -> None:
    """A grouped report reads ten times as much data per day, but has the same timeout of 29 seconds."""
    for number in range(5):
        assert api.post(f"/v2/agents/a{number}", {}).status == 200
    year = f"from={clock.seconds() - 365 * 24 * 3_600}&interval=month"
    assert api.get(f"/v3/analytics?{year}").status == 200
    assert api.get(f"{REPORT}?{year}&by=country").status == 200
    answer = api.get(f"/v3/analytics?{year}&by=country")
    assert (answer.status, "4,000 agent-days" in answer.json["message"]) == (409, True)


def test_only_zones_of_half_hours_have_a_warning(api: Api, agent_id: str) -> None:
    assert "warnings" not in api.get(f"{REPORT}?tz=Europe/Amsterdam").json
    (warning,) = api.get(f"{REPORT}?tz=Asia/Kolkata").json["warnings"]
    assert warning["path"] == "tz"


WRONG_QUERIES = [
    ("tz=Mars/Base", "tz"),
    ("tz=Europe", "tz"),
    ("tz=../../etc/passwd", "tz"),
    ("tz=" + "A" * 65, "tz"),
    ("tz=", "tz"),
    ("interval=week", "interval"),
    ("by=user", "by"),
    ("from=2&to=1", "from"),
    ("from=0&to=40000000", "from"),
    ("from=0&to=31536000&interval=hour", "interval"),
    ("from=0&to=31536000&interval=day&by=origin", "interval"),
    ("from=x", "from"),
    ("page=1", "page"),
]


def test_a_wrong_query_is_refused_by_name(api: Api, agent_id: str) -> None:
    for query, path in WRONG_QUERIES:
        answer = api.get(f"{REPORT}?{query}")
        assert (answer.status, answer.json["issues"][0]["path"]) == (400, path), query


@pytest.mark.parametrize("query", ["from=0&to=1", "from=99999990000&to=99999999999", "to=5"])
def test_the_ends_of_time_are_reported(api: Api, agent_id: str, query: str) -> None:
    assert api.get(f"{REPORT}?{query}&tz=Pacific/Kiritimati").status == 200


def test_deletions_take_nothing_back_but_that_of_the_agent(api: Api, pipeline: Pipeline) -> None:
    assert api.post(STATE.format("ann"), {"turns": [message(1)]}).status == 200
    pipeline.run()
    assert api.delete("/v3/agents/support/convos/ann").status == 200
    pipeline.run()
    assert api.get(REPORT).data["totals"]["conversations"] == 1
    assert api.delete("/v3/agents/support").status == 200
    (left,) = storage.scan(DayRow, DayRow.agent.exists())
    assert left.period.startswith("usage#")  # only the usage remains (`deleted_usage`)


def test_a_count_after_the_deletion_of_the_agent_writes_nothing(api: Api, pipeline: Pipeline) -> None:
    assert api.post(STATE.format("ann"), {"turns": [message(1)]}).status == 200
    assert api.delete("/v3/agents/support").status == 200
    pipeline.run()
    assert [*storage.scan(DayRow, DayRow.period.startswith("counts#"))] == []


@pytest.mark.usefixtures("midday")
@pytest.mark.parametrize(
    ("most", "names", "units"),
    [
        (1_000, UNTIMED, 12),
        (1_000_000, UNTIMED, 12),
        (1_000, AVERAGED, 12),
        (1_000_000, AVERAGED, 15),
        (1_000, hours.NAMES, 15),
        (1_000_000, hours.NAMES, 20),
    ],
)
def test_a_month_of_days_costs_four_requests_whatever_was_counted(
    api: Api, workspace: NewWorkspace, agent_id: str, most: int, names: Sequence[str], units: int
) -> None:
    """Every hour in two months has random counts below `most`. Random counts do not compress."""
    now, chance, total = clock.seconds(), random.Random(most), 0
    for day in range(62):
        text = clock.iso(now - day * 24 * 3_600)[:10]
        row = DayRow(storage.join_key(workspace.workspace_id, "support"), f"counts#{text}")
        by_hour = {f"{hour:02}": [chance.randrange(most) for _ in names] for hour in range(24)}
        total += sum(numbers[0] for numbers in by_hour.values()) if 1 <= day <= 29 else 0
        counted = {number: now + int(number) * 3_600 + chance.randrange(3_600) for number in by_hour}
        row.seal({"hours": by_hour, "counted": counted})
        put_now(row)
    with metered() as meter:
        assert api.get(REPORT).data["totals"]["loads"] >= total
    assert meter.total <= 4
    assert meter.reads <= units


@pytest.mark.parametrize("moment", [0, 1_000_000, 2**48 // 1000, None])
def test_a_change_of_another_time_stops_no_stream_and_does_not_count(
    workspace: NewWorkspace, api: Api, pipeline: Pipeline, moment: int | None
) -> None:
    """Imports keep the version tags from their file, so a change may have any timestamp."""
    second = clock.seconds() + 3 * 86_400 if moment is None else moment - 1 if moment else 0
    agent = storage.join_key(workspace.workspace_id, "support")
    own = [(second, 1), (clock.seconds(), 2)]
    counts.record_changes(CountedChange(agent, ids.id_at(one * 1000, low), {"loads": 1}, {}) for one, low in own)
    pipeline.run()
    assert api.get(f"{REPORT}?to={clock.seconds() + 4 * 86_400}").data["totals"]["loads"] == 1


@pytest.mark.usefixtures("no_pauses")
def test_an_imported_workspace_begins_at_zero(
    workspace: NewWorkspace,
    api: Api,
    pipeline: Pipeline,
    pass_time: PassTime,
    tmp_path: Path,
) -> None:
    """Even changes from the last hour are not counted, although an import keeps the version tags from its file."""
    pass_time(-3_600)
    load, turns = {"record": "load", "countryCode": "NL"}, [message(1_000), message(1_010, "bot")]
    assert api.post("/v2/agents/support/analytics/ann", load).status == 200
    assert api.post(STATE.format("ann"), {"turns": turns, "metadata": {"state": "requested_chat"}}).status == 200
    assert api.post("/v3/leads", {"lead": {"agentId": "support", "name": "Ann"}}).status == 200
    file = str(tmp_path / "file")
    operate("suspend", workspace.workspace_id, "--yes")
    operate("export", workspace.workspace_id, file)
    clear()
    pass_time(3_600)
    pipeline.stream = Stream()
    operate("import", file)
    operate("resume", workspace.workspace_id)
    clear_caches()
    pipeline.run()
    assert without_from(api.get(REPORT).data["totals"]) == counts_with()
    assert api.post("/v2/agents/support/analytics/ann", load).status == 200
    pipeline.run()
    assert without_from(api.get(REPORT).data["totals"]) == counts_with(loads=1)


def operate(*command: str) -> None:
    ran = CliRunner().invoke(cams, ["workspace", *command])
    assert ran.exit_code == 0, ran.output


def test_a_change_costs_at_most_1_2_write_units(
    workspace: NewWorkspace, api: Api, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Count 300 page loads from one hour, 20 countries and 3 browsers, every 15 minutes."""
    agent = storage.join_key(workspace.workspace_id, create_old_agent(api, "sales"))
    start = clock.seconds() // 3_600 * 3_600
    changes = [
        CountedChange(
            agent,
            ids.id_at((start + number * 12) * 1000, number),
            {"loads": 1, "newVisitors": number % 2},
            {"country": f"C{number % 20}", "browser": f"B{number % 3}", "origin": "web-chat"},
        )
        for number in range(300)
    ]
    with metered() as meter:
        for quarter in range(4):
            now = start + (quarter + 1) * 900
            monkeypatch.setattr(clock, "milliseconds", lambda now=now: now * 1000)
            for begin in range(75 * quarter, 75 * (quarter + 1), 5):
                counts.record_changes(changes[begin : begin + 5])
            monkeypatch.setattr(clock, "milliseconds", lambda now=now: (now + 900) * 1000)
            while pipeline.requests:
                count_again([pipeline.requests.pop()])
    assert 300 < meter.writes <= 1.2 * 300


def test_the_operator_counts_the_hours_of_the_last_days_again(
    api: Api, pipeline: Pipeline, pass_time: PassTime
) -> None:
    assert api.post("/v2/agents/support/analytics/ann", {"record": "load"}).status == 200
    pipeline.run()
    pass_time(2 * 3_600)  # reports add up the changes of the last two hours themselves
    rows = [*storage.scan(DayRow, DayRow.document.exists() & DayRow.period.startswith("counts#"))]
    assert len(rows) == 1
    storage.delete_many(rows)
    assert api.get(REPORT).data["totals"]["loads"] == 0
    ran = CliRunner().invoke(cams, ["tallies", "recount"])
    assert (ran.exit_code, "and 1 other periods, for 1 agents" in ran.output) == (0, True)
    assert api.get(REPORT).data["totals"]["loads"] == 1
