"""A process that ends anywhere in a keyed request: the same request, sent again, has one effect and one answer.

Every POST and PATCH is run with its process ending before and after every request that it sends. The same request is
sent again at once. What is stored then, the events, the queue and the answer are those of a process that did not end.
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
from chalicelib.storage import encryption
from chalicelib.webhooks import queue
from tests.api import Answer
from tests.conftest import clear
from tests.operations import STATE
from tests.promises import Shown
from tests.repeating import Case, World, each_case, named, world
from tests.selection import one_of_each
from tests.webhooks import pipeline

KEY = "crash"
TABLE = storage.table("idempotency")
REPLAYED = "idempotency-replayed"
SEALED = {"document", "metadata", "turns", "load", "convo", "received", "part"}

pytestmark = pytest.mark.promise("repeated")


class Crash(BaseException):
    """The process has ended."""


@contextmanager
def ending(at: int | None) -> Iterator[list[str]]:
    """Inside, the process ends at this step, and does nothing from then on; the steps that it came to.

    A step is before a request to the database, the queue or the keys is sent, or after, when its answer is lost.
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
    """What a request leaves: items with what is sealed in them, events, what is queued, and a transcript."""

    items: dict[str, Any]
    events: list[str]
    queued: set[str]
    transcript: str


def outcome(there: World, case: Case) -> Outcome:
    """What is stored now. A transcript may be too long for its item, and is read through the API."""
    events = sorted(json.dumps(one) for name in pipeline.WATCHED for one in pipeline.payloads(happened(name)))
    transcript = there.api.post(there.path(case), {}).text if case.operation == STATE else ""
    items = {
        name: sorted(map(partial(opened, there, name), found), key=repr)
        for name, found in held().items()
        if name != TABLE
    }
    return Outcome(items, events, set(pipeline.waiting(queue.FAST)), transcript)


def held() -> dict[str, list[dict[str, Any]]]:
    """Every item of every table, its values without their types."""
    return {
        name: [
            {attribute: next(iter(value.values())) for attribute, value in item.to_json()["Attributes"].items()}
            for item in table.all_items()
        ]
        for name, table in engine_tables().items()
    }


def engine_tables() -> Any:
    """The engine's own tables: a scan through its API is slow."""
    return dynamodb_backends["123456789012"]["eu-west-1"].tables


def happened(name: str) -> list[pipeline.Record]:
    """The records of a table's stream. An iterator of the engine's would show what a transaction took back, too."""
    shard = engine_tables()[storage.table(name)].stream_shard
    return [pipeline.as_in_an_event(one.record, f"stream/{storage.table(name)}") for one in shard.items]


def opened(there: World, name: str, item: dict[str, Any]) -> dict[str, Any]:
    """An item with its documents as they were before they were sealed."""
    table = engine_tables()[name]
    keys = [key for key in (table.hash_key_attr, table.range_key_attr) if key]
    place = "/".join((name, *(item[key] for key in keys)))
    documents = {
        attribute: encryption.unseal(there.workspace.workspace_id, f"{place}/{attribute}", item[attribute])
        for attribute in SEALED & item.keys()
    }
    return {**item, **documents}


class Place(NamedTuple):
    """A world that can be gone back to."""

    there: World
    items: dict[str, Any]
    now: int

    def go_back(self) -> None:
        """As it was, to a process that has just served its caller; the streams are empty."""
        clear()
        for name, table in engine_tables().items():
            table.items.update(copy.deepcopy(self.items[name]))
            if table.stream_shard:
                table.stream_shard.items.clear()
        self.there.now = self.now
        assert self.there.api.get("/v2/orgs/acme").status == 200
        pipeline.waiting(queue.FAST)
        self.there.draw_alike()


@pytest.fixture
def place(engine: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with world(monkeypatch) as there:
        there.api.get("/v2/orgs/acme")
        items = {name: copy.deepcopy(dict(table.items)) for name, table in engine_tables().items()}
        yield Place(there, items, there.now)


@one_of_each(lambda case: case.record)
@each_case
def test_the_same_request_has_one_effect_and_one_answer_wherever_its_process_ends(
    case: Case, place: Place, shown: Shown
) -> None:
    steps, first, expected = undisturbed(case, place)
    commit = next(number for number, step in enumerate(steps) if step in COMMITS)
    for at, step in enumerate(steps):
        where = f"{case.id}: {at}, {step}"
        place.go_back()
        with ending(at), pytest.raises(Crash):
            place.there.send(case, KEY)
        is_committed = at > commit
        assert bool(keys()) == is_committed, where
        place.there.draw_alike()
        again = place.there.send(case, KEY)
        assert (again.status, again.text) == (200, first.text), where
        assert again.headers.get("etag") == first.headers.get("etag"), where
        assert (REPLAYED in again.headers) == is_committed, where
        for part, found, wanted in zip(Outcome._fields, outcome(place.there, case), expected, strict=True):
            assert found == wanted, (where, part)
        assert place.there.send(case, KEY).text == again.text
        shown(faults=1, states=1, requests=3)


COMMITS = {"before PutItem", "before TransactWriteItems"}


def undisturbed(case: Case, place: Place) -> tuple[list[str], Answer, Outcome]:
    """The steps of a keyed request, its answer, and what it leaves. All its writes are one commit."""
    place.go_back()
    with ending(None) as steps:
        first = place.there.send(case, KEY)
    assert first.status == 200
    assert steps[:2] == ["before GetItem", "after GetItem"]
    assert len(COMMITS & set(steps)) == 1
    return steps, first, outcome(place.there, case)


def keys() -> list[dict[str, Any]]:
    """The stored keys, without the pieces of their answers."""
    return [item for item in held()[TABLE] if item["part"] == "answer"]


def test_pieces_of_an_answer_that_no_commit_names_harm_nothing_and_expire(place: Place, shown: Shown) -> None:
    case = named("state replace, large")
    steps, first, _ = undisturbed(case, place)
    own = len(held()[TABLE])
    place.go_back()
    with ending(steps.index("before TransactWriteItems")), pytest.raises(Crash):
        place.there.send(case, KEY)
    orphans = held()[TABLE]
    assert len(orphans) == own - 1 > 1
    assert {int(item["expires_at"]) for item in orphans} == {place.there.now // 1000 + 24 * 60 * 60}
    again = place.there.send(case, KEY)
    assert again.json["turns"] == first.json["turns"]
    assert len(held()[TABLE]) == len(orphans) + own
    assert place.there.send(case, KEY).text == again.text
    shown(faults=1, states=1)
