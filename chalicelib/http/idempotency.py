"""`Idempotency-Key`: stored responses, so that a repeated POST, PUT or PATCH takes effect once (`http.commit`).

The response to a write request is stored for 24 hours. The sealed document also contains the request's fingerprint, and
the queue messages that a replay sends again. A long response is written in pieces before the commit that refers to
them, so a committed response is always complete. Each commit attempt writes its own pieces, and the pieces of failed
attempts expire.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import NamedTuple

from chalice.app import MultiDict, Request, Response

from chalicelib import clock, errors, ids, queues, storage
from chalicelib.credentials import tokens
from chalicelib.http import auth
from chalicelib.storage import encryption, stored_responses
from chalicelib.storage.stored_responses import StoredResponseRow as StoredResponseRow

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
# `PUT` is included because our `PUT` routes create records with generated ids.
METHODS = frozenset({"POST", "PUT", "PATCH"})
KEY = re.compile(r"[!-~]{1,255}")

_KEPT_SECONDS = 24 * 60 * 60
# Sizes of sealed responses in bytes. Up to `_INLINE` bytes are stored in the key's item, and longer responses in pieces
# of `_PIECE` bytes.
_INLINE = 4_000
_PIECE = 350_000


class KeyReused(errors.Conflict):
    """The `Idempotency-Key` was used for a different request."""

    code = "IDEMPOTENCY_KEY_REUSED"
    sentence = f"{HEADER} was used for another request; send a new request with a new key."


class AlreadyCommitted(errors.Conflict):
    """An identical request was committed first; `stored_response` is its response."""

    def __init__(self, stored_response: StoredResponseRow) -> None:
        super().__init__()
        self.stored_response = stored_response


class RequestKey(NamedTuple):
    """A key's partition, which belongs to one credential, and the request's fingerprint and path values."""

    partition: str
    fingerprint: str
    path: dict[str, str]


def key_of(request: Request) -> RequestKey | None:
    """Return the key of a POST, PUT or PATCH request, or None if it has no key.

    Raise Invalid if the key is malformed or a visitor sends it, because each new key would store a response.
    """
    key = request.headers.get(HEADER)
    if key is None or auth.is_open(request.path):
        return None
    caller = auth.caller()
    if caller.kind == tokens.VISITOR:
        raise errors.Invalid.member(
            HEADER, "must not be sent with a visitor token; omit the header, and retry a message with the same mid"
        )
    if request.method not in METHODS:
        return None
    if not KEY.fullmatch(key):
        raise errors.Invalid.member(HEADER, "must be 1 to 255 visible ASCII characters")
    name = hashlib.sha256(f"{caller.credential_id} {key}".encode()).hexdigest()
    return RequestKey(storage.join_key(caller.workspace_id, name), _fingerprint(request), request.uri_params or {})


def find(key: RequestKey) -> StoredResponseRow | None:
    """Return the stored response, or None, from an eventually consistent read. Raise KeyReused."""
    return _matching(key, storage.find(StoredResponseRow, key.partition, "answer", consistent=False))


def find_committed(key: RequestKey) -> StoredResponseRow | None:
    """Return the stored response as of the last commit, or None, from a transactional read. Raise KeyReused."""
    return _matching(key, storage.find_serializable(storage.Key(StoredResponseRow, key.partition, "answer")))


def stage(key: RequestKey, response: Response, messages: Sequence[tuple[str, str]]) -> None:
    """Stage the key with its response, on the condition that the key is new. This condition's error takes precedence.

    The commit raises AlreadyCommitted or KeyReused if the key exists.
    """
    expiry = clock.to_datetime(clock.seconds() + _KEPT_SECONDS)
    row = StoredResponseRow(key.partition, shard=stored_responses.shard_of(key.partition), expires_at=expiry)
    answer = {"status": response.status_code, "headers": response.headers, "messages": messages}
    row.seal({"fingerprint": key.fingerprint, "path": key.path, **answer})
    sealed = encryption.seal(row.workspace_id, row.associated_data("body"), response.body.encode())
    if len(sealed) <= _INLINE:
        row.body = sealed
    else:
        _write_pieces(row, sealed)
    # DynamoDB may delete an expired item only days later.
    is_expired = StoredResponseRow.expires_at <= clock.to_datetime(clock.seconds())
    storage.put_first(row, StoredResponseRow.part.does_not_exist() | is_expired, lambda item: _failure(key, item))


def replay(stored_response: StoredResponseRow) -> Response:
    """Return the stored response, marked as a replay. Resend its queue messages, in case the first send failed."""
    answer = stored_response.open()
    for queue, text in answer["messages"]:
        queues.send(queue, [text], stored_response.workspace_id)
    return Response(
        stored_responses.read_body(stored_response), {**answer["headers"], REPLAYED: "true"}, answer["status"]
    )


def _fingerprint(request: Request) -> str:
    """Return a hash of the request's method, path, query and body."""
    values = request.query_params or MultiDict({})
    query = sorted((name, values.getlist(name)) for name in values)
    raw = request.raw_body if isinstance(request.raw_body, bytes) else request.raw_body.encode()
    head = storage.encode_json([request.method, request.path, request.uri_params, query])
    return hashlib.sha256(head + b"\x00" + raw).hexdigest()


def _matching(key: RequestKey, stored_response: StoredResponseRow | None) -> StoredResponseRow | None:
    """Return the stored response, or None if it is missing or expired. Raise KeyReused if the request differs."""
    if stored_response is None or stored_response.expires_at <= clock.to_datetime(clock.seconds()):
        return None
    if stored_response.open()["fingerprint"] != key.fingerprint:
        raise KeyReused()
    return stored_response


def _failure(key: RequestKey, item: storage.Item | None) -> errors.ApiError:
    """Return the error for a commit whose key already exists. Raise KeyReused if a different request used the key."""
    stored_response = _matching(key, StoredResponseRow.from_raw_data(item) if item else None)
    return AlreadyCommitted(stored_response) if stored_response else storage.ConditionFailed()


def _write_pieces(row: StoredResponseRow, sealed: bytes) -> None:
    pieces = [sealed[start : start + _PIECE] for start in range(0, len(sealed), _PIECE)]
    row.writing, row.pieces = ids.new_id(), len(pieces)
    rows = stored_responses.piece_rows(row)
    for piece_row, piece in zip(rows, pieces, strict=True):
        piece_row.piece = piece
    storage.save_many(rows)
