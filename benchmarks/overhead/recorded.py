"""The engine's answers: recorded once from moto, and played back to every stack without a network.

The replay hooks into the SDK's `before-send`, below all code of a stack. The SDK builds and signs requests and parses
answers as usual. The operation and the body select the answer. The body of a write differs in every run (ciphertext,
time), so its operation alone selects the answer.
"""

import pickle
from pathlib import Path
from typing import Any, NamedTuple

import botocore.handlers
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

_RequestKey = tuple[bytes, bytes]
_WRITES = (b"PutItem", b"UpdateItem", b"TransactWriteItems")


class Recording(NamedTuple):
    """The requests to a stack with the expected answers, and the engine's replies.

    `expected` has the normalized answer to each event; a reply has status, headers and body.
    """

    environment: dict[str, str]
    events: dict[str, str]
    expected: dict[str, Any]
    replies: dict[_RequestKey, tuple[int, dict[str, str], bytes]]


def request_key(request: AWSPreparedRequest) -> _RequestKey:
    """Return the key of a request's reply."""
    operation: bytes = request.headers["X-Amz-Target"].rpartition(b".")[2]
    body: bytes = request.body
    return operation, b"" if operation in _WRITES else body


def save(path: Path, recording: Recording) -> None:
    """Write a recording."""
    path.write_bytes(pickle.dumps(recording))


def load(path: Path) -> Recording:
    """Read a recording. Only this suite writes the file, so unpickling is safe."""
    recording: Recording = pickle.loads(path.read_bytes())  # noqa: S301
    return recording


class Engine:
    """Answers the requests of all clients created from now on; `replies` belong to the current stack."""

    def __init__(self) -> None:
        self.replies: dict[_RequestKey, AWSResponse] = {}
        botocore.handlers.BUILTIN_HANDLERS.append(("before-send", self._reply))

    def _reply(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        return self.replies[request_key(request)]


def playable(recording: Recording) -> dict[_RequestKey, AWSResponse]:
    """Return the replies as the SDK's response objects."""
    return {key: response(*reply) for key, reply in recording.replies.items()}


def response(status: int, headers: dict[str, str], body: bytes) -> AWSResponse:
    """Return a reply as the SDK's response object."""
    made = AWSResponse("", status, headers, None)
    made._content = body
    return made
