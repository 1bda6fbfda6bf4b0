"""Reads the session that a request's cookie identifies, with its current client and organisation.

Each process caches sessions for 30 seconds, like credentials (`http.auth`). After that, a session is invalid if its
client was deleted or has a new email or password, or if its workspace key was revoked or expired.
"""

import hmac
from collections.abc import Mapping
from typing import Any, NamedTuple

from chalice.app import Request

from chalicelib import clock, errors, ids, storage
from chalicelib.clients import store as clients
from chalicelib.credentials import store, tokens
from chalicelib.credentials.store import CredentialRow, NewCredential
from chalicelib.extensions.console.access import cookies, open_sessions, session_store
from chalicelib.extensions.console.access.operator_selection import as_selected
from chalicelib.extensions.console.presentation.pages import NAVIGATION
from chalicelib.extensions.console.presentation.template_filters import display_name
from chalicelib.http import auth
from chalicelib.ids import IDENTIFIER
from chalicelib.storage import Document, keyring
from chalicelib.workspaces import store as workspaces

COOKIE = "__Secure-cams"
ACCOUNT, END_VIEW = "/account", "/end-view"
_ALWAYS = (ACCOUNT, "/jump", "/sign-out", END_VIEW)
_CACHE_SIZE = 1_000


class WrongSignIn(errors.ApiError):
    """The email, password or key is wrong."""

    STATUS_CODE = 401
    code = "WRONG_SIGN_IN"
    sentence = "The email or password is wrong."


class Session(NamedTuple):
    """A signed-in person. An operator (a workspace key) has no organisation, and `client` has only a language
    and a time zone.

    If an operator views the console as a client, `viewed_client_id` is the client's id, and nothing can be changed.
    If an operator has selected an organisation, `selected` is that organisation with its `ID`, and lists show its
    agents' records only. `other_agent` is an agent outside this organisation that the page's address contains.
    `failing` are the ids of the webhooks that fail, or None if they are unknown. `remembered` contains what
    pages have read while the session is cached.
    """

    row: CredentialRow
    token: str
    client: Document
    organisation: Document
    viewed_client_id: str | None = None
    workspace_name: str = ""  # for operators only
    selected: Document | None = None
    failing: frozenset[str] | None = None  # for operators only
    other_agent: str | None = None
    remembered: dict[str, Any] | None = None
    key: CredentialRow | None = None  # the operator's workspace key

    @property
    def workspace_id(self) -> str:
        """The session's workspace."""
        return str(self.row.workspace)

    @property
    def client_id(self) -> str | None:
        """The client's id, or None for an operator."""
        return self.viewed_client_id or self.row.client_id

    @property
    def name(self) -> str:
        """The person's name, as pages show it."""
        return display_name(self.client, "name", "email") or self.viewed_client_id or self.row.name

    @property
    def records(self) -> tuple[Document, Document]:
        """The client and the organisation, whose language and time zone apply in this order."""
        return self.client, self.organisation

    @property
    def agent_ids(self) -> list[str] | None:
        """The agents whose records lists show, or None for all agents. Invalid ids are omitted."""
        if self.client_id is None and not self.selected:
            return None
        own = (self.selected or self.organisation).get("widgetIDs") or ()
        ids = dict.fromkeys([self.other_agent, *own] if self.other_agent else own)
        return [agent_id for agent_id in ids if IDENTIFIER.fullmatch(agent_id)]

    @property
    def is_admin(self) -> bool:
        """Whether the person administers the organisation, or is an operator."""
        return self.client_id is None or bool(self.client.get("isOrgAdmin"))

    def may_open(self, page: str) -> bool:
        """Return whether the person may open a page such as `/overview`. Without `canAccess`, any page is open."""
        pages = self.client.get("canAccess")
        return pages is None or page in pages or page in _ALWAYS

    @property
    def pages(self) -> list[str]:
        """The pages in the person's navigation."""
        return [page for page in NAVIGATION if self.may_open(page) and (page != "/settings" or self.is_admin)]

    @property
    def first_page(self) -> str:
        """The page after sign-in: the first page in the navigation, or the account page if there is none."""
        return next(iter(self.pages), ACCOUNT)

    def form_token(self) -> str:
        """Return the CSRF token for the session's forms."""
        return session_store.form_token(self.token)

    def caller(self) -> auth.Caller:
        """Return the caller with which the console calls API operations. It cannot read secrets.

        Its name is the author of changes: a client's id, or the name of a key, which must not look like an id.
        """
        name, is_client = self.row.name, self.row.client_id is not None
        return auth.Caller(
            workspace_id=self.workspace_id,
            kind=tokens.SESSION,
            credential_id=self.row.credential_id,
            agent_id=None,
            scopes=frozenset(),
            token_hash=self.row.token_hash,
            ends_at=self.row.ends_at,
            conversation=None,
            agent_created=None,
            conversation_created=None,
            name=name if is_client or not IDENTIFIER.fullmatch(name) else f"{name} (key)",
        )


_cache: dict[str, tuple[int, Session]] = {}  # by token hash, with the read time in Unix milliseconds


def current(request: Request, workspace_id: str) -> Session | None:
    """Return the session in the request's cookie for this workspace, or None if it is missing or invalid."""
    token = cookies.read(request, COOKIE)
    if tokens.kind(token) != tokens.SESSION:
        return None
    token_hash, now = tokens.fingerprint(token), clock.milliseconds()
    since, session = _cache.get(token_hash, (0, None))
    if session is None or not 0 <= now - since < auth.CACHE_SECONDS * 1000 or not session.row.is_active:
        session = _read(token_hash, token)
        if len(_cache) >= _CACHE_SIZE:
            _cache.clear()
        if session is not None:
            _cache[token_hash] = now, session
    return as_selected(request, session) if session and session.workspace_id == workspace_id else None


def sign_in(workspace_id: str, fields: Mapping[str, str], address: str, user_agent: str = "") -> NewCredential:
    """Store a session for the form's credentials: a workspace `key`, or the `email` and `password` of a client.

    `address` is the browser's IP address. If the workspace does not exist, write nothing. Raise WrongSignIn,
    TooManyAttempts and WorkspaceSuspended.
    """
    network, email = session_store.network_of(address), fields.get("email", "")
    failures, workspace, claim = storage.find_many(
        [session_store.failures_key(network), workspaces.key(workspace_id), clients.email_key(workspace_id, email)]
    )
    session_store.check_failures(failures)
    if workspace is None:
        raise _wrong_key() if "key" in fields else WrongSignIn()
    try:
        if "key" in fields:
            session_store.count_key_attempt(workspace_id, network)
            issued = _sign_in_with_key(workspace_id, fields["key"])
        else:
            session_store.count_attempt(workspace_id, email, network)
            issued = _sign_in_client(workspace_id, claim, fields.get("password", ""), user_agent)
    except WrongSignIn:
        session_store.count_failure(network)
        raise
    with storage.unit_of_work():
        session_store.require_few_failures(network)
        workspaces.stage_active(workspace_id)
        store.stage(issued)
    return issued


def _sign_in_client(workspace_id: str, claim: clients.EmailRow | None, password: str, user_agent: str) -> NewCredential:
    """Return an unstored session for the client. Raise WrongSignIn.

    An unknown email causes the same requests as a known email. There is one exception: if an older data key encrypts
    the client, its first use in a process reads and decrypts the key. Clients above 4 KB cost more read units.
    """
    keyring.current()  # load the key first, because an unknown email has no document to decrypt
    row = clients.find_owner(workspace_id, claim)
    document = row.open() if row else {}
    if not _is_password(password, document) or row is None:
        raise WrongSignIn()
    return session_store.of_client(workspace_id, row.client_id, session_store.sign_in_data(row, document), user_agent)


def _is_password(password: str, client: Document) -> bool:
    """Return whether this is the client's password. Return False if the client is disabled or has no password."""
    expected = client.get("dashboardPassword") or ""
    # Digests have the same length for every password, so the comparison takes the same time.
    is_right = hmac.compare_digest(tokens.fingerprint(password), tokens.fingerprint(expected))
    return bool(expected) and is_right and not client.get("disabled")


def _sign_in_with_key(workspace_id: str, key: str) -> NewCredential:
    row = store.find_active(tokens.fingerprint(key)) if tokens.kind(key) == tokens.WORKSPACE else None
    if row is None or row.workspace != workspace_id:
        raise _wrong_key()
    return session_store.of_key(row)


def _wrong_key() -> WrongSignIn:
    return WrongSignIn("The workspace key is wrong.")


def sign_out(session: Session) -> None:
    """Revoke a session. Other processes may accept it for up to 30 more seconds."""
    _cache.pop(session.row.token_hash, None)
    store.revoke(session.row)


def stage_sign_out(row: clients.ClientRow) -> None:
    """Stage a change that invalidates all sessions and one-time links of a client."""
    row.signed_out = ids.new_id()
    storage.put(row)


def check_password(workspace_id: str, client: Document, password: str, address: str) -> bool:
    """Return whether this is the client's password. Count the attempt like a sign-in. Raise TooManyAttempts."""
    network = session_store.network_of(address)
    (failures,) = storage.find_many([session_store.failures_key(network)])
    session_store.check_failures(failures)
    session_store.count_attempt(workspace_id, client.get("email") or "", network)
    is_right = _is_password(password, client)
    if not is_right:
        session_store.count_failure(network)
    return is_right


def restart(session: Session, password: str) -> NewCredential | None:
    """Store a new session for a person whose sessions have become invalid. Return None if `password` is wrong."""
    clear_cache()
    row = clients.read(session.workspace_id, session.client_id or "")
    document = row.open()
    if not _is_password(password, document):
        return None
    with storage.unit_of_work():
        return stage_new(session, row, document)


def stage_new(session: Session, row: clients.ClientRow, document: Document) -> NewCredential:
    """Stage a new session for the same browser. `document` is the person's record, in `row`."""
    sign_in_data, user_agent = session_store.sign_in_data(row, document), open_sessions.user_agent_of(session.row)
    issued = session_store.of_client(row.workspace, row.client_id, sign_in_data, user_agent)
    workspaces.stage_active(row.workspace)
    store.stage(issued)
    return issued


def clear_cache() -> None:
    """Forget all cached sessions."""
    _cache.clear()


def _read(token_hash: str, token: str) -> Session | None:
    row = store.find_active(token_hash)
    if row is None or row.kind != tokens.SESSION or row.suspended:
        return None
    if row.client_id is None:
        return _read_of_operator(row, token)
    client = clients.find(row.workspace, row.client_id)
    document = client.open() if client else {}
    session = Session(row, token, document, {}, remembered={})
    if document.get("disabled"):
        store.revoke(row)  # the session also stays invalid after the client is enabled again
    if client is None or not is_valid_for(session, client, document):
        return None
    return session._replace(organisation=session_store.organisation_of(row.workspace, document))


def _read_of_operator(row: CredentialRow, token: str) -> Session | None:
    """Return a workspace key's session with the workspace's name, or None if the key is invalid."""
    keys = [storage.Key(CredentialRow, row.issuer or ""), workspaces.key(row.workspace)._replace(consistent=False)]
    key, workspace = storage.find_many(keys)
    if key is None or not key.is_active or key.credential_id != row.issuer_id or key.suspended:
        return None
    name = display_name(workspace.open(), "name") if workspace else ""
    return Session(row, token, {}, {}, workspace_name=name, remembered={}, key=key)


def is_valid_for(session: Session, client: clients.ClientRow, document: Document) -> bool:
    """Return whether a client's session is valid for the stored client, which `document` contains."""
    proof = session_store.proof(session.token, session_store.sign_in_data(client, document))
    return not document.get("disabled") and hmac.compare_digest(proof, session.row.proof or "")
