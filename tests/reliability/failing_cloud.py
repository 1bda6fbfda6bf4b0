"""A failing cloud, which injects realistic faults into requests between the SDK's clients and moto.

Time is simulated. Each attempt takes a realistic time, and the pauses of the SDK, PynamoDB and the service end at once.
The module implements transactions' idempotency tokens, because retries depend on them and moto ignores them.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectionClosedError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError
from botocore.retries.quota import RetryQuota
from moto.core.botocore_stubber import MockRawResponse
from moto.core.models import botocore_stubber

from chalicelib import clock, storage
from tests.fast_moto import over_http

_START = 1_750_000_000.0
# Durations in seconds: a normal response, a response just before the timeout of `connection.client`, and the client's
# two timeouts.
_ANSWER, _LATE, _CONNECT, _READ = 0.005, 4.8, 1.0, 4.9
_SERVICES = ("dynamodb", "kms", "sqs")
_REFUSALS = {
    "dynamodb": [
        (400, "ThrottlingException"),
        (400, "ProvisionedThroughputExceededException"),
        (400, "RequestLimitExceeded"),
        (500, "InternalServerError"),
        (503, "ServiceUnavailable"),
    ],
    "kms": [(400, "ThrottlingException"), (500, "KMSInternalException"), (503, "DependencyTimeoutException")],
    "sqs": [(400, "RequestThrottled"), (500, "InternalFailure"), (503, "ServiceUnavailable")],
}
_WRITES = {"PutItem", "UpdateItem", "DeleteItem"}
_PARTS = {"BatchGetItem": ("UnprocessedKeys", "Responses"), "BatchWriteItem": ("UnprocessedItems", None)}

Weather = dict[str, float]
CALM: Weather = {}


class Cloud:
    """A network that injects faults at the probabilities in `weather`, and counts them in `faults`."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.weather = CALM
        self.now = _START
        self.faults: Counter[str] = Counter()
        self._done: dict[str, tuple[int, Any, Any]] = {}

    def change(self) -> None:
        """Choose new fault probabilities, up to 1, for one service or all services."""
        services = self.chance.choice([["dynamodb"], ["dynamodb", "kms", "sqs"], ["kms"], ["sqs"]])
        self.weather = dict.fromkeys(services, self.chance.choice([0.05, 0.2, 0.5, 0.8, 1.0]))

    def sleep(self, seconds: float) -> None:
        """Advance the simulated time."""
        self.now += seconds

    def answer(self, event_name: str, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        """Replace the network: return a response or raise a fault."""
        service, operation = event_name.split(".")[1:3]
        self.sleep(_ANSWER)
        if self.chance.random() >= self.weather.get(service, 0):
            return self._served(operation, request)
        faults: list[Callable[[str, str, AWSPreparedRequest], AWSResponse]] = [
            self._out_of_reach,
            self._silent,
            self._refused,
            self._refused,
            self._lost,
            self._failed_afterwards,
            self._late,
            *[self._in_part] * (4 * (operation in _PARTS)),
            *[self._taken_in_part] * (8 * (operation == "SendMessageBatch")),
            *[self._collided] * (2 * (operation in _WRITES)),
            *[self._cancelled, self._cancelled, self._in_progress] * (operation == "TransactWriteItems"),
        ]
        fault = self.chance.choice(faults)
        self.faults[f"{service} {fault.__name__.removeprefix('_')}"] += 1
        return fault(service, operation, request)

    def _served(self, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        transaction = operation == "TransactWriteItems"
        token: str = json.loads(request.body).get("ClientRequestToken", "") if transaction else ""
        answered = self._done.get(token) or _processed(request)
        if token and answered[0] == 200:
            self._done[token] = answered
        status, headers, body = answered
        return AWSResponse(request.url, status, headers, MockRawResponse(body))

    # After these faults, the request has had no effect.

    def _out_of_reach(self, service: str, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        if self.chance.random() < 0.5:
            raise EndpointConnectionError(endpoint_url=request.url)
        self.sleep(_CONNECT)
        raise ConnectTimeoutError(endpoint_url=request.url)

    def _silent(self, service: str, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        self.sleep(_READ)
        raise ReadTimeoutError(endpoint_url=request.url)

    def _refused(self, service: str, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        if self.chance.random() < 0.2:  # a load balancer's response is not JSON
            return _answered(request, self.chance.choice([500, 502, 503, 504]), "<html>busy</html>")
        return _error(request, *self.chance.choice(_REFUSALS[service]))

    def _collided(self, service: str, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        return _error(request, 400, "TransactionConflictException")

    def _in_progress(self, service: str, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        return _error(request, 400, "TransactionInProgressException")

    def _cancelled(self, service: str, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        if json.loads(request.body)["ClientRequestToken"] in self._done:
            return self._served(operation, request)  # a transaction that is already applied cannot be cancelled
        codes = ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"]
        code = self.chance.choice([codes[0], *codes])
        reasons = [{"Code": "None"} for _ in json.loads(request.body)["TransactItems"]]
        for one in self.chance.sample(reasons, self.chance.randint(1, len(reasons))):
            one |= {"Code": code, "Message": "Not now."}
        listed = ", ".join(one["Code"] for one in reasons)
        message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{listed}]"
        return _error(request, 400, "TransactionCanceledException", message, CancellationReasons=reasons)

    # After these faults, the request has taken effect, but the response is lost or late.

    def _lost(self, service: str, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        self._served(operation, request)
        if self.chance.random() < 0.5:
            raise ConnectionClosedError(endpoint_url=request.url)
        self.sleep(_READ)
        raise ReadTimeoutError(endpoint_url=request.url)

    def _failed_afterwards(self, service: str, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        self._served(operation, request)
        return _error(request, 500, _REFUSALS[service][-2][1])

    def _late(self, service: str, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        self.sleep(_LATE)
        return self._served(operation, request)

    # After these faults, part of the request has taken effect.

    def _in_part(self, service: str, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        left_over, responses = _PARTS[operation]
        requested_items = json.loads(request.body)["RequestItems"]
        done: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for table, part_of_table in requested_items.items():
            items = part_of_table["Keys"] if responses else part_of_table
            cut = self.chance.randint(0, len(items))
            for part, some in ((done, items[:cut]), (rest, items[cut:])):
                if some:
                    part[table] = {**part_of_table, "Keys": some} if responses else some
        answer: dict[str, Any] = {responses: {table: [] for table in requested_items}} if responses else {}
        if done:
            request.body = json.dumps({**json.loads(request.body), "RequestItems": done}).encode()
            served = json.loads(_processed(request)[2])
            answer = {responses: {**answer[responses], **served[responses]}} if responses else {}
        return _answered(request, 200, json.dumps({**answer, left_over: rest}))

    def _taken_in_part(self, service: str, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        entries = json.loads(request.body)["Entries"]
        failed = [{"Id": one["Id"], "SenderFault": False, "Code": "InternalError"} for one in entries]
        return _answered(request, 200, json.dumps({"Successful": [], "Failed": failed}))


def _processed(request: AWSPreparedRequest) -> tuple[int, Any, Any]:
    answered = botocore_stubber.process_request(request)
    assert answered is not None, "moto does not implement this service"
    return answered


@contextmanager
def hostile_cloud(chance: random.Random, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """Put a cloud between the process's clients and moto inside the block. Initially, the cloud injects no faults."""
    cloud = Cloud(chance)
    monkeypatch.setattr(time, "sleep", cloud.sleep)
    monkeypatch.setattr(clock, "monotonic", lambda: cloud.now)
    monkeypatch.setattr(clock, "milliseconds", lambda: int(cloud.now * 1000))
    # A full SDK retry quota allows the most attempts and therefore the longest waits.
    monkeypatch.setattr(RetryQuota, "acquire", lambda quota, amount: True)
    clients = [storage.sdk_client(service).meta.events for service in _SERVICES]
    for events in clients:
        events.unregister("before-send", botocore_stubber)
        events.register("before-send", cloud.answer)
    try:
        with over_http():
            yield cloud
    finally:
        for events in clients:
            events.unregister("before-send", cloud.answer)
            events.register("before-send", botocore_stubber)


def _error(request: AWSPreparedRequest, status: int, code: str, message: str = "Not now.", **more: Any) -> AWSResponse:
    return _answered(request, status, json.dumps({"__type": f"com.amazonaws#{code}", "message": message, **more}))


def _answered(request: AWSPreparedRequest, status: int, text: str) -> AWSResponse:
    return AWSResponse(request.url, status, {"Content-Type": "application/x-amz-json-1.0"}, MockRawResponse(text))
