"""A keyed request that crashes at any point and is retried has one effect and one response.

Every POST, PUT and PATCH operation crashes before and after each request that it sends, and is then retried at once.
The stored records, the events, the queue and the response must be the same as after a run without a crash.
"""

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import pytest
from moto.dynamodb.models import dynamodb_backends

from chalicelib import storage
from chalicelib.conversations.store import CONVERSATION_ITEM, read_received
from chalicelib.storage import encryption
from chalicelib.webhooks import queue
from tests.api import Answer
from tests.engines import clear
from tests.guarantees import CaseCounter
from tests.http.replay_cases import Case, World, case_named, each_case, new_world
from tests.operations import STATE
from tests.selection import first_case
from tests.webhooks import pipeline

KEY = "crash"
TABLE = storage.table("idempotency")
REPLAYED = "idempotency-replayed"
SEALED = {"document", "entry", "search", "metadata", "summary", "turns", "load", "convo", "received", "part"}

pytestmark = pytest.mark.guarantee("repeated")


class Crash(BaseException):
    """The simulated process crashes here."""


@contextmanager
def crash_at(at: int | None) -> Iterator[list[str]]:
    """Crash the process at this step inside the block; return the steps that it reached.

    There is a step before each request to the database, the queue or KMS, and a second step after it, at which the
    response is lost.
    """
    steps: list[str] = []

    def step(name: str) -> None:
        steps.append(name)
        if at is not None and len(steps) > at:
            raise Crash(name)

    def before(model: Any, **_: Any) -> None:
        step(f"before {model.name}")

    def after(model: Any, **_: Any) -> None:
        step(f"after {model.name}")

    clients = [(service, storage.sdk_client(service).meta.events) for service in ("dynamodb", "sqs", "kms")]
    for service, events in clients:
        events.register_first(f"before-call.{service}", before)
        events.register_last(f"after-call.{service}", after)
    try:
        yield steps
    finally:
        for service, events in clients:
            events.unregister(f"before-call.{service}", before)
            events.unregister(f"after-call.{service}", after)


class Outcome(NamedTuple):
    """A request's result: decrypted items, events, queued messages, and a transcript."""

    items: dict[str, Any]
    events: list[str]
    queued: set[str]
    transcript: str


def outcome(world: World, case: Case) -> Outcome:
    """Return the current result. The transcript is read through the API, because it may be too long for one item."""
    events = sorted(json.dumps(one) for name in pipeline.WATCHED for one in pipeline.payloads(stream_records(name)))
    transcript = world.api.post(world.path(case), {}).text if case.operation == STATE else ""
    items = {
        name: sorted(map(partial(decrypted, world, name), found), key=repr)
        for name, found in plain_items().items()
        if name != TABLE
    }
    return Outcome(items, events, set(pipeline.waiting(queue.FAST)), transcript)


def plain_items() -> dict[str, list[dict[str, Any]]]:
    """Return every item in every table, without the value types."""
    return {
        name: [
            {attribute: next(iter(value.values())) for attribute, value in item.to_json()["Attributes"].items()}
            for item in table.all_items()
        ]
        for name, table in engine_tables().items()
    }


def engine_tables() -> Any:
    """Return moto's tables, because a scan through its API is slow."""
    return dynamodb_backends["123456789012"]["eu-west-1"].tables


def stream_records(name: str) -> list[pipeline.Record]:
    """Return the records in a table's stream. moto's own iterator would include rolled-back writes."""
    shard = engine_tables()[storage.table(name)].stream_shard
    return [pipeline.as_in_an_event(one.record, f"stream/{storage.table(name)}") for one in shard.items]


def decrypted(world: World, name: str, item: dict[str, Any]) -> dict[str, Any]:
    """Return an item with its documents decrypted."""
    table = engine_tables()[name]
    keys = [key for key in (table.hash_key_attr, table.range_key_attr) if key]
    place = "/".join((name.removeprefix(storage.table("")), *(item[key] for key in keys)))
    documents = {
        attribute: encryption.unseal(world.workspace.workspace_id, f"{place}/{attribute}", item[attribute])
        for attribute in SEALED & item.keys()
        if (item.get("item"), attribute) != (CONVERSATION_ITEM, "received")
    }
    if item.get("item") == CONVERSATION_ITEM and "received" in item:
        image = {attribute: {"S": item[attribute]} for attribute in ("conversation", "item", "version_tag")}
        image["received"] = {"B": item["received"]}
        documents["received"] = storage.encode_json(read_received(image)[1])
    return {**item, **documents}


class Checkpoint(NamedTuple):
    """A world's saved state."""

    world: World
    items: dict[str, Any]
    now: int

    def restore(self) -> None:
        """Restore the world, with warm caches and empty streams."""
        clear()
        for name, table in engine_tables().items():
            table.items.update(copy.deepcopy(self.items[name]))
            if table.stream_shard:
                table.stream_shard.items.clear()
        self.world.now = self.now
        assert self.world.api.get("/v2/orgs/acme").status == 200
        pipeline.waiting(queue.FAST)
        self.world.reseed()


@pytest.fixture
def checkpoint(engine: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Checkpoint]:
    with new_world(monkeypatch) as world:
        world.api.get("/v2/orgs/acme")
        items = {name: copy.deepcopy(dict(table.items)) for name, table in engine_tables().items()}
        yield Checkpoint(world, items, world.now)


@each_case
@first_case
def test_a_request_retried_after_any_crash_has_one_effect_and_one_answer(
    case: Case, checkpoint: Checkpoint, count_cases: CaseCounter
) -> None:
    steps, first, expected = without_crash(case, checkpoint)
    commit = next(number for number, step in enumerate(steps) if step in COMMITS)
    for at, step in enumerate(steps):
        where = f"{case.id}: {at}, {step}"
        checkpoint.restore()
        with crash_at(at), pytest.raises(Crash):
            checkpoint.world.send(case, KEY)
        is_committed = at > commit
        assert bool(keys()) == is_committed, where
        checkpoint.world.reseed()
        again = checkpoint.world.send(case, KEY)
        assert (again.status, again.text) == (case.status, first.text), where
        assert again.headers.get("etag") == first.headers.get("etag"), where
        assert (REPLAYED in again.headers) == is_committed, where
        for part, found, wanted in zip(Outcome._fields, outcome(checkpoint.world, case), expected, strict=True):
            assert found == wanted, (where, part)
        assert checkpoint.world.send(case, KEY).text == again.text
        count_cases(faults=1, states=1, requests=3)


COMMITS = {"before PutItem", "before TransactWriteItems"}


def without_crash(case: Case, checkpoint: Checkpoint) -> tuple[list[str], Answer, Outcome]:
    """Run a keyed request without a crash; return its steps, response and outcome. Assert that it commits once."""
    checkpoint.restore()
    with crash_at(None) as steps:
        first = checkpoint.world.send(case, KEY)
    assert first.status == case.status
    assert steps[:2] == ["before GetItem", "after GetItem"]
    assert len(COMMITS & set(steps)) == 1
    return steps, first, outcome(checkpoint.world, case)


def keys() -> list[dict[str, Any]]:
    """Return the stored keys, without their response chunks."""
    return [item for item in plain_items()[TABLE] if item["part"] == "answer"]


def test_uncommitted_chunks_of_an_answer_are_ignored_and_expire(
    checkpoint: Checkpoint, count_cases: CaseCounter
) -> None:
    case = case_named("state replace, large")
    steps, first, _ = without_crash(case, checkpoint)
    own = len(plain_items()[TABLE])
    checkpoint.restore()
    with crash_at(steps.index("before TransactWriteItems")), pytest.raises(Crash):
        checkpoint.world.send(case, KEY)
    orphans = plain_items()[TABLE]
    assert len(orphans) == own - 1 > 1
    assert {int(item["expires_at"]) for item in orphans} == {checkpoint.world.now // 1000 + 24 * 60 * 60}
    again = checkpoint.world.send(case, KEY)
    assert again.json["turns"] == first.json["turns"]
    assert len(plain_items()[TABLE]) == len(orphans) + own
    assert checkpoint.world.send(case, KEY).text == again.text
    count_cases(faults=1, states=1)
