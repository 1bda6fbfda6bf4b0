"""Console sessions in the database. After sign-in, the browser keeps the session token in a cookie.

A session gives access to the console, but to no API route. It is stored with its workspace's credentials, so that it is
suspended and deleted with them. The records that it depends on are read again after at most 30 seconds
(`console.sessions`):

- A client's session contains the client's id, and a proof of the email, password, creation time and last sign-out
  everywhere, which is worthless without the token. The session becomes invalid when one of these changes or the client
  is deleted. A new client with the same id has a different creation time.
- A workspace key's session contains the key's id, and becomes invalid with the key.
"""

import hashlib
import hmac
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import quote, unquote

from pynamodb.attributes import NumberAttribute, TTLAttribute, UnicodeAttribute
from pynamodb.expressions.condition import Condition

from chalicelib import clock, errors, storage
from chalicelib.clients.store import ClientRow
from chalicelib.credentials import store, tokens
from chalicelib.credentials.store import CredentialRow, NewCredential
from chalicelib.extensions.console.access import open_sessions
from chalicelib.ids import IDENTIFIER
from chalicelib.organisations import store as organisations

LIFETIME = store.DAY // 2
WINDOW = 300
# Maximum sign-in attempts per window with the same email: from one IP address, and from anywhere.
MAX_ATTEMPTS, MAX_ATTEMPTS_ANYWHERE = 10, 50
# Maximum failed attempts per window from one IP address, with any email or key, in any workspace.
MAX_FAILURES = 100


class AttemptRow(storage.Row):
    """The number of attempts in a window. The key is a hash of what the attempts share, such as the IP address."""

    class Meta:
        table_name = storage.table("credentials")

    lifecycle = storage.Lifecycle(
        "{hash}", "", owner="stage", export="no: expires", erasure="no: contains a hash and a number"
    )
    token_hash = UnicodeAttribute(hash_key=True)
    tried = NumberAttribute()
    expires_at = TTLAttribute()


class TooManyAttempts(errors.ApiError):
    """There were too many sign-in attempts."""

    STATUS_CODE = 429
    code = "TOO_MANY_ATTEMPTS"
    sentence = "There were too many attempts; try again in five minutes."

    def __init__(self) -> None:
        super().__init__()
        self.retry_after = WINDOW - clock.seconds() % WINDOW  # in seconds


def of_client(workspace_id: str, client_id: str, sign_in: Sequence[str | None], user_agent: str = "") -> NewCredential:
    """Return an unstored session for a client. It becomes invalid when a text in `sign_in` changes."""
    issued = store.prepare(workspace_id, tokens.SESSION, client_id, LIFETIME)
    issued.credential.client_id = client_id
    issued.credential.proof = proof(issued.token, sign_in)
    issued.credential.details = open_sessions.seal(workspace_id, user_agent, sign_in)
    return issued


def of_key(key: CredentialRow) -> NewCredential:
    """Return an unstored session for a workspace key. It becomes invalid with the key."""
    issued = store.prepare(key.workspace, tokens.SESSION, key.name, LIFETIME)
    issued.credential.issuer, issued.credential.issuer_id = key.token_hash, key.credential_id
    return issued


def sign_in_data(row: ClientRow, document: storage.Document) -> list[str | None]:
    """Return the values that invalidate a client's sessions and one-time links when they change.

    They also differ if the client is recreated, and after the person has signed out everywhere.
    """
    data = [row.created, document.get("email"), document.get("dashboardPassword")]
    return [*data, row.signed_out] if row.signed_out else data


def proof(token: str, sign_in: Sequence[str | None]) -> str:
    """Return the proof of these texts that a session stores. Computing it requires the token."""
    return hmac.new(token.encode(), storage.encode_json(sign_in), hashlib.sha256).hexdigest()


def organisation_of(workspace_id: str, client: storage.Document) -> storage.Document:
    """Return a client's organisation, or an empty document if there is none. This costs at most one request."""
    org_id = client.get("orgId") or ""  # may be any text, but only identifiers are valid keys
    organisation = organisations.find(workspace_id, org_id) if IDENTIFIER.fullmatch(org_id) else None
    return organisation.open() if organisation else {}


def form_token(token: str) -> str:
    """Return the CSRF token for the session's forms."""
    return hmac.new(token.encode(), b"form", hashlib.sha256).hexdigest()


def selection_token(token: str, kind: str, record_id: str) -> str:
    """Return the cookie value for a record that an operator selects in the session with this token.

    The value is invalid in any other session, so a selection ends at sign-out.
    """
    return f"{proof(token, [kind, record_id])}.{quote(record_id)}"


def selected_id(token: str, kind: str, text: str) -> str | None:
    """Return the id in a `selection_token` of the session with this token, or None for any other text."""
    record_id = unquote(text.partition(".")[2])
    is_valid = record_id and hmac.compare_digest(selection_token(token, kind, record_id).encode(), text.encode())
    return record_id if is_valid else None


def network_of(address: str) -> str:
    """Return the network of a customer's IP address, which is a whole /64 for IPv6."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv4Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or IPv6Address(int(parsed) >> 64 << 64))


def count_attempt(workspace_id: str, email: str, address: str) -> None:
    """Count a sign-in attempt before checking it. This costs one request per limit. Raise TooManyAttempts."""
    name = email.strip().lower()
    _count(_row("email and address", workspace_id, name, address), MAX_ATTEMPTS)
    _count(_row("email", workspace_id, name), MAX_ATTEMPTS_ANYWHERE)


def count_key_attempt(workspace_id: str, address: str) -> None:
    """Count a sign-in attempt with a workspace key before checking it. This costs one request. Raise TooManyAttempts.

    Keys cannot be guessed, so a limit across all addresses would only let a stranger lock out all operators.
    """
    _count(_row("key and address", workspace_id, address), MAX_ATTEMPTS)


def count_link_request(workspace_id: str, email: str, address: str) -> None:
    """Count a request for a new password, with the limits of sign-in attempts. Raise TooManyAttempts.

    This costs one request per limit, and one if the address has reached its limit, because that is counted first.
    Requests do not use up the attempts to sign in.
    """
    name = email.strip().lower()
    _count(_row("link and address", address), MAX_FAILURES)
    _count(_row("link, email and address", workspace_id, name, address), MAX_ATTEMPTS)
    _count(_row("link and email", workspace_id, name), MAX_ATTEMPTS_ANYWHERE)


def count_link(workspace_id: str, client_id: str, purpose: str) -> None:
    """Count a link for a purpose. A person gets one per window. This costs one request. Raise TooManyAttempts."""
    _count(_row("link", workspace_id, client_id, purpose), 1)


def failures_key(address: str) -> storage.Key:
    """Return the key of an address's failed attempts, for `storage.find_many`."""
    return storage.Key(AttemptRow, _failures(address).token_hash)


def check_failures(row: AttemptRow | None) -> None:
    """Raise TooManyAttempts if the address has reached the limit of failed attempts in this window."""
    if row is not None and row.tried >= MAX_FAILURES:
        raise TooManyAttempts()


def count_failure(address: str) -> None:
    """Count a failed attempt from an address. This costs one request. Raise TooManyAttempts."""
    _count(_failures(address), MAX_FAILURES)


def require_few_failures(address: str) -> None:
    """Stage the condition that the address may still sign in. Other attempts may have failed since the check."""
    row = _failures(address)
    storage.require(storage.Key(AttemptRow, row.token_hash), _fewer_than(MAX_FAILURES), TooManyAttempts())


def _failures(address: str) -> AttemptRow:
    return _row("address", address)


def _row(*parts: str) -> AttemptRow:
    """Return the row for these parts in the current window, without its count.

    Callers choose the parts, so they are hashed as a JSON list. If a separator joined them, `a#b` and `c` would share a
    row with `a` and `b#c`. The space before the list distinguishes the row from agent keys, which callers choose.
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
