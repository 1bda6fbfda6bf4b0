"""The line between the service and the local engine, in this process: it can be cut at any one request.

At the SDK's clients, below everything of ours and of PynamoDB's: what happens to a request here happens to it in a
cloud, and what the SDK, PynamoDB and we do about it is all there.
"""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, get_args

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError
from botocore.httpsession import URLLib3Session
from botocore.retries.quota import RetryQuota

from chalicelib import storage
from infra.local.children import Engine
from tests.conftest import clear_caches

_SERVICES = ("dynamodb", "dynamodbstreams", "kms", "sqs")

Kind = Literal["dies before", "dies after", "refused", "answer lost", "answers lost"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Died(BaseException):
    """The process has ended: nothing in it catches this."""


class Fault(NamedTuple):
    """What happens, and at which of a block's requests, from 0 on.

    The process dies before or after it; or every attempt of it is refused; or the answer is lost of its first
    attempt, which the SDK repeats, or of each attempt, until the SDK gives up.
    """

    kind: Kind
    at: int

    @property
    def is_death(self) -> bool:
        """Whether the process is no more."""
        return self.kind.startswith("dies")


class Line:
    """Carries requests to the engine."""

    def __init__(self, engine: Engine) -> None:
        self._url = engine.url
        self._session = URLLib3Session(socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)])
        self._sent: list[str] = []
        self._fault: Fault | None = None

    @contextmanager
    def cut(self, fault: Fault | None = None) -> Iterator[list[str]]:
        """Inside the block the fault happens; the names of the requests that the block has come to."""
        sent: list[str] = []
        self._sent, self._fault = sent, fault
        try:
            yield sent
        finally:
            self._sent, self._fault = [], None

    def begin(self, model: Any, **_: Any) -> None:
        """A request is made; attempts of it follow."""
        if self._fault and self._fault.is_death and len(self._sent) > self._fault.at:
            raise Died()
        self._sent.append(model.name)

    def carry(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        """An attempt of the last request that was made."""
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
        request.url = re.sub("^https?://[^/]+", self._url, request.url)
        return self._session.send(request)


@contextmanager
def line_to(engine: Engine) -> Iterator[Line]:
    """Inside the block the process's clients are on the line; nobody waits between two attempts."""
    line = Line(engine)
    clients = [(name, storage.sdk_client(name).meta.events) for name in _SERVICES]
    clear_caches()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _: None))
        patch.setattr(RetryQuota, "acquire", lambda quota, amount: True)  # a process that has had no failures yet
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
