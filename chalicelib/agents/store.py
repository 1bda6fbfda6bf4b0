"""Agent storage: one encrypted document per agent, in a partition with the agent's tools (`rows`).

Deleting an agent turns its item into a tombstone, which has no document. The tombstone reserves the id until the
cascading delete is complete (`deletion.cascade`). Only `find_tombstone` and `list_tombstones` return tombstones.

Two indexes list a workspace's agents: by id, and by last change. Their entries contain an encrypted summary instead of
the document, so the cost of reading an entry does not depend on the agent's size. The indexes are eventually
consistent.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from chalicelib import clock, errors, storage
from chalicelib.agents import rows
from chalicelib.agents.rows import AgentOrToolRow
from chalicelib.agents.rows import AgentRow as AgentRow
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.storage import Document, json_equal
from chalicelib.tools.store import ToolRow
from chalicelib.workspaces import store as workspaces

# Maximum characters of a title when it is copied into other records.
_MAX_DISPLAY_NAME = 1_000
_SECRET = "SECRET_API_KEY"  # noqa: S105 - the name of the member
# The member that contains the creation time in Unix seconds. It distinguishes successive agents with the same id.
CREATED = "createdAtUNIX"
# Summary members, and the maximum characters of each text member. An index entry takes up about 1 KB.
_SUMMARY = ("title", "description", "starred", "deployed", CREATED)
_MAX_SUMMARY_TEXT = 200
# Agents per request when a page is read, which equals the default page size. An agent takes up to 390 KB.
_PORTION = 20
# A transaction has at most 100 items, and deleting a credential needs three.
_CREDENTIALS_PER_TRANSACTION = 30
_CACHE_MILLISECONDS = 30_000
_CACHE_SIZE = 10_000
# Time of the last read in Unix milliseconds, keyed by workspace id and agent id.
_known_agents: dict[tuple[str, str], int] = {}


class AgentAndTools(NamedTuple):
    """An agent, or None, and its tools, oldest first. `is_complete` is true if no tools are missing."""

    agent: AgentRow | None
    tools: list[ToolRow]
    is_complete: bool = True


def find_with_tools(workspace_id: str, agent_id: str) -> AgentAndTools:
    """Return the agent and its tools, up to 1 MB in total. Further tools are omitted. This costs one request."""
    partition, item = rows.keys(workspace_id, agent_id)
    items, is_complete = storage.query_once(AgentOrToolRow, partition)
    tools = [row for row in items if isinstance(row, ToolRow) and row.agent_id == agent_id]
    agents = (row for row in items if isinstance(row, AgentRow) and row.item == item and not row.is_tombstone)
    return AgentAndTools(next(agents, None), tools, is_complete)


def find(workspace_id: str, agent_id: str) -> AgentRow | None:
    """Return the agent, or None if the workspace does not contain it. This costs one request."""
    row = storage.find(AgentRow, *rows.keys(workspace_id, agent_id))
    return row if is_active(row) else None


def find_tombstone(workspace_id: str, agent_id: str) -> AgentRow | None:
    """Return the tombstone of an agent whose cascade is incomplete, or None. This costs one request."""
    row = storage.find(AgentRow, *rows.keys(workspace_id, agent_id))
    return row if row is not None and row.is_tombstone else None


def list_tombstones(workspace_id: str) -> list[str]:
    """Return the ids of deleted agents whose cascade is incomplete or has failed. This costs one request per MB."""
    return [row.agent_id for row in storage.iterate(AgentRow, rows.tombstones(workspace_id), index="by_workspace")]


def read(workspace_id: str, agent_id: str) -> AgentRow:
    """Return the agent. Raise NotFound if it does not exist. This costs one request."""
    return require_agent(find(workspace_id, agent_id))


def read_eventually(workspace_id: str, agent_id: str) -> AgentRow:
    """Return the agent at half the cost of `read`. Changes from the last second may be missing. Raise NotFound."""
    row = storage.find(AgentRow, *rows.keys(workspace_id, agent_id), consistent=False)
    return reread_if_missing(row, workspace_id, agent_id)


def reread_if_missing(row: AgentRow | None, workspace_id: str, agent_id: str) -> AgentRow:
    """Return the agent from an eventually consistent read, or read it again if it is missing. Raise NotFound."""
    return read(workspace_id, agent_id) if row is None or row.is_tombstone else row


def require_agent(row: AgentRow | None) -> AgentRow:
    """Return `row`. Raise NotFound if it is None or a tombstone."""
    return errors.require(row if is_active(row) else None, "agent")


def is_active(row: AgentRow | None) -> bool:
    """Return whether `row` is an agent, and not a tombstone."""
    return row is not None and not row.is_tombstone


def display_name(agent: Document) -> str | None:
    """Return up to 1,000 characters of the title, for leads, conversations and events, or None if there is no title."""
    title: str | None = agent.get("title")
    return title and title[:_MAX_DISPLAY_NAME]


def require_cached(workspace_id: str, agent_id: str) -> None:
    """Raise NotFound for an unknown agent. Known agents are cached for 30 seconds, so frequent writes need fewer reads.

    If another process deletes the agent in that time, the cascade's second run deletes the records written for it.
    """
    now = clock.milliseconds()
    if not 0 <= now - _known_agents.get((workspace_id, agent_id), 0) < _CACHE_MILLISECONDS:
        read(workspace_id, agent_id)
        if len(_known_agents) >= _CACHE_SIZE:
            _known_agents.clear()
        _known_agents[workspace_id, agent_id] = now


def key(workspace_id: str, agent_id: str) -> storage.Key:
    """Return the agent's key for an eventually consistent read, to be followed by `reread_if_missing`."""
    return storage.Key(AgentRow, *rows.keys(workspace_id, agent_id), consistent=False)


def row_for_key(workspace_id: str, agent_id: str) -> AgentRow:
    """Return a row that contains only an agent's key, for `read_entries`."""
    return AgentRow(*rows.keys(workspace_id, agent_id), agent_id=agent_id)


def list_entries(workspace_id: str, after: str | None, limit: int) -> Iterator[AgentRow]:
    """Yield up to `limit` index entries after the agent id `after`, ordered by id, for `read_entries`."""
    condition = AgentRow.agent_id > after if after else None
    return storage.iterate(AgentRow, workspace_id, condition, index="by_workspace", limit=limit)


def next_id(workspace_id: str, after: str | None) -> str | None:
    """Return the id of the agent after `after`, or of the first agent if `after` is None. Return None at the end."""
    return next((entry.agent_id for entry in list_entries(workspace_id, after, 1)), None)


def list_changes(workspace_id: str, before: str | None, limit: int) -> Iterator[AgentRow]:
    """Yield up to `limit` index entries with a version tag lower than `before`, latest change first."""
    condition = AgentRow.version_tag < before if before else None
    return storage.iterate(AgentRow, workspace_id, condition, index="by_change", limit=limit, newest_first=True)


def summary_of(entry: AgentRow) -> Document:
    """Return the summary in an index entry."""
    return storage.unseal(entry, "summary")


def read_entries(entries: Iterable[AgentRow]) -> Iterator[tuple[str, AgentRow | None]]:
    """Yield each entry's position together with its agent, or with None if the agent has been deleted.

    Each request reads 20 agents, and is sent only when the first of them is needed, so stopping early saves requests.
    The reads are eventually consistent, like the index.
    """
    remaining = iter(entries)
    while portion := [*islice(remaining, _PORTION)]:
        keys = [storage.Key(AgentRow, entry.partition, entry.item, consistent=False) for entry in portion]
        for entry, row in zip(portion, storage.find_many(keys), strict=True):
            yield entry.position, row if is_active(row) else None


def create(workspace_id: str, agent_id: str, document: Document) -> tuple[AgentRow, Document]:
    """Stage a new agent and its agent key. Return the row and its document.

    The commit raises AgentBeingDeleted while the cascading delete of an earlier agent with this id runs, and KeyTaken
    if the `SECRET_API_KEY` is in use.
    """
    credential = _credential(workspace_id, agent_id, document.get(_SECRET))
    now = clock.seconds()
    document = {_SECRET: credential.token, **document, CREATED: now, "lastModified": now}
    row = AgentRow(*rows.keys(workspace_id, agent_id), workspace=workspace_id, agent_id=agent_id)
    row.seal(document)
    row.summary = storage.seal(row, "summary", _summary(document))
    storage.put(row, error=_creation_error)
    credentials.stage(credential, KeyTaken())
    return row, document


def save(row: AgentRow, before: Document, after: Document, overlap: int = credentials.OVERLAP) -> Document:
    """Stage a changed document and return it. An unchanged document is not written.

    A replaced agent key remains valid for `overlap` more seconds. The commit raises KeyTaken if the new key is in use.
    """
    if json_equal(after, before):
        return before
    after = {**after, "lastModified": clock.seconds()}
    row.seal(after)
    if not json_equal(_summary(after), _summary(before)):  # encrypting it again would rewrite the index entries
        row.summary = storage.seal(row, "summary", _summary(after))
    storage.put(row)
    _stage_key(row, before.get(_SECRET), after.get(_SECRET), overlap)
    if before.get("retention") != after.get("retention"):
        workspaces.apply_retention(row.workspace_id, row.agent_id)
    return after


def delete(row: AgentRow) -> None:
    """Stage the deletion of an agent: `row` becomes its tombstone."""
    row.document = row.summary = None
    row.workspace = rows.tombstones(row.workspace_id)
    row.deleted_at = clock.seconds()
    storage.put(row)
    _known_agents.pop((row.workspace_id, row.agent_id), None)


def find_key(row: AgentRow, token: str | None) -> credentials.CredentialRow | None:
    """Return a key's credential, or None if the key does not belong to this agent. This costs one request."""
    key = credentials.find_active(tokens.fingerprint(token)) if token and tokens.is_agent_key(token) else None
    return key if key and (key.workspace, key.agent_id) == (row.workspace_id, row.agent_id) else None


def list_keys(workspace_id: str, agent_id: str) -> list[credentials.CredentialRow]:
    """Return all of an agent's keys, including replaced keys that are still valid."""
    return credentials.list_active(workspace_id, tokens.AGENT, agent_id)


@storage.in_unit_of_work
def rotate_key(workspace_id: str, agent_id: str, overlap: int = credentials.OVERLAP) -> str:
    """Replace and return an agent's key. The old key remains valid for `overlap` more seconds. Raise NotFound."""
    token = tokens.new(tokens.AGENT)
    row = read(workspace_id, agent_id)
    save(row, before := row.open(), {**before, _SECRET: token}, overlap)
    return token


def revoke_keys(workspace_id: str, agent_id: str) -> None:
    """Clear an agent's `SECRET_API_KEY`, and revoke all of its keys, including replaced keys. Raise NotFound."""
    _clear_key(workspace_id, agent_id)
    for credential in list_keys(workspace_id, agent_id):
        with storage.unit_of_work():
            credentials.revoke(credential)


@storage.in_unit_of_work
def _clear_key(workspace_id: str, agent_id: str) -> None:
    row = read(workspace_id, agent_id)
    before = row.open()
    save(row, before, {name: value for name, value in before.items() if name != _SECRET})


class AgentBeingDeleted(errors.Conflict):
    """An agent with this id and its records are still being deleted."""

    code = "AGENT_BEING_DELETED"
    sentence = (
        "The agent with this id is still being deleted; try again in two minutes, or use another id. If this error "
        "persists, send the deletion again."
    )


class KeyTaken(errors.Conflict):
    """The request's `SECRET_API_KEY` is already in use."""

    code = "KEY_TAKEN"
    sentence = "SECRET_API_KEY is already in use, or was replaced on this agent; send a different key."


def _summary(document: Document) -> Document:
    members = {name: document[name] for name in _SUMMARY if name in document}
    return {name: value[:_MAX_SUMMARY_TEXT] if isinstance(value, str) else value for name, value in members.items()}


def _creation_error(item: storage.Item | None) -> errors.ApiError:
    return AgentBeingDeleted() if item and "deleted_at" in item else storage.ConditionFailed()


def _credential(workspace_id: str, agent_id: str, token: str | None) -> credentials.NewCredential:
    return credentials.prepare(workspace_id, tokens.AGENT, agent_id, None, agent_id=agent_id, token=token)


def _stage_key(row: AgentRow, before: str | None, after: str | None, overlap: int) -> None:
    """Stage the credential changes that follow from a change to the agent's `SECRET_API_KEY`.

    A replaced key remains valid for `overlap` more seconds. That key may lack a credential, because earlier versions
    stored any text. Clearing the member revokes all of the agent's keys.
    """
    if before == after:
        return
    if not after:
        _stage_revocation(row.workspace_id, row.agent_id)
        return
    credentials.stage(_credential(row.workspace_id, row.agent_id, after), KeyTaken())
    old = find_key(row, before)
    if old is not None:
        credentials.retire(old, overlap)


def _stage_revocation(workspace_id: str, agent_id: str) -> None:
    """Stage the revocation of all agent keys. If they exceed one transaction, the oldest are revoked immediately."""
    keys = list_keys(workspace_id, agent_id)
    for oldest in keys[:-_CREDENTIALS_PER_TRANSACTION]:
        with storage.unit_of_work():
            credentials.revoke(oldest)
    for newest in keys[-_CREDENTIALS_PER_TRANSACTION:]:
        credentials.revoke(newest)
