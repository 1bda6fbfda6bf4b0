"""The engine's answers: recorded once from moto, and played back to every stack without a network.

At the SDK's `before-send`, below all that a stack is made of: requests are made and signed, answers are checked and
parsed as ever. A request finds its answer by its operation and its body; a write, whose body is new each time
(ciphertext, time), by its operation alone.
"""

import pickle
from pathlib import Path
from typing import Any, NamedTuple

import botocore.handlers
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

_Wanted = tuple[bytes, bytes]
_WRITES = (b"PutItem", b"UpdateItem", b"TransactWriteItems")


class Recording(NamedTuple):
    """What a stack is asked and answers, and what the engine answers to it.

    `expected` is the normal form of its answer for each event; `replies` have status, headers and body.
    """

    environment: dict[str, str]
    events: dict[str, str]
    expected: dict[str, Any]
    replies: dict[_Wanted, tuple[int, dict[str, str], bytes]]


def wanted(request: AWSPreparedRequest) -> _Wanted:
    """What a request is found by."""
    operation: bytes = request.headers["X-Amz-Target"].rpartition(b".")[2]
    body: bytes = request.body
    return operation, b"" if operation in _WRITES else body


def save(path: Path, recording: Recording) -> None:
    """Write a recording for the process of its stack."""
    path.write_bytes(pickle.dumps(recording))


def load(path: Path) -> Recording:
    """Read what `save` has written; a file of this suite's own, in its own directory."""
    recording: Recording = pickle.loads(path.read_bytes())  # noqa: S301
    return recording


class Engine:
    """Answers the requests of all clients that are made from now on; `replies` are those of the stack that runs."""

    def __init__(self) -> None:
        self.replies: dict[_Wanted, AWSResponse] = {}
        botocore.handlers.BUILTIN_HANDLERS.append(("before-send", self._reply))

    def _reply(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        return self.replies[wanted(request)]


def playable(recording: Recording) -> dict[_Wanted, AWSResponse]:
    """The replies as the SDK takes them, made beforehand."""
    return {key: _response(*reply) for key, reply in recording.replies.items()}


def _response(status: int, headers: dict[str, str], body: bytes) -> AWSResponse:
    made = AWSResponse("", status, headers, None)
    made._content = body
    return made
