"""Processes that die at a chosen step: before or after any request to the engine, the queue, the keys or a receiver.

A crash is an exception that nobody catches, and from then on the same exception at every step of every thread of the
invocation: a process that is killed does nothing more, whatever its other threads were about to do.
"""

import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from botocore.awsrequest import AWSResponse
from moto.dynamodb.models import DynamoDBBackend

from chalicelib import storage
from chalicelib.webhooks import sender
from tests.webhooks import pipeline

SERVICES = ("dynamodb", "sqs", "kms")
POST = "POST"


class Crash(BaseException):
    """The process is dead."""


class Step(NamedTuple):
    """A request of one kind, and the side of it."""

    side: str
    request: str

    def __str__(self) -> str:
        return f"{self.side} {self.request}"


class Process:
    """One invocation after the other; a plan says at which step, and after how many of its kind, the next one dies."""

    def __init__(self) -> None:
        self.seen: Counter[Step] = Counter()
        self.crashes: Counter[Step] = Counter()
        # Deliveries by their keys: claimed in the ledger, and with an outcome in it.
        self.claimed: set[tuple[str, str]] = set()
        self.settled: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._plan: tuple[Step, int] | None = None
        self._running = self._dead = False

    def run(self, function: Callable[[], object], plan: tuple[Step, int] | None) -> bool:
        """Run an invocation; False when it died."""
        self._plan, self._running, self._dead = plan, True, False
        try:
            function()
        except Crash:
            return False
        finally:
            self._running = False
        return not self._dead

    def pass_(self, step: Step) -> None:
        """A thread comes by a step. Raises Crash when its invocation has ended here, or somewhere else before."""
        if not self._running:
            return  # the test itself
        with self._lock:
            if not self._dead:
                self.seen[step] += 1
                if self._plan is not None and self._plan[0] == step:
                    self._plan = (step, self._plan[1] - 1) if self._plan[1] else None
                    if self._plan is None:
                        self.crashes[step] += 1
                        self._dead = True
            if self._dead:
                raise Crash(str(step))

    def note(self, request: str, parameters: dict[str, Any]) -> None:
        """A request has reached the engine, and was answered well."""
        if request == "PutItem deliveries":
            self.claimed.add(_key(parameters["Item"]))
        if request == "UpdateItem deliveries":
            self.settled.add(_key(parameters["Key"]))


def _key(item: dict[str, dict[str, str]]) -> tuple[str, str]:
    return item["webhook"]["S"], item["delivery_id"]["S"]


def make_atomic(patch: Callable[[Any, str, Any], None]) -> None:
    """Let moto check a condition and write in one go, as the database does: between its threads it does not."""
    lock = threading.RLock()

    def locked(write: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            with lock:
                return write(*arguments, **named)

        return call

    for name in ("put_item", "update_item"):
        patch(DynamoDBBackend, name, locked(getattr(DynamoDBBackend, name)))


@contextmanager
def watched(process: Process, patch: Callable[[Any, str, Any], None]) -> Iterator[None]:
    """Let every request inside the block pass by the process; `patch` is that of pytest's monkeypatch."""

    def before(model: Any, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        parameters = json.loads(params["body"]) if params.get("body") else {}
        context["crashes"] = request = _name(model.name, parameters)
        context["parameters"] = parameters
        process.pass_(Step("before", request))

    def after(parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        if "Error" not in parsed:
            process.note(context["crashes"], context["parameters"])
        process.pass_(Step("after", context["crashes"]))

    def post(*arguments: Any) -> sender.Outcome:
        process.pass_(Step("before", POST))
        outcome = _post(*arguments)
        process.pass_(Step("after", POST))
        return outcome

    patch(sender, "post", post)
    clients = [(service, storage.sdk_client(service).meta.events) for service in SERVICES]
    for service, events in clients:
        events.register_first(f"before-call.{service}", before)
        events.register_last(f"after-call.{service}", after)
    try:
        yield
    finally:
        for service, events in clients:
            events.unregister(f"before-call.{service}", before)
            events.unregister(f"after-call.{service}", after)


_post = sender.post


class Queues:
    """Queues that keep no order and now and then hand a message over twice; moto's take a second for 1,000 messages."""

    def __init__(self, random_: random.Random) -> None:
        self._random = random_
        self._texts: dict[str, list[str]] = {}

    def take(self, lane: str) -> pipeline.Held:
        """As many messages as one invocation gets: ten at most. They are off the queue until they are given back."""
        texts = self._texts.setdefault(lane, [])
        self._random.shuffle(texts)
        taken, texts[:10] = texts[:10], []
        if taken and self._random.random() < 0.2:
            texts.append(taken[0])
        return pipeline.Held(lane, [{"Body": text, "MessageId": "", "ReceiptHandle": ""} for text in taken])

    def give_back(self, held: pipeline.Held) -> None:
        self._texts[held.lane] += held.bodies

    def is_empty(self) -> bool:
        return not any(self._texts.values())

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Inside the block what is sent to any queue is here."""

        def take(model: Any, params: dict[str, Any], **_: Any) -> tuple[AWSResponse, dict[str, Any]] | None:
            if model.name != "SendMessageBatch":
                return None
            sent = json.loads(params["body"])
            lane = sent["QueueUrl"].rpartition("/")[2].removeprefix(storage.table(""))
            self._texts.setdefault(lane, []).extend(one["MessageBody"] for one in sent["Entries"])
            return AWSResponse("", 200, {}, None), {}

        events = storage.sdk_client("sqs").meta.events
        events.register_last("before-call.sqs", take)
        try:
            yield
        finally:
            events.unregister("before-call.sqs", take)


def _name(operation: str, parameters: dict[str, Any]) -> str:
    """The operation, and the table or the queue that it is for."""
    where = parameters.get("TableName") or parameters.get("QueueUrl") or parameters.get("QueueName") or ""
    return f"{operation} {where.rpartition('/')[2].removeprefix(storage.table(''))}".strip()
