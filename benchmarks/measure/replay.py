"""Repeat a request of this process with the engine's recorded answers: what remains is the CPU time of the process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from benchmarks.overhead.recorded import request_key, response
from chalicelib import storage

Replies = dict[Any, AWSResponse]


@contextmanager
def recorded() -> Iterator[Replies]:
    """Record the engine's answers to all requests inside the block."""
    replies: Replies = {}
    asked: list[Any] = []

    def note_request(request: AWSPreparedRequest, **_: Any) -> None:
        asked.append(request_key(request))

    def note_answer(response_dict: dict[str, Any], **_: Any) -> None:
        answer = response_dict["status_code"], dict(response_dict["headers"]), response_dict["body"]
        replies[asked[-1]] = response(*answer)

    events = storage.sdk_client("dynamodb").meta.events
    events.register("before-send.dynamodb", note_request)
    events.register("before-parse.dynamodb", note_answer)
    try:
        yield replies
    finally:
        events.unregister("before-send.dynamodb", note_request)
        events.unregister("before-parse.dynamodb", note_answer)


class Player:
    """Answers all requests from `replies`."""

    def __init__(self) -> None:
        self.replies: Replies = {}

    @contextmanager
    def playing(self) -> Iterator[None]:
        """Take the place of the engine inside the block."""
        events = storage.sdk_client("dynamodb").meta.events
        events.register_first("before-send.dynamodb", self._reply)
        try:
            yield
        finally:
            events.unregister("before-send.dynamodb", self._reply)

    def _reply(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        return self.replies[request_key(request)]
