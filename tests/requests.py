"""The requests that the service sends to its engine: counted, or for a test refused or left without an answer.

At the SDK's clients, below everything of ours and of PynamoDB's: a request that nobody meant to send is
counted as well, and a refusal goes the way of a real one.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.exceptions import ReadTimeoutError

from chalicelib import storage
from tests.direct_moto import over_http

_SERVICES = ("dynamodb", "kms", "sqs")


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """The requests sent inside the block, each attempt of each: operation name -> how many."""
    sent: Counter[str] = Counter()

    def note(operation_name: str, **_: Any) -> None:
        sent[operation_name] += 1

    for service in _SERVICES:
        storage.sdk_client(service).meta.events.register(f"request-created.{service}", note)
    try:
        with over_http():
            yield sent
    finally:
        for service in _SERVICES:
            storage.sdk_client(service).meta.events.unregister(f"request-created.{service}", note)


@contextmanager
def answer_lost_once(operation_name: str) -> Iterator[None]:
    """Inside the block the first request of an operation reaches the engine, but its answer gets lost."""
    lost: list[str] = []

    def lose(event_name: str, **_: Any) -> None:
        if event_name.endswith(f".{operation_name}") and not lost:
            lost.append(event_name)
            raise ReadTimeoutError(endpoint_url="the engine")

    events = storage.sdk_client("dynamodb").meta.events
    events.register_last("before-send", lose)  # behind moto, which answers there
    try:
        with over_http():
            yield
    finally:
        events.unregister("before-send", lose)
    assert lost, "no such request was sent"


@contextmanager
def refused_by_the_engine(operation_name: str, code: str) -> Iterator[None]:
    """Inside the block an operation is not sent, and answered with an error of this code."""
    parsed = {"Error": {"Code": code, "Message": "Refused for a test"}, "ResponseMetadata": {"HTTPStatusCode": 400}}

    def refuse(**_: Any) -> tuple[AWSResponse, dict[str, Any]]:
        return AWSResponse("", 400, {}, None), parsed

    events = storage.sdk_client("dynamodb").meta.events
    name = f"before-call.dynamodb.{operation_name}"
    events.register_first(name, refuse)
    try:
        yield
    finally:
        events.unregister(name, refuse)
