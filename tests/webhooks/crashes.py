"""Crashes at a chosen step: before or after any request to the database, the queues, KMS or a receiver.

A crash is an exception that no code catches. Afterwards, every step in every thread of the invocation raises it again,
because a killed process does nothing more.
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
from chalicelib.sending import sender
from tests.webhooks import pipeline

SERVICES = ("dynamodb", "sqs", "kms")
POST = "POST"


class Crash(BaseException):
    """The simulated process is killed."""


class Step(NamedTuple):
    """A point in time before or after a kind of request."""

    side: str
    request: str

    def __str__(self) -> str:
        return f"{self.side} {self.request}"


class Process:
    """Runs invocations sequentially. Each plan names a step, and how many times the process passes the step before it
    crashes there."""

    def __init__(self) -> None:
        self.seen: Counter[Step] = Counter()
        self.crashes: Counter[Step] = Counter()
        # The ledger keys of the claimed deliveries, and of the deliveries with a recorded outcome.
        self.claimed: set[tuple[str, str]] = set()
        self.recorded: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._plan: tuple[Step, int] | None = None
        self._running = self._dead = False

    def run(self, function: Callable[[], object], plan: tuple[Step, int] | None) -> bool:
        """Run an invocation; return False if it crashed."""
        self._plan, self._running, self._dead = plan, True, False
        try:
            function()
        except Crash:
            return False
        finally:
            self._running = False
        return not self._dead

    def pass_(self, step: Step) -> None:
        """Register that a thread has reached a step.

        Raise `Crash` if the invocation crashes here, or has already crashed.
        """
        if not self._running:
            return  # the test itself sent the request
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

    def record(self, request: str, parameters: dict[str, Any]) -> None:
        """Record a successful request to the database."""
        if request == "PutItem deliveries":
            self.claimed.add(_key(parameters["Item"]))
        if request == "UpdateItem deliveries":
            self.recorded.add(_key(parameters["Key"]))


def _key(item: dict[str, dict[str, str]]) -> tuple[str, str]:
    return item["webhook"]["S"], item["delivery_id"]["S"]


def make_atomic(patch: Callable[[Any, str, Any], None]) -> None:
    """Make moto check a condition and write atomically, as DynamoDB does. In moto itself, threads interleave."""
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
    """Make every request inside the block a step of the process.

    `patch` is the `setattr` method of pytest's `monkeypatch`.
    """

    def before(model: Any, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        parameters = json.loads(params["body"]) if params.get("body") else {}
        context["crashes"] = request = _name(model.name, parameters)
        context["parameters"] = parameters
        process.pass_(Step("before", request))

    def after(parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        if "Error" not in parsed:
            process.record(context["crashes"], context["parameters"])
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
    """Unordered queues that sometimes deliver a message twice, and are faster than moto's queues."""

    def __init__(self, random_: random.Random) -> None:
        self._random = random_
        self._texts: dict[str, list[str]] = {}

    def take(self, queue_name: str) -> pipeline.Held:
        """Take at most ten messages, for one invocation. They stay off the queue unless `give_back` returns them."""
        texts = self._texts.setdefault(queue_name, [])
        self._random.shuffle(texts)
        taken, texts[:10] = texts[:10], []
        if taken and self._random.random() < 0.2:
            texts.append(taken[0])
        return pipeline.Held(queue_name, [{"Body": text, "MessageId": "", "ReceiptHandle": ""} for text in taken])

    def give_back(self, held: pipeline.Held) -> None:
        self._texts[held.queue_name] += held.bodies

    def is_empty(self) -> bool:
        return not any(self._texts.values())

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Redirect messages to any SQS queue into these queues inside the block."""

        def take(model: Any, params: dict[str, Any], **_: Any) -> tuple[AWSResponse, dict[str, Any]] | None:
            if model.name != "SendMessageBatch":
                return None
            sent = json.loads(params["body"])
            queue_name = sent["QueueUrl"].rpartition("/")[2].removeprefix(storage.table(""))
            self._texts.setdefault(queue_name, []).extend(one["MessageBody"] for one in sent["Entries"])
            return AWSResponse("", 200, {}, None), {}

        events = storage.sdk_client("sqs").meta.events
        events.register_last("before-call.sqs", take)
        try:
            yield
        finally:
            events.unregister("before-call.sqs", take)


def _name(operation: str, parameters: dict[str, Any]) -> str:
    """Return the operation and the name of its table or queue."""
    where = parameters.get("TableName") or parameters.get("QueueUrl") or parameters.get("QueueName") or ""
    return f"{operation} {where.rpartition('/')[2].removeprefix(storage.table(''))}".strip()
