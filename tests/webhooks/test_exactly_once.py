"""At most one POST per event and endpoint, and no event lost without a trace, despite duplicates and crashes.

Records arrive shuffled, and some arrive twice. The functions crash before and after every kind of request that they
make, and their work is retried, as streams and queues do. A seed identifies a run.
"""

import itertools
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest

from chalicelib import clock, queues, storage
from chalicelib.agents import store as agents
from chalicelib.clients import store as clients
from chalicelib.leads import store as leads
from chalicelib.organisations import store as organisations
from chalicelib.webhooks import events, fan_out, hosts, ledger, queue, retry_policy
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.engines import clear_caches
from tests.guarantees import CaseCounter
from tests.selection import whole
from tests.webhooks import pipeline
from tests.webhooks.crashes import POST, Process, Queues, Step, watched

# Members of payloads that identify an event, because each text is unique to one write.
LABELS = ("messageContent", "leadName", "agentName", "organisationName", "clientName")
FEW = ("organisation_deleted", "client_deleted", "agent_updated")
# The maximum number of crashes before the queue gives up.
MOST_CRASHES = retry_policy.MAX_RECEIVES - 2
# The share of invocations that run in a cold process.
COLD = 0.2
LATER = 61_000

Label = tuple[str, str]

pytestmark = pytest.mark.guarantee("once")


class Summary(NamedTuple):
    records: int
    duplicates: int
    crashes: dict[str, int]
    expected: int
    posted: int
    duplicate_posts: int
    unknown: int
    lost: int


def commit(write: Callable[..., object], *arguments: Any) -> None:
    """Call a store function in its own unit of work."""
    with storage.unit_of_work():
        write(*arguments)


def make_changes(api: Api, workspace_id: str, number: int, random_: random.Random) -> Iterator[Label]:
    """Make changes of every kind that causes an event; yield the label of each expected event."""
    agent_id = f"agent-{number // 40}"
    if agents.find(workspace_id, agent_id) is None:
        commit(agents.create, workspace_id, agent_id, {"title": agent_id})
        yield "agent_created", agent_id
    organisation = organisations.new(workspace_id, f"org-{number}")
    commit(organisations.save, organisation, {}, {"name": f"organisation {number}"})
    yield "organisation_created", f"organisation {number}"
    if number % 3 == 0:
        commit(organisations.save, organisation, organisation.open(), {"name": f"organisation {number} renamed"})
        yield "organisation_updated", f"organisation {number} renamed"
    if number % 4 < 2:
        commit(organisations.delete, organisation)
        yield "organisation_deleted", f"organisation {number}{' renamed' if number % 3 == 0 else ''}"
        client = clients.new(workspace_id, f"client-{number}")
        commit(clients.save, client, {}, {"name": f"client {number}", "email": f"{number}@example.org"})
        yield "client_created", f"client {number}"
        commit(clients.save, client, client.open(), {**client.open(), "name": f"client {number} renamed"})
        yield "client_updated", f"client {number} renamed"
        commit(clients.delete, client)
        yield "client_deleted", f"client {number} renamed"
    lead = {"agentId": agent_id, "name": f"lead {number}", "channel": "webchat"}
    commit(leads.create, workspace_id, agent_id, lead)
    yield "lead_captured", f"lead {number}"
    if number % 10 < 2:
        agent = agents.read(workspace_id, agent_id)
        commit(agents.save, agent, agent.open(), {**agent.open(), "title": f"agent {number} renamed"})
        yield "agent_updated", f"agent {number} renamed"
    if number % 4 > 1:
        texts = [f"message {number} {one}" for one in range(random_.randint(1, 3))]
        for transcript in (texts, [*texts, f"message {number} more"]):
            talk(api, agent_id, f"user-{number}", transcript)
        yield from (("message_received", text) for text in transcript)


def talk(api: Api, agent_id: str, user_id: str, texts: list[str]) -> None:
    turns = [{"from": sender, "messages": [{"item": {"text": text}}]} for text in texts for sender in ("human", "bot")]
    assert api.post(f"/agents/{agent_id}/interact/{user_id}/state", {"turns": turns}).status == 200


def history(
    stream: pipeline.Stream, workspaces: list[NewWorkspace], least: int, random_: random.Random
) -> tuple[list[pipeline.Record], list[Label]]:
    """Return at least `least` records of all workspaces, and the labels of the events of the first workspace."""
    records: list[pipeline.Record] = []
    labels: list[list[Label]] = [[] for _ in workspaces]
    apis = [Api(workspace.workspace_key) for workspace in workspaces]
    for number in itertools.count():
        index = number % len(workspaces)
        labels[index] += make_changes(apis[index], workspaces[index].workspace_id, number, random_)
        records += stream.read()
        if len(records) >= least:
            return records, labels[0]
    raise AssertionError("never ends")


def shuffled(records: list[pipeline.Record], random_: random.Random) -> Iterator[list[pipeline.Record]]:
    """Yield the records in random batches of one table each, with 1 to 20 records."""
    by_table: dict[str, list[pipeline.Record]] = {}
    for record in random_.sample(records, len(records)):
        by_table.setdefault(record["eventSourceARN"], []).append(record)
    while by_table:
        table = random_.choice(sorted(by_table))
        size = random_.randint(1, 20)
        batch, by_table[table] = by_table[table][:size], by_table[table][size:]
        if not by_table[table]:
            del by_table[table]
        yield batch


class Plans:
    """Chooses whether an invocation crashes, and at which step: the step of its kind with the fewest crashes so far."""

    def __init__(self, process: Process, random_: random.Random, kills: float) -> None:
        self._process, self._random, self._kills = process, random_, kills
        self._known: dict[str, set[Step]] = {}

    def run(self, kind: str, function: Callable[[], object], may_die: bool = True) -> bool:
        """Run one invocation; return False if it crashed."""
        plan = None
        if may_die and kind in self._known and self._random.random() < self._kills:
            step = min(sorted(self._known[kind]), key=lambda one: self._process.crashes[one])
            plan = step, self._random.choice((0, 0, self._random.randrange(10)))
        if self._random.random() < COLD:
            clear_caches()
        before = Counter(self._process.seen)
        done = self._process.run(function, plan)
        self._known.setdefault(kind, set()).update(self._process.seen - before)
        if not done:
            clear_caches()
        return done


def run(
    least: int, kills: float, seed: int, stream: pipeline.Stream, workspaces: list[NewWorkspace],
    inbox: pipeline.Inbox, monkeypatch: pytest.MonkeyPatch,
) -> Summary:  # fmt: skip
    """Make changes, run the pipeline with crashes, and compare the posts and the ledger with the expected events."""
    random_ = random.Random(seed)
    api, workspace_id = Api(workspaces[0].workspace_key), workspaces[0].workspace_id
    subscriptions = {"all": events.TYPES, "few": FEW}
    ids = {}
    urls = {"all": inbox.url("all"), "few": inbox.url("few").replace("127.0.0.1", "localhost")}  # different hosts
    for path, types in subscriptions.items():
        answer = api.post("/v3/webhooks", {"webhook": {"url": urls[path], "events": list(types)}})
        ids[path] = answer.data["id"]
    with pipeline.cheap_transactions():
        # Half of the events belong to the other workspace, which has no endpoint.
        records, labels = history(stream, workspaces, least, random_)
    duplicates = random_.sample(records, len(records) // 4)

    # The limit is so low that most invocations leave a part of the work to a continuation.
    monkeypatch.setattr(fan_out, "_MAX_MESSAGES", 2)
    process, held_queues = Process(), Queues(random_)
    batches = list(shuffled(records + duplicates, random_))
    with watched(process, monkeypatch.setattr), held_queues.in_place():
        kill(held_queues, batches, (workspace_id, hosts.name(urls["few"])), Plans(process, random_, kills))
    assert held_queues.is_empty()
    # The functions made every kind of request, and crashed before and after each kind.
    assert {step.request for step in process.seen} == STEPS
    assert {step for step in process.seen if not process.crashes[step]} == set()

    expected = {(path, *one) for path, types in subscriptions.items() for one in labels if one[0] in types}
    assert len(labels) == len(set(labels))
    posts = Counter((post.path.strip("/"), *label_of(post.body)) for post in inbox.posts)
    requests = Counter((post.path, post.id) for post in inbox.posts)
    now = clock.milliseconds()
    monkeypatch.setattr(clock, "milliseconds", lambda: now + LATER)
    listed = {path: list(pages(api, f"/v3/webhooks/{ids[path]}/deliveries?limit=100&status=unknown")) for path in ids}
    unknown = Counter((path, *label_of(one)) for path in ids for one in read(api, ids[path], listed[path]))
    # A delivery is unknown only if a process claimed it and crashed before recording an outcome.
    keys = {
        ledger.new(workspace_id, ids[path], one["eventId"], one["type"], one["id"]).keys
        for path in ids
        for one in listed[path]
    }
    assert keys == process.claimed - process.recorded
    assert sum(unknown.values()) == len(process.claimed - process.recorded)
    assert set(posts) | set(unknown) <= expected
    return Summary(
        len(records) + len(duplicates), len(duplicates), {str(step): count for step, count in process.crashes.items()},
        len(expected), sum(posts.values()), sum(count - 1 for counts in (posts, requests) for count in counts.values()),
        sum(unknown.values()), len(expected - set(posts) - set(unknown)),
    )  # fmt: skip


# All kinds of requests that the functions make.
STEPS = {
    "GetItem keyring", "Decrypt", "GetQueueUrl deliveries", "GetQueueUrl deliveries-slow",
    "Query webhooks", "BatchWriteItem", "SendMessageBatch deliveries", "SendMessageBatch deliveries-slow",
    "GetQueueUrl maintenance", "SendMessageBatch maintenance",
    "BatchGetItem", "PutItem deliveries", POST, "UpdateItem deliveries",
}  # fmt: skip


def kill(held_queues: Queues, batches: list[list[pipeline.Record]], slow: tuple[str, str], plans: Plans) -> None:
    """Run fan-out and delivery alternately until all work is done. The work of a crashed process is retried."""
    for number, batch in enumerate(batches):
        if number == len(batches) // 5:
            hosts.demote(*slow)
        again = partial(pipeline.fan_out, batch)
        for attempt in itertools.count():
            if plans.run("fan-out", again, may_die=attempt < MOST_CRASHES):
                break
        for name in (queues.MAINTENANCE, queue.FAST, queue.SLOW):
            while (held := held_queues.take(name)).messages:
                if not plans.run(name, held.run):
                    held_queues.give_back(held)


def label_of(event: Any) -> Label:
    """Identify an event by its type and the text that is unique to its write."""
    return event["type"], next(event["payload"][name] for name in LABELS if name in event["payload"])


def pages(api: Api, path: str) -> Iterator[Any]:
    cursor = ""
    while True:
        answer = api.get(path + cursor)
        yield from answer.data
        if "nextCursor" not in answer.json:
            return
        cursor = f"&cursor={answer.json['nextCursor']}"


def read(api: Api, webhook_id: str, listed: list[Any]) -> Iterator[Any]:
    for one in listed:
        yield api.get(f"/v3/webhooks/{webhook_id}/deliveries/{one['id']}").data


def print_summary(summary: Summary, seed: int) -> None:
    crashes = ", ".join(f"{step} {count}" for step, count in sorted(summary.crashes.items()))
    numbers = {**summary._asdict(), "crashes": f"{sum(summary.crashes.values())} ({crashes})"}
    sys.stdout.write(f"\nseed={seed} {' '.join(f'{name}={value}' for name, value in numbers.items())}\n")


def holds(
    least: int, kills: float, stream: pipeline.Stream, workspaces: list[NewWorkspace], inbox: pipeline.Inbox,
    monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter,
) -> None:  # fmt: skip
    seed = 20261121
    summary = run(least, kills, seed, stream, workspaces, inbox, monkeypatch)
    print_summary(summary, seed)
    assert summary.records >= least * 5 // 4
    assert summary.duplicates >= summary.records // 5
    assert summary.duplicate_posts == 0
    assert summary.lost == 0
    assert summary.unknown > 0
    count_cases(faults=summary.duplicates + sum(summary.crashes.values()), states=summary.expected)


@whole
def test_of_two_thousand_records_no_event_is_posted_twice_and_only_claimed_ones_are_lost(
    stream: pipeline.Stream, workspace: NewWorkspace, other_workspace: NewWorkspace, inbox: pipeline.Inbox,
    monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter,
) -> None:  # fmt: skip
    holds(1_600, 0.6, stream, [workspace, other_workspace], inbox, monkeypatch, count_cases)


@pytest.mark.long
def test_of_ten_thousand_records_no_event_is_posted_twice_and_only_claimed_ones_are_lost(
    stream: pipeline.Stream, workspace: NewWorkspace, other_workspace: NewWorkspace, inbox: pipeline.Inbox,
    monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter,
) -> None:  # fmt: skip
    holds(8_000, 0.6, stream, [workspace, other_workspace], inbox, monkeypatch, count_cases)
