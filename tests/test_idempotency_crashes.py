"""A process that ends anywhere between a request and its kept answer: the same request again has the effect once.

Every POST and PATCH is run with its process ending before and after every request that it sends, and is sent again 31
seconds later. What is there then, what events that was, and the answer are those of a world in which nothing happened
to the process.
"""

import copy
import json
import re
from collections.abc import Callable, Iterable, Iterator
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
from tests.repeating import Case, World, each_case, world
from tests.selection import one_of_each
from tests.webhooks import pipeline

KEY = "crash"
TABLE = storage.table("idempotency")
SEALED = {"document", "metadata", "turns", "load", "convo", "received"}
# Marks, and pieces of what is sealed once more.
BY_DESIGN = {"written", "writing", "part"}
# They answer with what was before, which is not known any more once it is replaced.
WITH_OLD_TURNS = {"state replace", "state describe", "state shorten", "state replace, large"}

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
    """What a request has left: items with what is sealed in them, events, what is on its way, and a transcript."""

    items: dict[str, Any]
    events: list[str]
    queued: set[str]
    transcript: str


def outcome(there: World, case: Case) -> Outcome:
    """What there is now. A transcript may be too long for its item, and is read through the API."""
    events = sorted(json.dumps(one) for name in pipeline.WATCHED for one in pipeline.payloads(happened(name)))
    transcript = there.api.post(there.path(case), {}).text if case.operation == STATE else ""
    items = {
        name: {one["key"]: one for one in map(partial(opened, there, name), found)}
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
    """The engine's own tables: to ask for them takes too long."""
    return dynamodb_backends["123456789012"]["eu-west-1"].tables


def happened(name: str) -> list[pipeline.Record]:
    """The records of a table's stream. An iterator of the engine's would show what a transaction took back, too."""
    shard = engine_tables()[storage.table(name)].stream_shard
    return [pipeline.as_in_an_event(one.record, f"stream/{storage.table(name)}") for one in shard.items]


def opened(there: World, name: str, item: dict[str, Any]) -> dict[str, Any]:
    """An item with its documents as they were before they were sealed, without what differs by design."""
    table = engine_tables()[name]
    keys = [key for key in (table.hash_key_attr, table.range_key_attr) if key]
    place = "/".join((name, *(item[key] for key in keys)))
    documents = {
        attribute: encryption.unseal(there.workspace.workspace_id, f"{place}/{attribute}", item[attribute])
        for attribute in SEALED & item.keys()
    }
    rest = {attribute: value for attribute, value in item.items() if attribute not in {*SEALED, *BY_DESIGN, *keys}}
    if "chunks" in rest:
        rest["chunks"] = re.sub(r"\S+:", "", rest["chunks"])  # their lengths: the marks say when that was
    # The mark of what a write received says when that was, and is in its key.
    return {"key": re.sub("received#[^#]+", "received", place), **rest, **documents}


class Place(NamedTuple):
    """A world that can be gone back to."""

    there: World
    items: dict[str, Any]
    now: int

    def go_back(self) -> None:
        """As it was, to a process that has just served its caller; nothing is in a stream yet."""
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
def test_a_process_that_ends_with_its_answer_is_made_up_for(case: Case, place: Place, shown: Shown) -> None:
    """At the worst step: all is done, and nobody knows."""
    sweep(case, place, shown, lambda steps: [steps - 3])


@pytest.mark.long
@each_case
def test_wherever_the_process_ends_the_same_request_again_has_its_effect_once(
    case: Case, place: Place, shown: Shown
) -> None:
    sweep(case, place, shown, range)


def sweep(case: Case, place: Place, shown: Shown, choose: Callable[[int], Iterable[int]]) -> None:
    """End the process at those of a request's steps that `choose` picks, and send the request again."""
    there = place.there
    place.go_back()
    with ending(None) as steps:
        first = there.send(case, KEY)
    assert first.status == 200
    assert steps[0] == "before PutItem"
    assert steps[-1] == "after UpdateItem"
    expected = outcome(there, case)
    for at in choose(len(steps)):
        where = f"{case.id}: {at}, {steps[at]}"
        place.go_back()
        with ending(at), pytest.raises(Crash):
            there.send(case, KEY)
        if held()[TABLE]:
            there.now += 31_000  # otherwise nobody has asked for anything yet
        there.draw_alike()
        again = there.send(case, KEY)
        assert again.status == 200, (where, again.text)
        assert alike(case, first, again), (where, first.text[:500], again.text[:500])
        after = outcome(there, case)
        for told, there_is, wanted in zip(Outcome._fields, after, expected, strict=True):
            assert there_is == wanted, (where, told)
        assert is_stored(again), where
        assert there.send(case, KEY).text == again.text
        shown(faults=1, states=1, requests=3)


def alike(case: Case, first: Answer, again: Answer) -> bool:
    """Whether the answer is the one that was lost, but for the turns that were there before."""
    if first.text == again.text:
        return True
    without = {name: value for name, value in first.json.items() if name != "oldTurns"}
    return case.id in WITH_OLD_TURNS and without == again.json


def is_stored(answer: Answer) -> bool:
    """Whether the tag of the answer, where it has one, is the mark of a record."""
    tag = answer.headers.get("etag")
    marks = {item.get("written") for items in held().values() for item in items}
    return tag is None or tag.strip('"') in marks
