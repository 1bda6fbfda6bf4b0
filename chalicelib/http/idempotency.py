"""`Idempotency-Key`: a POST or PATCH that is sent again has its effect once, and the same answer for 24 hours.

A request claims its key by one conditional write, with a fingerprint of itself and a seed; its answer is kept sealed
beside them. Whoever comes with the key again is given that answer. Between effect and kept answer a process may end:
the next one runs the request with the same seed, and so makes the same ids and secrets (`clock.repeatable`), by which
`storage` recognises what has been done already. A refusal gives the claim back, and a claim that nobody can be working
at any more is taken over.
"""

import hashlib
import json
import re
from collections.abc import Callable
from contextlib import suppress

from chalice.app import MultiDict, Request, Response
from pynamodb.attributes import BinaryAttribute, NumberAttribute, TTLAttribute, UnicodeAttribute

from chalicelib import clock, errors, storage
from chalicelib.http import auth
from chalicelib.storage import SealedRow, encryption

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
METHODS = frozenset({"POST", "PATCH"})
KEY = re.compile(r"[!-~]{1,255}")

_KEPT_SECONDS = 24 * 60 * 60
# As long as a function may take; the gateway has given up a second before.
_RUN_MILLISECONDS = 30_000
# Sealed bytes of an answer in one item, which ends at 400 KB.
_PIECE = 350_000


class ClaimRow(SealedRow):
    """A key in use, and the beginning of its answer: `{fingerprint, seed, startedAt}`, the last in ms.

    `run` names whoever works at it, and says since when; nobody does where there is none. `pieces` more of the answer
    stand in items of their own. The partition does not say which key or credential it is.
    """

    class Meta:
        table_name = storage.table("idempotency")

    request = UnicodeAttribute(hash_key=True)
    part = UnicodeAttribute(range_key=True, default="claim")
    run = UnicodeAttribute(null=True)
    answer = BinaryAttribute(legacy_encoding=False, null=True)
    pieces = NumberAttribute(null=True)
    expires_at = TTLAttribute()


class PieceRow(storage.Row):
    """More of a long answer, by the run that gave it."""

    class Meta:
        table_name = storage.table("idempotency")

    request = UnicodeAttribute(hash_key=True)
    part = UnicodeAttribute(range_key=True)
    answer = BinaryAttribute(legacy_encoding=False, null=True)
    expires_at = TTLAttribute()


class KeyReused(errors.Conflict):
    """The key belongs to another request."""

    code = "IDEMPOTENCY_KEY_REUSED"
    sentence = f"{HEADER} has been used for another request; send a new request with a new key."


class InProgress(errors.Conflict):
    """The same request is being answered."""

    code = "IN_PROGRESS"
    sentence = f"A request with this {HEADER} is being answered; try again."


def idempotent(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """Innermost middleware: answer a request with a key once. Raises Invalid, KeyReused, InProgress."""
    key = request.headers.get(HEADER)
    if key is None or request.method not in METHODS:
        return get_response(request)
    if not KEY.fullmatch(key):
        raise errors.Invalid.member(HEADER, "must be 1 to 255 visible ASCII characters")
    claim = _claimed(_new(key, _fingerprint(request)))
    if claim.answer is not None:
        return _replayed(claim)
    known = claim.open()
    with clock.repeatable(bytes.fromhex(known["seed"]), known["startedAt"]):
        response = get_response(request)
    # Whatever fails here, the request has been answered; the next one with the key runs it again, to no effect.
    with suppress(errors.ApiError):
        if response.status_code < 400:
            _keep(claim, response)
        else:
            storage.update(claim, [ClaimRow.run.remove()], ClaimRow.run == claim.run)
    return response


def _fingerprint(request: Request) -> str:
    """What two requests have in common that are the same: method, path, query and body."""
    given = request.query_params or MultiDict({})
    query = sorted((name, given.getlist(name)) for name in given)
    raw = request.raw_body if isinstance(request.raw_body, bytes) else request.raw_body.encode()
    about = storage.encode_json([request.method, request.path, request.uri_params, query])
    return hashlib.sha256(about + b"\x00" + raw).hexdigest()


def _new(key: str, fingerprint: str) -> ClaimRow:
    caller = auth.caller()
    name = hashlib.sha256(f"{caller.credential_id} {key}".encode()).hexdigest()
    claim = ClaimRow(storage.key(caller.workspace_id, name), run=clock.new_id())
    claim.expires_at = clock.moment(clock.seconds() + _KEPT_SECONDS)
    seed = clock.random_bytes(32).hex()
    claim.seal({"fingerprint": fingerprint, "seed": seed, "startedAt": clock.milliseconds()})
    return claim


def _claimed(claim: ClaimRow) -> ClaimRow:
    """The claim of this key, which is ours from now on, or has its answer. Raises KeyReused, InProgress."""
    # The database deletes what has expired some days later.
    is_free = ClaimRow.part.does_not_exist() | (ClaimRow.expires_at <= clock.moment(clock.seconds()))
    try:
        storage.save(claim, is_free)
        return claim
    except storage.ConditionFailed:
        stored = storage.find(ClaimRow, *claim.keys)
    if stored is None:
        raise InProgress()
    if stored.run == claim.run:
        return stored  # by ourselves: the answer was lost, and the SDK asked again
    if stored.open()["fingerprint"] != claim.open()["fingerprint"]:
        raise KeyReused()
    if stored.answer is None:
        _take_over(stored, claim.run)
    return stored


def _take_over(claim: ClaimRow, run: str) -> None:
    """Work at a claim that nobody can be working at any more. Raises InProgress where somebody may."""
    if claim.run is not None and clock.milliseconds() < clock.moment_of(claim.run) + _RUN_MILLISECONDS:
        raise InProgress()
    as_read = ClaimRow.run.does_not_exist() if claim.run is None else ClaimRow.run == claim.run
    try:
        storage.update(claim, [ClaimRow.run.set(run)], as_read & ClaimRow.answer.does_not_exist())
    except storage.ConditionFailed:
        stored = storage.find(ClaimRow, *claim.keys)
        if stored is None or stored.run != run or stored.answer is not None:
            raise InProgress() from None
        claim.run = run


def _keep(claim: ClaimRow, response: Response) -> None:
    """Keep an answer: its pieces first, so that whoever sees the claim answered finds them."""
    answer = {"status": response.status_code, "headers": response.headers, "body": response.body}
    sealed = encryption.seal(claim.workspace_id, claim.place("answer"), storage.encode_json(answer))
    first, *more = (sealed[start : start + _PIECE] for start in range(0, len(sealed), _PIECE))
    rows = [_piece(claim, number) for number in range(len(more))]
    for row, piece in zip(rows, more, strict=True):
        row.answer = piece
    storage.save_many(rows)
    actions = [ClaimRow.answer.set(first), ClaimRow.pieces.set(len(more))]
    storage.update(claim, actions, ClaimRow.run == claim.run)


def _replayed(claim: ClaimRow) -> Response:
    rows = [_piece(claim, number) for number in range(int(claim.pieces))]
    pieces = storage.find_many([storage.Key(PieceRow, *row.keys) for row in rows])
    sealed = b"".join(row.answer for row in (claim, *pieces))
    answer = json.loads(encryption.unseal(claim.workspace_id, claim.place("answer"), sealed))
    return Response(answer["body"], {**answer["headers"], REPLAYED: "true"}, answer["status"])


def _piece(claim: ClaimRow, number: int) -> PieceRow:
    return PieceRow(claim.request, storage.key(claim.run, f"{number:02}"), expires_at=claim.expires_at)
