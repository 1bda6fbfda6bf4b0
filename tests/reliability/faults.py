"""Fault injection into any single request from this process to the local engine.

The fault occurs in the SDK's HTTP layer, beneath CAMS and PynamoDB, so that all their error handling runs.
"""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, get_args

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSPreparedRequest, AWSRequest, AWSResponse
from botocore.credentials import Credentials
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError
from botocore.httpsession import URLLib3Session
from botocore.retries.quota import RetryQuota

from chalicelib import storage
from infra.local.children import REGION, Engine
from tests.engines import clear_caches

_SIGNATURE = ("Authorization", "X-Amz-Date", "X-Amz-Security-Token")
_SERVICES = ("dynamodb", "dynamodbstreams", "kms", "sqs")

Kind = Literal["dies before", "dies after", "refused", "answer lost", "answers lost"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Died(BaseException):
    """The simulated death of the process. No handler in the service catches this exception."""


class Fault(NamedTuple):
    """A fault: its kind, and the index of the request that it affects.

    The process dies before or after the request, every attempt is rejected, or responses are lost. If only the first
    response is lost, the SDK's retry succeeds. If all responses are lost, the SDK gives up.
    """

    kind: Kind
    at: int

    @property
    def is_death(self) -> bool:
        """Return whether the fault kills the process."""
        return self.kind.startswith("dies")


class Line:
    """A connection to the engine that can inject a fault."""

    def __init__(self, engine: Engine) -> None:
        self._url, self._credentials = engine.url, Credentials(engine.access_key, engine.secret_key)
        self._session = URLLib3Session(socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)])
        self._sent: list[str] = []
        self._fault: Fault | None = None

    @contextmanager
    def cut(self, fault: Fault | None = None) -> Iterator[list[str]]:
        """Inject the fault inside the block. Yield the names of the requests that the block sends."""
        sent: list[str] = []
        self._sent, self._fault = sent, fault
        try:
            yield sent
        finally:
            self._sent, self._fault = [], None

    def begin(self, model: Any, **_: Any) -> None:
        """Record a new request before its first attempt."""
        if self._fault and self._fault.is_death and len(self._sent) > self._fault.at:
            raise Died()
        self._sent.append(model.name)

    def carry(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        """Send an attempt of the latest request, with the fault if one is due."""
        fault = self._fault
        if fault is None or len(self._sent) != fault.at + 1:
            return self._deliver(request)
        if fault.kind == "dies before":
            raise Died()
        if fault.kind == "refused":
            raise ConnectTimeoutError(endpoint_url=request.url)
        self._deliver(request)
        if fault.kind == "dies after":
            raise Died()
        if fault.kind == "answer lost":
            self._fault = None
        raise ReadTimeoutError(endpoint_url=request.url)

    def _deliver(self, request: AWSPreparedRequest) -> AWSResponse:
        """Sign the attempt with the engine's credentials and region, and send it to the engine."""
        url = re.sub("^https?://[^/]+", self._url, request.url)
        headers = {
            name: value.decode() if isinstance(value, bytes) else value for name, value in request.headers.items()
        }
        _, _, _, service, _ = headers["Authorization"].split(",")[0].split("/")
        unsigned = {name: value for name, value in headers.items() if name not in _SIGNATURE}
        signed = AWSRequest(request.method, url, unsigned, request.body)
        SigV4Auth(self._credentials, service, REGION).add_auth(signed)
        return self._session.send(signed.prepare())


@contextmanager
def line_to(engine: Engine) -> Iterator[Line]:
    """Connect the process's clients to the engine inside the block, without pauses between attempts."""
    line = Line(engine)
    clients = [(name, storage.sdk_client(name).meta.events) for name in _SERVICES]
    clear_caches()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _: None))
        patch.setattr(RetryQuota, "acquire", lambda quota, amount: True)  # a new process starts with a full retry quota
        for name, events in clients:
            events.register_first(f"before-call.{name}", line.begin)
            events.register_last("before-send", line.carry)
        try:
            yield line
        finally:
            for name, events in clients:
                events.unregister(f"before-call.{name}", line.begin)
                events.unregister("before-send", line.carry)
            clear_caches()
