"""Tallies: conversation counts per quarter-hour, which are recounted after each change."""

import json
import random
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import pytest
from click.testing import CliRunner

from chalicelib import clock, errors, ids, maintenance, queues, storage
from chalicelib.conversations import counted_changes, store, tallies
from chalicelib.conversations.page_position import quarter_of
from chalicelib.conversations.rows import ConversationRow
from chalicelib.conversations.state import State, empty_state
from chalicelib.queues import messages
from chalicelib.queues.tasks import RecountQuarter
from chalicelib.workspaces.store import NewWorkspace
from infra.operator.commands import cams
from tests.api import Api
from tests.capacity import metered
from tests.direct_writes import put_now
from tests.followers import follow
from tests.guarantees import CaseCounter
from tests.webhooks.pipeline import Stream

LIST = "/v2/agents/support/convos"
DAY = 24 * 60 * 60 * 1000
START = 1_793_491_200_000  # 2026-11-01
Record = dict[str, Any]
SetClock = Callable[[int], None]


class Pipeline:
    """The conversation stream, the two functions, and the queue between them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.stream, self.requests = Stream("conversations"), list[str]()
        send = queues.send

        def capture(queue: str, texts: Sequence[str], *rest: Any, **named: Any) -> None:
            if queue == queues.MAINTENANCE:  # the queue also receives clean-up messages
                self.requests += [text for text in texts if "RecountQuarter" in text]
            else:
                send(queue, texts, *rest, **named)

        patch.setattr(queues, "send", capture)

    def run(self) -> None:
        """Pass all changes to the stream functions, and run the counting function until the queue is empty."""
        tally(self.stream.read("conversations"))
        while self.requests:
            count_again([self.requests.pop()])


def tally(records: Sequence[Record]) -> None:
    follow("conversations", records)


def count_again(texts: Sequence[str]) -> list[str]:
    """Run the counting function; return the texts of the failed messages."""
    records = [{"messageId": str(number), "body": text} for number, text in enumerate(texts)]
    answer = maintenance.maintain({"Records": records}, None)
    return [texts[int(failure["itemIdentifier"])] for failure in answer["batchItemFailures"]]


@pytest.fixture
def pipeline(agent_id: str, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    return Pipeline(monkeypatch)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Return a function that sets the clock.

    The clock advances by a millisecond at each reading, because ULIDs from the same millisecond are unordered.
    """

    def move(milliseconds: int) -> None:
        moments = count(milliseconds)
        monkeypatch.setattr(clock, "milliseconds", lambda: next(moments))

    return move


def create(workspace: NewWorkspace, name: str) -> None:
    with storage.unit_of_work():
        store.create(workspace.workspace_id, "support", name, State(empty_state(name).metadata, b"[]"))


def conversations() -> list[ConversationRow]:
    """Return the main row of each conversation, newest first."""
    found = storage.scan(ConversationRow, ConversationRow.created.exists())
    return sorted(found, key=lambda row: row.created, reverse=True)


def rows() -> dict[str, list[int]]:
    """Return all month and day tallies, keyed by the row key without its prefix."""
    found = storage.scan(tallies.TallyRow, tallies.TallyRow.counts.exists())
    return {row.period: row.tallies() for row in found}


def assert_exact() -> None:
    """Assert that the tallies of days and months match the conversations, and that no other tallies exist."""
    truth = Counter(quarter_of(row.created) for row in conversations())
    quarters: Counter[tuple[str, int]] = Counter()
    days: Counter[str] = Counter()
    for period, counts in rows().items():
        kind, text = storage.split_key(period)
        assert any(counts), f"{period} has no conversations"
        for number, tallied in enumerate(counts):
            if kind == "day":
                quarters[text, number] += tallied
            else:
                days[f"{text}-{number + 1:02}"] += tallied
    assert +quarters == truth
    assert +days == Counter(quarter.day for quarter in truth.elements())


def fill(workspace: NewWorkspace, at: SetClock, number: int, days: int = 40) -> None:
    """Store conversations in the service's own layout, many rows per request."""
    chance, rows = random.Random(number), []
    with storage.unit_of_work() as unit:
        for index, time in enumerate(sorted(START + chance.randrange(days * DAY) for _ in range(number))):
            at(time)
            state = State(empty_state(f"c{index}").metadata, b"[]")
            rows.append(store.create(workspace.workspace_id, "support", f"c{index}", state))
        unit.discard()
    storage.save_many(rows)


def test_tallies_follow_creations_and_deletions(
    workspace: NewWorkspace, api: Api, pipeline: Pipeline, at: SetClock
) -> None:
    fill(workspace, at, 30, days=3)
    pipeline.run()
    assert_exact()
    for index in range(0, 30, 2):
        assert api.delete(f"/v3/agents/support/convos/c{index}").status == 200
    pipeline.run()
    assert_exact()


def test_a_changed_state_is_not_counted(workspace: NewWorkspace, api: Api, pipeline: Pipeline, at: SetClock) -> None:
    at(START)
    create(workspace, "ann")
    pipeline.run()
    assert api.post("/agents/support/interact/ann/state", {"metadata": {"userName": "Ann"}}).status == 200
    tally(pipeline.stream.read("conversations"))
    assert pipeline.requests == []


def test_many_changes_of_a_quarter_hour_are_counted_once(
    workspace: NewWorkspace, pipeline: Pipeline, at: SetClock
) -> None:
    at(START)
    for index in range(5):
        create(workspace, f"c{index}")
    tally(pipeline.stream.read("conversations"))
    assert [json.loads(text)[2:] for text in pipeline.requests] == [["2026-11-01", 0]]


def test_tallies_without_conversations_are_deleted(
    workspace: NewWorkspace, api: Api, pipeline: Pipeline, at: SetClock
) -> None:
    at(START)
    create(workspace, "ann")
    pipeline.run()
    assert len(rows()) == 2
    assert api.delete("/v3/agents/support/convos/ann").status == 200
    pipeline.run()
    assert rows() == {}
    count_again([messages.pack(RecountQuarter(storage.join_key(workspace.workspace_id, "support"), "2026-11-01", 0))])
    assert rows() == {}


def test_all_pages_of_a_quiet_agent_have_every_conversation_once(
    workspace: NewWorkspace, api: Api, pipeline: Pipeline, at: SetClock
) -> None:
    fill(workspace, at, 135)
    for index in random.Random(1).sample(range(135), 20):
        assert api.delete(f"/v3/agents/support/convos/c{index}").status == 200
    pipeline.run()
    truth = [row.conversation.split("#")[2] for row in conversations()]
    listed_ids = []
    for page in count(1):
        with metered() as meter:
            answer = api.get(f"{LIST}?page={page}")
        assert meter.total <= 4
        assert meter.reads <= 12
        if not answer.data:
            break
        listed_ids += [one["ID"] for one in answer.data]
        following = api.get(f"{LIST}?cursor={answer.json['nextCursor']}").data if "nextCursor" in answer.json else []
        assert following == api.get(f"{LIST}?page={page + 1}").data
    assert listed_ids == truth


def test_pages_of_a_new_agent_are_right_before_its_tallies(
    workspace: NewWorkspace, api: Api, agent_id: str, at: SetClock
) -> None:
    fill(workspace, at, 110)
    shown = [one["ID"] for page in range(1, 8) for one in api.get(f"{LIST}?page={page}").data]
    assert shown == [f"c{index}" for index in reversed(range(110))]


def test_a_deep_page_of_an_unknown_agent_is_404(api: Api) -> None:
    assert api.get("/v2/agents/unknown/convos?page=50").status == 404


def test_the_operator_counts_everything_again(
    workspace: NewWorkspace, api: Api, pipeline: Pipeline, at: SetClock
) -> None:
    """A restore may lose tallies, or bring back tallies for conversations that no longer exist."""
    fill(workspace, at, 20, days=2)
    pipeline.run()
    at(START + 20 * DAY)
    create(workspace, "gone")
    pipeline.run()
    for row in storage.scan(tallies.TallyRow, tallies.TallyRow.period.startswith("day#2026-11-01")):
        storage.delete_many([row])
    assert api.delete("/v3/agents/support/convos/gone").status == 200
    ran = CliRunner().invoke(cams, ["tallies", "recount"])
    assert ran.exit_code == 0, ran.output
    assert "for 1 agents" in ran.output
    assert_exact()


@pytest.mark.parametrize("arguments", [["--agent", "support"], ["--workspace", ""]])
def test_an_incomplete_selection_is_refused(arguments: list[str]) -> None:
    assert CliRunner().invoke(cams, ["tallies", "recount", *arguments]).exit_code == 2


def test_a_count_that_was_overtaken_is_made_again(
    workspace: NewWorkspace, pipeline: Pipeline, at: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow count reads the index before the second creation, and writes after a count that includes that creation."""
    at(START)
    create(workspace, "first")
    tally(pipeline.stream.read("conversations"))
    (request,) = pipeline.requests
    real, seen = storage.count, []

    def slow(*args: Any, **named: Any) -> int:
        counted = real(*args, **named)
        seen.append(counted)
        if len(seen) == 1:
            create(workspace, "second")
            count_again([request])
        return counted

    monkeypatch.setattr(storage, "count", slow)
    count_again([request])
    assert seen == [1, 2, 2]
    assert_exact()


@pytest.mark.guarantee("tallied")
@pytest.mark.parametrize("changes", [300, pytest.param(100_000, marks=pytest.mark.long)])
def test_repeated_shuffled_bisected_and_crashing_batches_count_right(
    workspace: NewWorkspace, agent_id: str, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter, changes: int
) -> None:
    chance, faults = random.Random(changes), Counter[str]()
    records = list(_changes(workspace, chance, changes))
    records += chance.sample(records, len(records) // 5)
    chance.shuffle(records)
    requests: list[str] = []
    # `tests/extensions/reports/test_counts.py` covers the counted changes.
    monkeypatch.setattr(counted_changes, "from_record", lambda record: None)

    def send(queue: str, texts: Sequence[str], *rest: Any) -> None:
        if queue == queues.MAINTENANCE and "RecountQuarter" in texts[0]:
            requests.extend(texts)

    monkeypatch.setattr(queues, "send", _failing(chance, faults, send))
    pending = [records[start : start + 50] for start in range(0, len(records), 50)]
    while pending:
        batch = pending.pop()
        try:
            tally(batch)
        except errors.Unavailable:
            half = len(batch) // 2
            pending += [part for part in (batch[:half], batch[half:]) if part]
    dispatch = storage.client.connection._make_api_call  # type: ignore[attr-defined]
    monkeypatch.setattr(storage.client.connection, "_make_api_call", _failing(chance, faults, dispatch))  # type: ignore[attr-defined]
    if changes > 1_000:
        monkeypatch.setattr(storage, "count", _counter(conversations()))
    requests = list(dict.fromkeys(requests)) + chance.sample(requests, len(requests) // 5)
    chance.shuffle(requests)
    while requests:
        texts = [requests.pop() for _ in range(min(len(requests), 10))]
        requests[:0] = count_again(texts)
    monkeypatch.undo()
    assert_exact()
    count_cases(faults=faults.total(), states=len(records))


def test_rows_that_were_read_at_different_moments_are_not_combined(
    workspace: NewWorkspace, pipeline: Pipeline, at: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repeated count reads the day row before another count runs, and the month row afterwards."""
    at(START)
    create(workspace, "first")
    pipeline.run()
    at(START + 30 * 60 * 1000)
    create(workspace, "second")
    agent, find_many = storage.join_key(workspace.workspace_id, "support"), storage.find_many

    def torn(keys: Sequence[storage.Key]) -> list[Any]:
        monkeypatch.setattr(storage, "find_many", find_many)
        _, day = find_many(keys)
        count_again([messages.pack(RecountQuarter(agent, "2026-11-01", 2))])
        return [find_many(keys)[0], day]

    monkeypatch.setattr(storage, "find_many", torn)
    assert count_again([messages.pack(RecountQuarter(agent, "2026-11-01", 0))]) == []
    assert_exact()


def test_a_failed_count_does_not_fail_the_others(workspace: NewWorkspace, pipeline: Pipeline, at: SetClock) -> None:
    at(START)
    create(workspace, "first")
    tally(pipeline.stream.read("conversations"))
    (request,) = pipeline.requests
    assert count_again(["no JSON", request, request]) == ["no JSON"]
    assert_exact()


def test_a_page_is_not_empty_while_the_tallies_of_its_day_are_behind(
    workspace: NewWorkspace, api: Api, pipeline: Pipeline, at: SetClock
) -> None:
    fill(workspace, at, 110, days=1)
    pipeline.run()
    (row,) = storage.scan(tallies.TallyRow, tallies.TallyRow.period == "day#2026-11-01")
    row.counts = json.dumps([0] * 96)
    put_now(row)
    at(START - DAY)
    for index in range(25):
        create(workspace, f"older{index}")
    assert len(api.get(f"{LIST}?page=5").data) == 20


def _changes(workspace: NewWorkspace, chance: random.Random, changes: int) -> Iterator[Record]:
    """Create and delete conversations in the table; yield the stream records."""
    agent, alive = storage.join_key(workspace.workspace_id, "support"), list[ConversationRow]()
    new: list[ConversationRow] = []
    gone: list[ConversationRow] = []
    for number in range(changes):
        if alive and chance.random() < 0.3:
            row = alive.pop(chance.randrange(len(alive)))
            gone.append(row)
            yield _record("REMOVE", "OldImage", row)
        else:
            row = ConversationRow(storage.join_key(workspace.workspace_id, "support", f"c{number}"), agent=agent)
            row.created = ids.id_at(START + DAY // 2 + chance.randrange(DAY), chance.getrandbits(80))
            row.turns = row.summary = b"-"
            row.version_tag = "tag"
            alive.append(row)
            new.append(row)
            yield _record("INSERT", "NewImage", row)
    storage.save_many(new)
    storage.delete_many(gone)


def _record(event: str, image: str, row: ConversationRow) -> Record:
    keys = {"conversation": {"S": row.conversation}, "item": {"S": row.item}}
    content = {**keys, "agent": {"S": row.agent}, "created": {"S": row.created}}
    return {"eventName": event, "dynamodb": {"Keys": keys, image: content}}


def _counter(newest_first: list[ConversationRow]) -> Callable[..., int]:
    """Return a replacement for `storage.count`, because moto takes seconds for an index of this size."""
    oldest_first = [row.created for row in reversed(newest_first)]

    def count_between(row: Any, partition: str, condition: Any, *, index: str) -> int:
        _, low, high = condition.values
        return bisect_right(oldest_first, high.value["S"]) - bisect_left(oldest_first, low.value["S"])

    return count_between


def _failing(chance: random.Random, faults: Counter[str], call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a version of `call` in which one in thirty calls fails before or after it runs."""

    def run(*args: Any, **named: Any) -> Any:
        fault = chance.random()
        if fault < 1 / 60:
            faults["before"] += 1
            raise errors.Unavailable
        result = call(*args, **named)
        if fault > 59 / 60:
            faults["after"] += 1
            raise errors.Unavailable
        return result

    return run
