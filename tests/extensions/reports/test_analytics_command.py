"""`infra.cams analytics` draws a fixed report correctly, and prints the same figures as the API."""

import io
import json
from datetime import timezone, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner
from rich.console import Console

from chalicelib import clock
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.extensions.reports import counts
from chalicelib.extensions.reports.deploy import drawing
from chalicelib.ids import new_id
from chalicelib.workspaces.store import NewWorkspace
from infra.operator.commands import cams
from tests.api import Api
from tests.conftest import PassTime

DAY = 86_400
NAMES = ("loads", "newVisitors", "conversations", "messages", "interactions", "handoffs", "leads")


def entry(start: int, *values: int, **others: int) -> dict[str, int]:
    return {"from": start, **dict(zip(NAMES, values, strict=True)), **others}


REPORT = {
    "series": [entry(number * DAY, number, 0, 8 - number, 0, 0, 0, 0) for number in range(9)],
    "totals": entry(0, 36, 0, 36, 1_234, 0, 1, 5, averageSeconds=125, averageFirstAnswerSeconds=61),
    "previous": entry(0, 30, 0, 40, 1_234, 0, 2, 0, averageSeconds=100),
}
GROUPS = {
    "country": [
        {"value": "NL", "totals": entry(0, 9, 0, 1, 0, 0, 0, 0)},
        {"value": "\x1b[31mDE", "totals": entry(0, 27, 0, 1, 0, 0, 0, 0)},
        *({"value": f"{number}", "totals": entry(0, 0, 0, 0, 0, 0, 0, 0)} for number in range(9)),
    ]
}
DRAWING = """\
Support, the last 9 days
                Total  Before  Change  Trend
Page loads         36      30    +20%   ▁▂▃▄▅▆▇█
New visitors        0       0       –
Conversations      36      40    -10%  █▇▆▅▄▃▂▁
Messages        1,234   1,234     ±0%
Interactions        0       0       –
Handoffs            1       2    -50%
Leads               5       0     new
Average length   2:05    1:40    +25%
First answer     1:01       –     new
Each mark is a day, from 1970-01-01 to 1970-01-09.

Page loads by country
?[31mDE                  27  75%  ████████████████████████████████████
NL                        9  25%  ████████████
"""


def draw(report: Any, groups: Any, zone: tzinfo = timezone.utc, width: int = drawing.WIDTH, **terminal: Any) -> str:
    output = io.StringIO()
    Console(file=output, width=width, highlight=False, **terminal).print(
        drawing.draw("Support, the last 9 days", report, groups, zone, width)
    )
    return output.getvalue()


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def test_a_report_is_drawn_with_totals_changes_sparklines_and_bars() -> None:
    assert lines(draw(REPORT, GROUPS)) == DRAWING.splitlines()


def test_a_terminal_gets_colours_unless_it_asks_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[36m" in draw(REPORT, GROUPS, force_terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[36m" not in draw(REPORT, GROUPS, force_terminal=True)


def test_a_year_fits_eighty_columns() -> None:
    series = [entry(number * DAY, *[10_000_000] * 7) for number in range(366)]
    report = {"series": series, "totals": entry(0, *[10**9] * 7), "previous": entry(0, *[1] * 7)}
    text = draw(report, {"origin": [{"value": "x" * 40, "totals": report["totals"]}]})
    assert max(map(len, text.splitlines())) <= drawing.WIDTH
    assert "Each mark is 12 days" in text
    assert len(drawing.sparkline([1] * 366, 12)) == 31


@pytest.mark.parametrize(
    ("now", "before", "printed"),
    [
        (99_999_999, 99_999_999, ("99,999,999", "±0%")),
        (99_999_999, 1_000_000, ("1,000,000", "+9900%")),
        (99_999_999, 100_000, ("100,000", "+99900%")),
        (10**9 + 10**7, 1, ("1.01e+09", "+1e+11%")),
        (10**15, 10**15, ("1e+15", "±0%")),
    ],
)
def test_no_number_is_cut(now: int, before: int, printed: tuple[str, ...]) -> None:
    """A truncated number would look like another, smaller number."""
    series = [entry(number * DAY, *[1] * 7) for number in range(31)]
    report = {"series": series, "totals": entry(0, *[now] * 7, averageSeconds=2_592_000)}
    text = draw({**report, "previous": entry(0, *[before] * 7)}, {"origin": [{"value": "x", **report}]})
    assert "…" not in text and all(part in text for part in (*printed, "43200:00", "█" * 31))


@pytest.mark.parametrize(("width", "has_trend"), [(80, True), (60, True), (56, True), (55, False), (47, False)])
def test_a_narrow_terminal_has_shorter_lines(width: int, has_trend: bool) -> None:
    text = draw(REPORT, GROUPS, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text and ("Trend" in text, "Each mark" in text) == (has_trend, has_trend)
    assert len([line for line in text.splitlines() if line.startswith(tuple(drawing._LABELS.values()))]) == 7 + 1


def test_the_width_is_that_of_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, width in (("200", 80), ("60", 60)):
        monkeypatch.setenv("COLUMNS", columns)
        assert drawing.width_of_terminal() == width


def scale(*starts: int, zone: str = "UTC") -> str:
    report = {**REPORT, "series": [entry(start, 1, 0, 0, 0, 0, 0, 0) for start in starts]}
    return next(line for line in lines(draw(report, {}, ZoneInfo(zone))) if line.startswith("Each mark"))


def test_dates_are_those_of_the_zone() -> None:
    first = 1_774_566_000  # midnight on 27 March 2026 in Amsterdam
    days = (first, first + DAY, first + 2 * DAY, first + 3 * DAY - 3_600)  # the third day has 23 hours
    assert scale(*days, zone="Europe/Amsterdam") == "Each mark is a day, from 2026-03-27 to 2026-03-30."
    hours = "Each mark is an hour, from 2026-03-27 00:00 to 2026-03-27 01:00."
    assert scale(first, first + 3_600, zone="Europe/Amsterdam") == hours
    nearest = first - 5 * 3_600  # 18:00 UTC; midnight in Nepal is at 18:15 UTC
    assert scale(nearest, nearest + DAY, zone="Asia/Kathmandu") == "Each mark is a day, from 2026-03-27 to 2026-03-28."


def test_texts_of_callers_are_no_markup_and_no_control_sequences() -> None:
    report = REPORT | {"totals": entry(0, 1, 0, 0, 0, 0, 0, 0)}
    output = io.StringIO()
    groups = {"browser": [{"value": "[/x][red]y", "totals": report["totals"]}]}
    Console(file=output, width=drawing.WIDTH).print(drawing.draw("\x1b]0;x\x07 [b]", report, groups, timezone.utc))
    assert "?]0;x? [b]" in output.getvalue() and "[/x][red]y" in output.getvalue()
    assert "\x1b" not in output.getvalue()


def test_an_agent_without_counts_has_a_sentence_instead() -> None:
    nothing = entry(0, *[0] * 7)
    text = draw({"series": [nothing], "totals": nothing, "previous": nothing}, {"origin": []})
    assert lines(text) == [
        "Support, the last 9 days",
        "Nothing was counted in this period. A change is counted within seconds.",
    ]


@pytest.mark.parametrize(
    ("now", "before", "printed"),
    [(0, 0, "–"), (3, 0, "new"), (0, 3, "-100%"), (1_001, 1_000, "±0%"), (20, 1, "+1900%")],
)
def test_a_change_is_in_per_cent(now: int, before: int, printed: str) -> None:
    assert drawing.change(now, before) == printed


@pytest.fixture
def agent_with_counts(api: Api, workspace: NewWorkspace, pass_time: PassTime) -> Api:
    """Return the API of a workspace whose agent had three page loads an hour ago."""
    api.post("/v3/agents", {"agent": {"title": "Support"}})
    agent = api.get("/v3/agents").data[0]["id"]
    hour = clock.seconds() // 3_600 * 3_600
    key = f"{workspace.workspace_id}#{agent}"
    counts.record_changes(
        CountedChange(key, new_id(), {"loads": 1}, {"origin": "web-chat", "country": "NL"}) for _ in range(3)
    )
    pass_time(3_600)
    counts.recount(key, hour, clock.seconds())
    return api


def command(*arguments: str) -> str:
    ran = CliRunner().invoke(cams, ["analytics", *arguments])
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_the_command_shows_what_the_api_answers(agent_with_counts: Api, tmp_path: Path) -> None:
    agent = agent_with_counts.get("/v3/agents").data[0]["id"]
    data = agent_with_counts.get(f"/v3/agents/{agent}/analytics?by=origin").data
    report = json.loads(command("--agent", agent, "--by", "origin", "--json"))
    assert report["totals"] == data["totals"] and report["totals"]["loads"] == 3
    assert report["series"] == data["series"]
    assert report["groups"] == {"origin": data["groups"]}
    text = command("--agent", agent, "--last", "7d")
    assert lines(text)[0] == "Support, the last 7 days"
    assert "Page loads by country" in text and "\x1b" not in text
    assert lines(command("--agent", agent, "--last", "36h"))[0] == "Support, the last 36 hours"
    assert lines(command("--agent", agent, "--last", "90m"))[0] == "Support, the last 90 minutes"
    ran = CliRunner().invoke(cams, ["analytics", "--agent", agent, "--tz", "Asia/Kathmandu"])
    assert (ran.exit_code, "nearest hour" in ran.stderr, "nearest hour" in ran.stdout) == (0, True, False)
    refused = CliRunner().invoke(cams, ["analytics", "--agent", agent, "--svg", str(tmp_path / "none" / "report.svg")])
    assert refused.exit_code == 1 and isinstance(refused.exception, SystemExit)
    command("--agent", agent, "--svg", str(tmp_path / "report.svg"))
    assert "<svg" in (tmp_path / "report.svg").read_text("utf-8")


def test_the_command_refuses_unknown_agents_and_zones(agent_with_counts: Api) -> None:
    for arguments in (["--agent", "nobody"], ["--agent", "nobody", "--tz", "Nowhere"], []):
        ran = CliRunner().invoke(cams, ["analytics", *arguments])
        assert ran.exit_code and "Traceback" not in ran.output
