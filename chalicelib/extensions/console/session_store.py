"""Sessions of the console in the database. After the sign-in, the browser keeps the session's token in a cookie.

A session opens the console, and no route of the API. It is listed with the credentials of its workspace, so that it is
suspended and deleted with them. The records on which it depends are read again after at most 30 seconds
(`console.sessions`):

- A client's session contains the client's id, and a proof of the email, the password and the creation time, which is
  worthless without the token. The session ends when one of these changes or the client is deleted: a new client with
  the same id has another creation time.
- A workspace key's session contains the id of the key, and ends with the key.
"""

import hashlib
import hmac
from collections.abc import Sequence

from pynamodb.attributes import NumberAttribute, TTLAttribute, UnicodeAttribute
from pynamodb.expressions.condition import Condition

from chalicelib import clock, errors, storage
from chalicelib.credentials import store, tokens
from chalicelib.credentials.store import CredentialRow, NewCredential

LIFETIME = store.DAY // 2
WINDOW = 300
# Attempts to sign in within a window: with an email from one address, and with an email from anywhere.
MAX_ATTEMPTS, MAX_ATTEMPTS_ANYWHERE = 10, 50
# Failed attempts of one address within a window, with any emails and keys, in any workspaces.
MAX_FAILURES = 100


class AttemptRow(storage.Row):
    """The attempts of a window, under a hash of their common parts, such as the address."""

    class Meta:
        table_name = storage.table("credentials")

    lifecycle = storage.Lifecycle(
        "{hash}", "", owner="stage", export="no: expires", erasure="no: contains a hash and a number"
    )
    token_hash = UnicodeAttribute(hash_key=True)
    tried = NumberAttribute()
    expires_at = TTLAttribute()


class TooManyAttempts(errors.ApiError):
    """Too many attempts to sign in."""

    STATUS_CODE = 429
    code = "TOO_MANY_ATTEMPTS"
    sentence = "There were too many attempts to sign in; try again in five minutes."

    def __init__(self) -> None:
        super().__init__()
        self.retry_after = WINDOW - clock.seconds() % WINDOW  # in seconds


def of_client(workspace_id: str, client_id: str, sign_in: Sequence[str | None]) -> NewCredential:
    """Return a session of a client, not stored yet. It ends when a text of `sign_in` changes."""
    issued = store.prepare(workspace_id, tokens.SESSION, client_id, LIFETIME)
    issued.credential.client_id = client_id
    issued.credential.proof = proof(issued.token, sign_in)
    return issued


def of_key(key: CredentialRow) -> NewCredential:
    """Return a session of a workspace key, not stored yet. It ends with the key."""
    issued = store.prepare(key.workspace, tokens.SESSION, key.name, LIFETIME)
    issued.credential.issuer, issued.credential.issuer_id = key.token_hash, key.credential_id
    return issued


def proof(token: str, sign_in: Sequence[str | None]) -> str:
    """Return the proof that a session stores of these texts. Without the token, it cannot be computed."""
    return hmac.new(token.encode(), storage.encode_json(sign_in), hashlib.sha256).hexdigest()


def form_token(token: str) -> str:
    """Return the secret of each form of a session, against forged requests."""
    return hmac.new(token.encode(), b"form", hashlib.sha256).hexdigest()


def count_attempt(workspace_id: str, email: str, address: str) -> None:
    """Count an attempt to sign in, before it is checked. Raise TooManyAttempts. One request for each limit."""
    name = email.strip().lower()
    _count(_row("email and address", workspace_id, name, address), MAX_ATTEMPTS)
    _count(_row("email", workspace_id, name), MAX_ATTEMPTS_ANYWHERE)


def count_key_attempt(workspace_id: str, address: str) -> None:
    """Count an attempt to sign in with a workspace key, before it is checked. Raise TooManyAttempts. One request.

    A key cannot be guessed. A limit across all addresses would only let a stranger lock out all operators.
    """
    _count(_row("key and address", workspace_id, address), MAX_ATTEMPTS)


def failures_key(address: str) -> storage.Key:
    """Return the key of the failed attempts of an address, for `storage.find_many`."""
    return storage.Key(AttemptRow, _failures(address).token_hash)


def check_failures(row: AttemptRow | None) -> None:
    """Raise TooManyAttempts if an address with these failed attempts may not try again in this window."""
    if row is not None and row.tried >= MAX_FAILURES:
        raise TooManyAttempts()


def count_failure(address: str) -> None:
    """Count a failed attempt of an address. Raise TooManyAttempts. One request. Only failures write the row."""
    _count(_failures(address), MAX_FAILURES)


def require_few_failures(address: str) -> None:
    """Stage the condition that an address may still sign in, because other attempts may have failed since the check."""
    row = _failures(address)
    storage.require(storage.Key(AttemptRow, row.token_hash), _fewer_than(MAX_FAILURES), TooManyAttempts())


def _failures(address: str) -> AttemptRow:
    return _row("address", address)


def _row(*parts: str) -> AttemptRow:
    """Return the row of the current window for these parts, without its count.

    The caller chooses the parts, so they are hashed as a JSON list: joined by a separator, `a#b` and `c` would share
    the row of `a` and `b#c`. The space before the list distinguishes the row from agent keys, which callers choose.
    """
    window = clock.seconds() // WINDOW
    return AttemptRow(
        tokens.fingerprint(f"attempt {storage.encode_json([window, *parts]).decode()}"),
        expires_at=clock.to_datetime((window + 1) * WINDOW),
    )


def _count(row: AttemptRow, max_attempts: int) -> None:
    actions = [AttemptRow.tried.add(1), AttemptRow.expires_at.set(row.expires_at)]
    with storage.unit_of_work():
        storage.update(row, actions, _fewer_than(max_attempts), TooManyAttempts())


def _fewer_than(max_attempts: int) -> Condition:
    few: Condition = AttemptRow.tried.does_not_exist() | (AttemptRow.tried < max_attempts)
    return few
