"""Each event is posted at most once per endpoint, and no event is lost without a trace, despite duplicates and crashes.

1. `make_history` changes records in two workspaces, and lists the event that each change should cause.
2. `run_pipeline` passes the stream records through fan-out and delivery: shuffled, and a quarter of them twice. The
   functions crash before and after every kind of request that they send. Crashed work is retried, as streams and queues
   do.
3. `compare` assigns each expected event to a POST, or to a delivery that the API lists as `unknown` because a process
   crashed while sending it. Any other event is lost.
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
from tests.builders import webhook_body
from tests.engines import clear_caches
from tests.guarantees import CaseCounter
from tests.listed_pages import follow_cursors
from tests.selection import whole
from tests.webhooks import pipeline
from tests.webhooks.crashes import POST, Process, Queues, Step, watched

SEED = 20261121
# Payload members that identify an event, because each text is unique to one write.
LABELS = ("messageContent", "leadName", "agentName", "organisationName", "clientName")
# The event types of each endpoint.
SUBSCRIPTIONS = {"all": events.TYPES, "few": ("organisation_deleted", "client_deleted", "agent_updated")}
# The share of invocations that crash.
CRASH_RATE = 0.6
# The maximum number of crashes before the queue gives up.
MOST_CRASHES = retry_policy.MAX_RECEIVES - 2
# The share of invocations that run in a cold process.
COLD = 0.2
# Milliseconds after which a claimed delivery without an outcome is listed as `unknown`.
LATER = 61_000
# Every kind of request that the functions send.
REQUESTS = {
    "GetItem keyring", "Decrypt", "GetQueueUrl deliveries", "GetQueueUrl deliveries-slow",
    "Query webhooks", "BatchWriteItem", "SendMessageBatch deliveries", "SendMessageBatch deliveries-slow",
    "GetQueueUrl maintenance", "SendMessageBatch maintenance",
    "BatchGetItem", "PutItem deliveries", POST, "UpdateItem deliveries",
}  # fmt: skip

# An event's type, and the text that is unique to its write.
Label = tuple[str, str]
# An endpoint's name in `SUBSCRIPTIONS`, and the label of an event for this endpoint.
Notice = tuple[str, Label]

pytestmark = pytest.mark.guarantee("once")


class Summary(NamedTuple):
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
    """Make every kind of change that causes an event; yield the label of each expected event."""
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


def make_history(
    stream: pipeline.Stream, workspaces: list[NewWorkspace], least: int, random_: random.Random
) -> tuple[list[pipeline.Record], list[Label]]:
    """Change records until the streams contain `least` records.

    Return the stream records of all workspaces, and the labels of the first workspace's events.
    """
    records: list[pipeline.Record] = []
    labels: list[list[Label]] = [[] for _ in workspaces]
    apis = [Api(workspace.workspace_key) for workspace in workspaces]
    for number in itertools.count():
        index = number % len(workspaces)
        labels[index] += make_changes(apis[index], workspaces[index].workspace_id, number, random_)
        records += stream.read()
        if len(records) >= least:
            return records, labels[0]
    raise AssertionError("itertools.count() never ends")


def shuffled(records: list[pipeline.Record], random_: random.Random) -> Iterator[list[pipeline.Record]]:
    """Yield the records in random batches of 1 to 20 records from one table."""
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


class CrashingProcess(Process):
    """A process in which `CRASH_RATE` of the invocations crash, at the step that has crashed least so far."""

    def __init__(self, random_: random.Random) -> None:
        super().__init__()
        self._random = random_
        self._known: dict[str, set[Step]] = {}

    def invoke(self, kind: str, function: Callable[[], object], may_crash: bool = True) -> bool:
        """Run one invocation; return False if it crashed. Only steps that this kind of invocation has reached crash."""
        plan = None
        if may_crash and kind in self._known and self._random.random() < CRASH_RATE:
            step = min(sorted(self._known[kind]), key=lambda step: self.crashes[step])
            plan = step, self._random.choice((0, 0, self._random.randrange(10)))
        if self._random.random() < COLD:
            clear_caches()
        before = Counter(self.seen)
        has_completed = self.run(function, plan)
        self._known.setdefault(kind, set()).update(self.seen - before)
        if not has_completed:
            clear_caches()
        return has_completed


def subscribe(api: Api, inbox: pipeline.Inbox) -> dict[str, str]:
    """Create an endpoint for each subscription, each on a different host; return their ids by name."""
    urls = {"all": inbox.url("all"), "few": inbox.url("few").replace("127.0.0.1", "localhost")}
    return {
        name: api.post("/v3/webhooks", webhook_body(urls[name], *types)).data["id"]
        for name, types in SUBSCRIPTIONS.items()
    }


def run_pipeline(
    records: list[pipeline.Record], workspace_id: str, slow_host: str, random_: random.Random,
    monkeypatch: pytest.MonkeyPatch,
) -> CrashingProcess:  # fmt: skip
    """Run fan-out and delivery alternately until all work is done. Retry the work of crashed invocations."""
    # The limit is so low that most invocations leave part of the work to a continuation.
    monkeypatch.setattr(fan_out, "_MAX_MESSAGES", 2)
    process, held_queues = CrashingProcess(random_), Queues(random_)
    batches = list(shuffled(records, random_))
    with watched(process, monkeypatch.setattr), held_queues.in_place():
        for number, batch in enumerate(batches):
            if number == len(batches) // 5:
                hosts.demote(workspace_id, slow_host)
            for attempt in itertools.count():
                if process.invoke("fan-out", partial(pipeline.fan_out, batch), may_crash=attempt < MOST_CRASHES):
                    break
            for name in (queues.MAINTENANCE, queue.FAST, queue.SLOW):
                while (held := held_queues.take(name)).messages:
                    if not process.invoke(name, held.run):
                        held_queues.give_back(held)
    assert held_queues.is_empty()
    assert {step.request for step in process.seen} == REQUESTS
    assert {step for step in process.seen if not process.crashes[step]} == set()
    return process


def label_of(event: Any) -> Label:
    """Return an event's type and the text that is unique to its write."""
    return event["type"], next(event["payload"][name] for name in LABELS if name in event["payload"])


def read_unknown(api: Api, workspace_id: str, webhook_ids: dict[str, str], process: Process) -> Counter[Notice]:
    """Return the deliveries that the API lists as `unknown`: a process claimed them, and recorded no outcome."""
    unknown, keys = Counter[Notice](), set()
    for name, webhook_id in webhook_ids.items():
        path = f"/v3/webhooks/{webhook_id}/deliveries"
        for answer in follow_cursors(api, f"{path}?limit=100&status=unknown"):
            for one in answer.data:
                unknown[name, label_of(api.get(f"{path}/{one['id']}").data)] += 1
                keys.add(ledger.new(workspace_id, webhook_id, one["eventId"], one["type"], one["id"]).keys)
    assert keys == process.claimed - process.recorded
    assert unknown.total() == len(keys)
    return unknown


def compare(labels: list[Label], posts: list[pipeline.Posted], unknown: Counter[Notice]) -> Summary:
    """Assign each expected event to a POST or to an unknown delivery; count the other events as lost."""
    assert len(labels) == len(set(labels))
    expected = {(name, one) for name, types in SUBSCRIPTIONS.items() for one in labels if one[0] in types}
    posted = Counter((post.path.strip("/"), label_of(post.body)) for post in posts)
    ids = Counter((post.path, post.id) for post in posts)
    assert set(posted) | set(unknown) <= expected
    return Summary(
        expected=len(expected),
        posted=posted.total(),
        duplicate_posts=sum(count - 1 for counts in (posted, ids) for count in counts.values()),
        unknown=unknown.total(),
        lost=len(expected - set(posted) - set(unknown)),
    )


@pytest.mark.parametrize("least", [pytest.param(1_600, marks=whole), pytest.param(8_000, marks=pytest.mark.long)])
def test_no_event_is_posted_twice_and_only_claimed_events_are_lost(
    least: int, stream: pipeline.Stream, workspace: NewWorkspace, other_workspace: NewWorkspace,
    inbox: pipeline.Inbox, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter,
) -> None:  # fmt: skip
    random_, api = random.Random(SEED), Api(workspace.workspace_key)
    webhook_ids = subscribe(api, inbox)
    with pipeline.cheap_transactions():
        # Half of the events belong to the other workspace, which has no endpoint.
        records, labels = make_history(stream, [workspace, other_workspace], least, random_)
    duplicates = random_.sample(records, len(records) // 4)
    slow_host = hosts.name(inbox.url().replace("127.0.0.1", "localhost"))
    process = run_pipeline(records + duplicates, workspace.workspace_id, slow_host, random_, monkeypatch)

    now = clock.milliseconds()
    monkeypatch.setattr(clock, "milliseconds", lambda: now + LATER)
    summary = compare(labels, inbox.posts, read_unknown(api, workspace.workspace_id, webhook_ids, process))
    crashes = {str(step): count for step, count in sorted(process.crashes.items())}
    sys.stdout.write(f"\nseed={SEED} records={len(records)} {summary} crashes={process.crashes.total()} {crashes}\n")
    assert len(records) >= least
    assert (summary.duplicate_posts, summary.lost) == (0, 0)
    assert summary.unknown > 0
    count_cases(faults=len(duplicates) + process.crashes.total(), states=summary.expected)
