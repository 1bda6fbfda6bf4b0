"""Report counts equal a recount of the raw changes, even if batches and requests fail or are redelivered."""

import base64
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest

from chalicelib import clock, errors, followers, ids, queues, storage
from chalicelib.analytics import store as analytics
from chalicelib.conversations import store
from chalicelib.conversations.new_messages import Totals
from chalicelib.conversations.state import State
from chalicelib.extensions.reports import counts, hours
from chalicelib.extensions.reports.extension import QUEUE
from chalicelib.extensions.reports.functions import count_hours
from chalicelib.leads.store import LeadRow
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.followers import follow
from tests.guarantees import CaseCounter
from tests.old_agents import create_old_agent

Record = dict[str, Any]
HOUR = 3_600
# European summer time begins at 1:00 UTC on the second day.
START, END = (int(datetime(2026, 3, day, tzinfo=timezone.utc).timestamp()) for day in (28, 30))
NOW = END - HOUR // 2
ROUND_SECONDS = 600
ORIGINS = ("web-chat", "chatapp", "community", None)
CHANNELS = {
    "origin": ORIGINS,
    "country": ("NL", "DE", "BE", "FR", None),
    "browser": ("Firefox", "Safari", None),
    "platform": ("iOS", "Android", "other", None),
    # Some hours contain more values than the 20 that are counted separately. Some values are more frequent than others.
    "language": (*(f"{number:02}" for number in range(30) for _ in range(1 + 40 // (number + 1))), None),
}
ZONES = ("UTC", "Europe/Amsterdam", "America/New_York")


class Raw(NamedTuple):
    """A raw change: its table, stream record, time in seconds, value in each dimension, and counts."""

    table: str
    record: Record
    second: int
    places: dict[str, str | None]
    counts: dict[str, int]


IntervalCounts = tuple[Counter[str], dict[str, int]]
"""An interval's counts, and its averages."""


@pytest.mark.guarantee("tallied")
def test_repeated_shuffled_bisected_and_interrupted_batches_count_once(
    workspace: NewWorkspace, api: Api, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    monkeypatch.setattr(counts, "MAX_CHANGES", 2)  # every second hour has more changes
    _compare(workspace, api, monkeypatch, count_cases, 120)


@pytest.mark.guarantee("tallied")
@pytest.mark.long
def test_one_hundred_thousand_changes_count_once(
    workspace: NewWorkspace, api: Api, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    _keep_in_memory(monkeypatch)
    _compare(workspace, api, monkeypatch, count_cases, 100_000)


def _compare(
    workspace: NewWorkspace, api: Api, patch: pytest.MonkeyPatch, count_cases: CaseCounter, number: int
) -> None:
    create_old_agent(api)
    chance, faults = random.Random(number), Counter[str]()
    changes = [_change(workspace.workspace_id, chance, index) for index in range(number)]
    truth = list(changes)
    changes += chance.sample(changes, number // 5)
    chance.shuffle(changes)
    requests: list[tuple[int, str]] = []
    rounds = [changes[index::4] for index in range(4)]
    reader = Reader(api, chance)
    with patch.context() as faulty:
        _inject(faulty, chance, faults, lambda text: requests.append((clock.seconds(), text)))
        for number_of_round in range(8):
            now = NOW + number_of_round * ROUND_SECONDS
            faulty.setattr(clock, "milliseconds", lambda now=now: now * 1000)
            if rounds:
                _tally(rounds.pop(), chance, reader)
            due = [one for one in requests if one[0] + 900 <= now]
            requests[:] = [one for one in requests if one not in due]
            _count([text for _, text in due for _ in range(chance.choice((1, 1, 2)))], chance, reader)
    assert requests == []
    assert reader.number >= 10
    patch.setattr(clock, "milliseconds", lambda: NOW * 1000)
    for zone in ZONES:
        for interval in ("day", "hour"):
            assert _by_interval(_report(api, zone, interval, "")) == _recount(truth, zone, interval)
    for dimension in hours.DIMENSIONS:
        _assert_equal_groups(api, _by_value(truth, dimension), dimension)
    count_cases(faults=faults.total(), states=len(changes) + reader.number)


class Reader:
    """Reads the report at random moments. No total is ever too high, and none decreases."""

    def __init__(self, api: Api, chance: random.Random) -> None:
        self.number = 0
        self._api, self._chance = api, chance
        self._totals, self._written = Counter[str](), Counter[str]()
        self._known: set[int] = set()

    def on_changes(self, changes: Sequence[Raw]) -> None:
        """Add changes that are about to be written, completely or in part."""
        for one in changes:
            if id(one) not in self._known:
                self._known.add(id(one))
                self._written.update(one.counts)

    def perhaps_read(self) -> None:
        if self._chance.random() < 0.6:
            answer = self._api.get(f"/v3/agents/support/analytics?from={START}&to={END}")
            if answer.status == 503:  # an injected fault
                return
            totals = Counter({name: answer.data["totals"][name] for name in hours.REPORTED})
            assert self._totals <= totals <= self._written
            self.number, self._totals = self.number + 1, totals


def _keep_in_memory(patch: pytest.MonkeyPatch) -> None:
    """Store change rows in a dictionary by key, because moto takes hours for a partition of this size."""
    kept: dict[str, dict[str, Any]] = defaultdict(dict)  # the rows by hour and key

    def save(rows: Sequence[Any]) -> None:
        for row in rows:
            kept[row.period.rpartition("#")[0]][row.period] = row

    def iterate(row: Any, agent: str, within: Any) -> Iterator[Any]:
        first, last = (value.value["S"].rpartition("#")[0] for value in within.values[1:])
        return (one for hour in sorted(kept) if first <= hour <= last for one in [*kept[hour].values()])

    patch.setattr(storage, "save_many", save)
    patch.setattr(storage, "iterate", iterate)


def _report(api: Api, zone: str, interval: str, by: str) -> Record:
    report: Record = api.get(
        f"/v3/agents/support/analytics?from={START}&to={END}&tz={zone}&interval={interval}{by}"
    ).data
    return report


def _assert_equal_groups(api: Api, expected: dict[str, list[Raw]], dimension: str) -> None:
    for zone in ZONES:
        for interval in ("day", "hour"):
            report = _report(api, zone, interval, f"&by={dimension}")
            groups = {group["value"]: _by_interval(group) for group in report.pop("groups")}
            assert groups == {value: _recount(own, zone, interval) for value, own in expected.items()}
            assert report == _report(api, zone, interval, "")


def _by_interval(report: Record) -> dict[int, IntervalCounts]:
    return {
        entry["from"]: (
            +Counter({name: entry[name] for name in hours.REPORTED}),
            {name: entry[name] for name in entry if name.startswith("average")},
        )
        for entry in report["series"]
    }


def _recount(changes: Sequence[Raw], zone: str, interval: str) -> dict[int, IntervalCounts]:
    """Return the counts of each interval, computed from the zone's calendar without the reports extension."""

    def start_of(second: int) -> int:
        local = datetime.fromtimestamp(second, ZoneInfo(zone))
        whole = local.replace(hour=0, minute=0, second=0) if interval == "day" else None
        return max(START, int(whole.timestamp()) if whole else second - second % HOUR)

    counts: dict[int, Counter[str]] = defaultdict(Counter)
    for second in range(START, END, HOUR):
        counts[start_of(second)].update()
    of_hour = {second: start_of(second) for second in range(START, END, HOUR)}
    for one in changes:
        counts[of_hour[one.second - one.second % HOUR]].update(one.counts)
    return {start: _interval_counts(one) for start, one in counts.items()}


def _interval_counts(sums: Counter[str]) -> IntervalCounts:
    seconds, answering, ending = (sums.pop(f"{name}econds", 0) for name in ("s", "firstAnswerMillis", "endMillis"))
    averages = {
        "averageSeconds": (seconds, sums["conversations"]),
        "averageFirstAnswerSeconds": (answering / 1_000, sums["firstAnswers"]),
        "averageEndSeconds": (ending / 1_000, sums["ends"]),
    }
    return +sums, {name: round(total / number) for name, (total, number) in averages.items() if number}


def _by_value(changes: Sequence[Raw], dimension: str) -> dict[str, list[Raw]]:
    """Group the changes by value. For each hour, all but the 20 most frequent values are grouped as `other`."""
    of_hours: dict[int, dict[str, list[Raw]]] = defaultdict(lambda: defaultdict(list))
    for one in changes:
        of_hours[one.second // HOUR][one.places.get(dimension) or "unknown"].append(one)
    changes_by_value: dict[str, list[Raw]] = defaultdict(list)
    for values in of_hours.values():
        ranked = sorted(values, key=lambda value: (value == "other", -_size(values[value]), value))
        for place, value in enumerate(ranked):
            changes_by_value[value if place < 20 else "other"] += values[value]
    return changes_by_value


def _size(changes: Sequence[Raw]) -> int:
    return sum(number for one in changes for name, number in one.counts.items() if name in hours.RANKED)


TABLES = ("conversations", "leads", "analytics")


def _tally(changes: Sequence[Raw], chance: random.Random, reader: Reader) -> None:
    """Deliver changes in batches; redeliver a failed batch in halves."""
    reader.on_changes(changes)
    for table in TABLES:
        records = [one.record for one in changes if one.table == table]
        size = max(100, len(records) // 5)  # there are few batches, because counting an hour is slow in moto
        pending = [records[start : start + size] for start in range(0, len(records), size)]
        while pending:
            reader.perhaps_read()
            batch = pending.pop(chance.randrange(len(pending)))
            try:
                follow(table, batch)
            except errors.Unavailable:
                half = len(batch) // 2
                pending += [part for part in (batch[:half], batch[half:]) if part]


def _count(texts: list[str], chance: random.Random, reader: Reader) -> None:
    chance.shuffle(texts)
    while texts:
        reader.perhaps_read()
        taken, texts = texts[:10], texts[10:]
        records = [{"messageId": str(number), "body": text} for number, text in enumerate(taken)]
        answer = count_hours({"Records": records}, None)
        texts += [taken[int(one["itemIdentifier"])] for one in answer["batchItemFailures"]]


def _inject(
    patch: pytest.MonkeyPatch, chance: random.Random, faults: Counter[str], on_request: Callable[[str], None]
) -> None:
    """Make writes, requests and messages fail randomly, with a probability of 1/60 at each point."""

    def fail(place: str, share: float = 1 / 60) -> None:
        if chance.random() < share:
            faults[place] += 1
            raise errors.Unavailable

    save_many, dispatch = storage.save_many, storage.client.connection._make_api_call  # type: ignore[attr-defined]

    def save(rows: Sequence[Any]) -> None:
        fail("before")
        half = len(rows) // 2
        save_many(rows[:half])
        fail("between")
        save_many(rows[half:])
        fail("after")

    def send(queue: str, texts: Sequence[str], *rest: Any) -> None:
        for text in texts:
            fail("before a message")
            if queue == QUEUE:
                on_request(text)
        fail("after messages")

    def dispatched(*arguments: Any) -> Any:
        fail("before a request")
        result = dispatch(*arguments)
        fail("after a request")
        return result

    patch.setattr(storage, "save_many", save)
    patch.setattr(queues, "send", send)
    patch.setattr(followers, "PATIENCE_SECONDS", END - START)  # two days of changes arrive within half an hour
    patch.setattr(storage.client.connection, "_make_api_call", dispatched)  # type: ignore[attr-defined]


def _change(workspace_id: str, chance: random.Random, number: int) -> Raw:
    milliseconds = START * 1000 + chance.randrange((NOW - START) * 1000)
    tag = ids.id_at(milliseconds, chance.getrandbits(80))
    places = {name: chance.choice(values) for name, values in CHANNELS.items()}
    kind = chance.choice((_load, _load, _lead, _conversation))
    return kind(workspace_id, number, tag, milliseconds // 1000, places)


Places = dict[str, str | None]


def _load(workspace_id: str, number: int, tag: str, second: int, places: Places) -> Raw:
    row = analytics.new(workspace_id, "support", f"c{number}")
    members = {"countryCode": places["country"], "langCode": places["language"]}
    record = {"record": "load", **{name: places[name] for name in ("origin", "browser", "platform")}, **members}
    row.version_tag, row.load = tag, storage.seal(row, "load", record)
    old = {"load": {"B": "AA=="}} if number % 2 else None
    return Raw("analytics", _record(row, old), second, places, {"loads": 1, "newVisitors": int(old is None)})


def _lead(workspace_id: str, number: int, tag: str, second: int, places: Places) -> Raw:
    row = LeadRow(storage.join_key(workspace_id, "prefix"), f"lead{number}", version_tag=tag)
    row.seal({"agentId": "support", "channel": places["origin"]})
    return Raw("leads", _record(row, None), second, {"origin": places["origin"]}, {"leads": 1})


def _conversation(workspace_id: str, number: int, tag: str, second: int, places: Places) -> Raw:
    """Return a new conversation, or an existing one that has become longer. Both request a person.

    A third of the existing conversations were answered earlier. The others are answered and ended by the change.
    """

    def row(state: str, totals: Totals, length: int) -> store.ConversationRow:
        row = store.ConversationRow(storage.join_key(workspace_id, "support", f"c{number}"), version_tag=tag)
        row.agent, row.created = storage.join_key(workspace_id, "support"), tag
        times = {"lastModified": second, "firstMessageTS": second - 1_000, "lastMessageTS": second - 1_000 + length}
        members = {"origin": places["origin"], "userBrowser": places["browser"], "userPlatform": places["platform"]}
        return store.restore(row, State({**members, "state": state, **times}, b"[]", totals))

    before, after = number % 90, number * 7 % 600
    old_row, new_row = row("new", Totals(1, 3), before), row("requested_chat", Totals(2, 5), after)
    if number % 2:
        new_row.answered_after, new_row.ended_after = number * 7_919 % 90_000, number * 104_729 % 900_000
        old_row.answered_after = new_row.answered_after if number % 3 == 0 else None
    old = _image(old_row) if number % 2 else None
    expected = {"conversations": int(old is None), "handoffs": 1, "messages": 5, "interactions": 2, "seconds": after}
    if old:
        expected |= {"messages": 2, "interactions": 1, "seconds": max(after - before, 0)}
        expected |= {"ends": 1, "endMilliseconds": new_row.ended_after}
        if old_row.answered_after is None:
            expected |= {"firstAnswers": 1, "firstAnswerMilliseconds": new_row.answered_after}
    own = {name: places[name] for name in ("origin", "browser", "platform")}
    return Raw("conversations", _record(new_row, old), second, own, expected)


def _record(row: storage.Row, old: Record | None) -> Record:
    new = _image(row)
    keys = {name: new[name] for name in (row._hash_keyname, row._range_keyname) if name}
    images = {"NewImage": new, **({"OldImage": old} if old else {})}
    change = {"ApproximateCreationDateTime": ids.timestamp_of(row.version_tag) // 1000, "Keys": keys, **images}
    return {"eventName": "MODIFY" if old else "INSERT", "dynamodb": change}


def _image(row: storage.Row) -> Record:
    return {name: dict(_plain(value)) for name, value in row.serialize().items()}


def _plain(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for kind, one in value.items():
        yield kind, base64.b64encode(one).decode() if isinstance(one, bytes) else one
