"""Reports contain how long people take to answer, and how long conversations last. Each is counted exactly once."""

import csv
import io
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from chalicelib import clock, queues, storage
from chalicelib.extensions.reports import counts, hours
from chalicelib.workspaces.store import NewWorkspace
from infra.operator.commands import cams
from tests.api import Api
from tests.direct_writes import put_now
from tests.extensions.reports.test_reports import REPORT, STATE
from tests.followers import follow
from tests.old_agents import create_old_agent
from tests.webhooks.pipeline import Record, Stream

# The start of the next hour. Records are written at the real time, and changes from long before that are imported.
START = clock.seconds() // 3_600 * 3_600 + 3_600
PERIOD = f"from={START}&to={START + 7_200}"
NAMES = ("firstAnswers", "averageFirstAnswerSeconds", "ends", "averageEndSeconds")
TIMES = (*hours.ANSWER_SECONDS, hours.TIMED)
NONE = {"firstAnswers": 0, "ends": 0}
CONVERSATION = "/v3/agents/support/convos/ann"
At = Callable[[int], None]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> At:
    """Return a function that sets the clock to a number of seconds after `START`. At first, it is `START`."""

    def move(seconds: int) -> None:
        monkeypatch.setattr(clock, "milliseconds", lambda: (START + seconds) * 1_000)

    move(0)
    return move


@pytest.fixture
def stream(at: At, monkeypatch: pytest.MonkeyPatch, api: Api) -> Iterator[Stream]:
    """Return the stream of conversations. No function recounts hours, so reports add up the changes."""
    create_old_agent(api)
    monkeypatch.setattr(queues, "send", lambda *_: None)
    return Stream("conversations")


def write(api: Api, sender: str, visitor: str = "ann", **members: Any) -> None:
    message = {"from": sender, "type": "text", "item": {"text": "Hello"}}
    body = {"messages": [{**message, **members.pop("message", {})}], **members}
    assert api.post(f"/agents/support/interact/{visitor}/messages", body).status == 200


def change(api: Api, **metadata: Any) -> None:
    assert api.patch(CONVERSATION, {"conversation": metadata}).status == 200


def durations(api: Api, query: str = "") -> dict[str, int]:
    totals = api.get(f"{REPORT}?{PERIOD}{query}").data["totals"]
    return {name: totals[name] for name in NAMES if name in totals}


def times(api: Api) -> list[int]:
    """Return the counts of first answers by time, or an empty list if the report has none."""
    totals = api.get(f"{REPORT}?{PERIOD}").data["totals"]
    return [totals[name] for name in TIMES if name in totals]


def counted(api: Api, stream: Stream) -> dict[str, int]:
    follow("conversations", stream.read("conversations"))
    return durations(api)


def test_only_a_persons_first_message_after_a_request_is_the_first_answer(api: Api, stream: Stream, at: At) -> None:
    write(api, "human")
    write(api, "bot")  # no person was requested
    at(60)
    change(api, state="requested_chat")
    at(70)
    write(api, "human")
    write(api, "bot")  # no person is chatting yet
    at(90)
    change(api, state="human-chatting")
    write(api, "human", message={"type": "launch", "item": {}})  # the visitor opens the page again
    write(api, "human")
    assert counted(api, stream) == NONE
    at(160)
    write(api, "bot")
    assert counted(api, stream) == {**NONE, "firstAnswers": 1, "averageFirstAnswerSeconds": 100}
    at(500)
    write(api, "bot")
    change(api, tags=["sales"])
    assert counted(api, stream) == {**NONE, "firstAnswers": 1, "averageFirstAnswerSeconds": 100}


def test_each_request_has_a_first_answer(api: Api, stream: Stream, at: At) -> None:
    for start, wait in ((0, 100), (1_000, 300)):
        at(start)
        write(api, "human", state="requested_chat")
        at(start + wait)
        write(api, "bot", state="human-chatting")  # takes over and answers
        write(api, "bot", state="ai-chatting")
    assert counted(api, stream) == {**NONE, "firstAnswers": 2, "averageFirstAnswerSeconds": 200}


def test_an_answer_in_the_state_route_counts(api: Api, stream: Stream, at: At) -> None:
    turns = [{"from": "human", "messages": [{"mid": "1", "item": {"text": "Hello"}}]}]
    assert api.post(STATE.format("ann"), {"turns": turns, "metadata": {"state": "requested_chat"}}).status == 200
    at(30)
    turns.append({"from": "bot", "messages": [{"mid": "2", "item": {"text": "Hi, I am Noor"}}]})
    assert api.post(STATE.format("ann"), {"turns": turns, "metadata": {"state": "human-chatting"}}).status == 200
    assert counted(api, stream) == {**NONE, "firstAnswers": 1, "averageFirstAnswerSeconds": 30}


def test_a_request_that_is_repeated_before_an_answer_restarts_the_wait(api: Api, stream: Stream, at: At) -> None:
    write(api, "human", state="requested_chat")
    change(api, state="ai-chatting")
    at(100)
    change(api, state="requested_chat")
    at(110)
    write(api, "bot", state="human-chatting")
    assert counted(api, stream) == {**NONE, "firstAnswers": 1, "averageFirstAnswerSeconds": 10}


def test_a_conversation_counts_when_it_first_ends(api: Api, stream: Stream, at: At) -> None:
    write(api, "human")
    at(600)
    change(api, state="ended_chat")
    assert counted(api, stream) == {**NONE, "ends": 1, "averageEndSeconds": 600}
    at(1_000)
    change(api, tags=["sales"])
    write(api, "human", state="ai-chatting")  # the visitor reopens the conversation
    at(2_000)
    change(api, state="ended_chat")
    assert counted(api, stream) == {**NONE, "ends": 1, "averageEndSeconds": 600}


def test_a_conversation_that_is_created_after_its_end_does_not_count(api: Api, stream: Stream, at: At) -> None:
    write(api, "human", state="ended_chat")
    at(10)
    change(api, state="ai-chatting")
    assert counted(api, stream) == NONE


def test_durations_of_several_conversations_are_averaged_and_grouped(api: Api, stream: Stream, at: At) -> None:
    for number, (origin, end) in enumerate((("web-chat", 100), ("web-chat", 301), ("chatapp", 1_000))):
        body = {"turns": [], "metadata": {"origin": origin}}
        at(0)
        assert api.post(STATE.format(f"v{number}"), body).status == 200
        at(end)
        assert api.post(STATE.format(f"v{number}"), {"metadata": {"state": "ended_chat"}}).status == 200
    assert counted(api, stream) == {**NONE, "ends": 3, "averageEndSeconds": 467}
    groups = api.get(f"{REPORT}?{PERIOD}&by=origin").data["groups"]
    of_values = {group["value"]: (group["totals"]["ends"], group["totals"]["averageEndSeconds"]) for group in groups}
    assert of_values == {"web-chat": (2, 200), "chatapp": (1, 1_000)}


def test_csv_has_columns_for_durations(api: Api, stream: Stream, at: At) -> None:
    write(api, "human", state="requested_chat")
    at(40)
    write(api, "bot", state="human-chatting")
    counted(api, stream)
    answer = api.call("GET", f"{REPORT}?{PERIOD}&interval=hour", None, {**api._headers, "Accept": "text/csv"})
    first, second = csv.DictReader(io.StringIO(answer.text))
    assert [first[name] for name in NAMES] == ["1", "40", "0", ""]
    assert [second[name] for name in NAMES] == ["0", "", "0", ""]
    assert [first[name] for name in TIMES] == ["1", "1", "1", "1", "1", "1", "1"]
    assert [second[name] for name in TIMES] == [""] * 7
    assert answer.text.splitlines()[0].endswith(",leads,averageSeconds," + ",".join((*NAMES, *TIMES)))


def _handled(api: Api, at: At) -> None:
    """Handle twenty conversations, of which some are reopened."""
    chance = random.Random(35)
    for number in range(20):
        start, visitor = chance.randrange(3_000), f"v{number}"
        at(start)
        write(api, "human", visitor, state="requested_chat")
        at(start + 100 + number)
        write(api, "bot", visitor, state="human-chatting")
        at(start + 1_000 + number)
        write(api, "bot", visitor, state="ended_chat")
        if number % 4 == 0:
            write(api, "human", visitor, state="requested_chat")
            write(api, "bot", visitor, state="ended_chat")


EXPECTED = {"firstAnswers": 20, "averageFirstAnswerSeconds": 110, "ends": 20, "averageEndSeconds": 1_010}


def test_repeated_and_reordered_records_count_once_and_a_recount_agrees(api: Api, stream: Stream, at: At) -> None:
    _handled(api, at)
    records: list[Record] = stream.read("conversations")
    chance = random.Random(1)
    repeated = records + chance.sample(records, len(records) // 2)
    chance.shuffle(repeated)
    at(4_200)
    for begin in range(0, len(repeated), 7):
        follow("conversations", repeated[begin : begin + 7])
    assert durations(api) == EXPECTED
    ran = CliRunner().invoke(cams, ["tallies", "recount"])
    assert ran.exit_code == 0, ran.output
    at(3 * 3_600)  # reports read the stored counts
    assert durations(api) == EXPECTED
    assert durations(api, "&by=origin") == EXPECTED


def test_zeros_after_the_deliveries_are_not_stored(api: Api, stream: Stream, at: At) -> None:
    write(api, "human")
    follow("conversations", stream.read("conversations"))
    (row,) = storage.scan(counts.ChangeRow, counts.ChangeRow.period.startswith("change#"))
    assert row.open()["counts"] == [0, 0, 1, 1, 1, 0, 0, 0, 0]
    at(60)
    change(api, state="ended_chat")
    follow("conversations", stream.read("conversations"))
    counts.recount_all(*storage.split_key(row.agent))
    (day,) = storage.scan(counts.DayRow, counts.DayRow.period.startswith("counts#"))
    (of_hour,) = day.open()["hours"].values()
    assert of_hour == [0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 60_000]


def test_answers_are_counted_by_time(api: Api, stream: Stream, at: At) -> None:
    """A wait that equals a limit is within it."""
    for number, wait in enumerate((0, 60, 61, 300, 899, 4_000)):
        at(number)
        write(api, "human", f"v{number}", state="requested_chat")
        at(number + wait)
        write(api, "bot", f"v{number}", state="human-chatting")
    records = stream.read("conversations")
    for _ in range(2):
        follow("conversations", records)
    assert times(api) == [2, 4, 5, 5, 6, 6, 6]
    (group,) = api.get(f"{REPORT}?{PERIOD}&by=origin").data["groups"]
    assert [group["totals"][name] for name in TIMES] == [2, 4, 5, 5, 6, 6, 6]
    (agent,) = {row.agent for row in storage.scan(counts.ChangeRow, counts.ChangeRow.period.startswith("change#"))}
    counts.recount_all(*storage.split_key(agent))
    at(3 * 3_600)  # reports read the stored counts
    assert times(api) == [2, 4, 5, 5, 6, 6, 6]


def test_the_times_of_changes_from_an_earlier_release_are_counted(api: Api, stream: Stream, at: At) -> None:
    """Earlier releases store the same change rows, but counted hours without the times."""
    write(api, "human", state="requested_chat")
    at(90)
    write(api, "bot", state="human-chatting")
    follow("conversations", stream.read("conversations"))
    changes = [*storage.scan(counts.ChangeRow, counts.ChangeRow.period.startswith("change#"))]
    assert max(len(row.open()["counts"]) for row in changes) == hours.NAMES.index("firstAnswerMilliseconds") + 1
    day = counts.DayRow(changes[0].agent, f"counts#{clock.iso(START)[:10]}")
    day.seal({"hours": {clock.iso(START)[11:13]: [0, 0, 1, 2, 1, 1, 0, 0, 0, 1, 90_000]}, "counted": {}})
    put_now(day)
    at(3 * 3_600)
    assert durations(api) == {**NONE, "firstAnswers": 1, "averageFirstAnswerSeconds": 90}
    assert times(api) == []
    counts.recount(day.agent, START, clock.seconds())
    assert times(api) == [0, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("stored", [len(hours.RANKED) + 2, len(hours.NAMES) + 2])
def test_counts_of_an_earlier_and_a_later_release_are_readable(
    api: Api, workspace: NewWorkspace, stream: Stream, at: At, stored: int
) -> None:
    row = counts.DayRow(f"{workspace.workspace_id}#support", f"counts#{clock.iso(START)[:10]}")
    row.seal({"hours": {clock.iso(START)[11:13]: [*range(1, 1 + stored)]}, "counted": {}})
    put_now(row)
    at(3 * 3_600)
    totals = api.get(f"{REPORT}?{PERIOD}").data["totals"]
    assert (totals["loads"], totals["leads"]) == (1, 7)
    assert totals["firstAnswers"] == (10 if stored > len(hours.NAMES) else 0)
