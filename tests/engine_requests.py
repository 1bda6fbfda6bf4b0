"""Functions that count or reject the service's requests to its engine, or drop the responses.

The functions hook into the SDK's clients, beneath CAMS and PynamoDB. They therefore also count unintended requests, and
injected errors take the same path as real errors.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.exceptions import ReadTimeoutError

from chalicelib import storage
from tests.fast_moto import over_http

_SERVICES = ("dynamodb", "kms", "sqs")


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the requests inside the block by operation name, including retries."""
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
def lose_first_answer(operation_name: str) -> Iterator[None]:
    """Lose the response to the first request of an operation inside the block, after the engine applied it."""
    lost: list[str] = []

    def lose(event_name: str, **_: Any) -> None:
        if event_name.endswith(f".{operation_name}") and not lost:
            lost.append(event_name)
            raise ReadTimeoutError(endpoint_url="the engine")

    events = storage.sdk_client("dynamodb").meta.events
    events.register_last("before-send", lose)  # runs after moto's handler of this event, which responds
    try:
        with over_http():
            yield
    finally:
        events.unregister("before-send", lose)
    assert lost, "no such request was sent"


@contextmanager
def refuse_operation(operation_name: str, code: str) -> Iterator[None]:
    """Respond to an operation with this error code inside the block. The engine does not receive the request."""
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
