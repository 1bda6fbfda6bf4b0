"""Agents in the database: one sealed document each, in the partition of their workspace.

Beside it every agent has a sequence row (`storage.sequence`): it numbers the agent's conversations. It exists exactly
as long as the agent does, so writers of the agent's records make it a condition.
"""

from pynamodb.attributes import UnicodeAttribute

from chalicelib import clock, errors, storage
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.storage import Document, DocumentRow, json_equal, sequence

# Characters of a title where a record of something else carries it.
_DISPLAY_NAME = 1_000
_SECRET = "SECRET_API_KEY"  # noqa: S105 - the name of the member
# A transaction has 100 items; each login is two of them.
_LOGINS_AT_ONCE = 40
_CACHE_MILLISECONDS = 30_000
_CACHE_SIZE = 10_000
_known_agents: dict[tuple[str, str], int] = {}


class AgentRow(DocumentRow):
    """An agent. Its document has the members of the v3 form, without the id."""

    class Meta:
        table_name = storage.table("agents")

    workspace = UnicodeAttribute(hash_key=True)
    agent_id = UnicodeAttribute(range_key=True)


def find(workspace_id: str, agent_id: str) -> AgentRow | None:
    """The agent, or None when it is unknown or another workspace's. One request."""
    return storage.find(AgentRow, workspace_id, agent_id)


def read(workspace_id: str, agent_id: str) -> AgentRow:
    """The agent. Raises NotFound."""
    return require_found(find(workspace_id, agent_id))


def require_found(row: AgentRow | None) -> AgentRow:
    """`row`, if there is one. Raises NotFound."""
    if row is None:
        raise errors.NotFound.of("agent")
    return row


def display_name(agent: Document) -> str | None:
    """The agent's title as leads, conversations and events carry it: its first 1,000 characters, None without one."""
    title: str | None = agent.get("title")
    return title and title[:_DISPLAY_NAME]


def require_known(workspace_id: str, agent_id: str) -> None:
    """Raise NotFound for an unknown agent. Nothing to read for one that this process saw within 30 seconds.

    For writes that are many and small. Of an agent that another process deletes meanwhile, a record may stay.
    """
    asked = clock.milliseconds()
    if not 0 <= asked - _known_agents.get((workspace_id, agent_id), 0) < _CACHE_MILLISECONDS:
        read(workspace_id, agent_id)
        if len(_known_agents) >= _CACHE_SIZE:
            _known_agents.clear()
        _known_agents[workspace_id, agent_id] = asked


def key(workspace_id: str, agent_id: str) -> storage.Key:
    """What to ask `storage.find_many` for."""
    return storage.Key(AgentRow, workspace_id, agent_id)


def list_page(workspace_id: str, after: str | None, limit: int) -> list[AgentRow]:
    """At most `limit` agents in the order of their ids, from the first one after `after`."""
    condition = AgentRow.agent_id > after if after else None
    return storage.query(AgentRow, workspace_id, condition, limit=limit)


def create(workspace_id: str, agent_id: str, document: Document) -> tuple[AgentRow, Document]:
    """Stage a new agent with a key of its own; returns it with its document.

    Fails with AgentBeingDeleted while one of this id is being deleted, KeyTaken for a `SECRET_API_KEY` in use.
    """
    given = document.get(_SECRET)
    issued = _credential(workspace_id, agent_id, given if tokens.kind(given or "") == tokens.AGENT else None)
    now = clock.seconds()
    whole = {_SECRET: issued.token, **document, "createdAtUNIX": now, "lastModified": now}
    row = AgentRow(workspace_id, agent_id)
    row.seal(whole)
    storage.put(row)
    sequence.create(workspace_id, agent_id, AgentBeingDeleted())
    if whole[_SECRET] == issued.token:
        credentials.stage(issued, KeyTaken())
    return row, whole


def save(row: AgentRow, before: Document, after: Document, overlap: int = credentials.OVERLAP) -> Document:
    """Stage a changed document; returns it. No change is no write. A replaced key works for `overlap` more seconds.

    Fails with KeyTaken for a `SECRET_API_KEY` in use.
    """
    if json_equal(after, before):
        return before
    after = {**after, "lastModified": clock.seconds()}
    row.seal(after)
    storage.put(row)
    _stage_key(row, before.get(_SECRET), after.get(_SECRET), overlap)
    return after


def delete(row: AgentRow) -> None:
    """Stage the deletion of an agent; its sequence row becomes a tombstone. Raises ConditionFailed after another
    deletion."""
    last = sequence.find(row.workspace_id, row.agent_id)
    if last is None:
        raise storage.ConditionFailed()
    storage.delete(row)
    sequence.mark_deleted(last)
    _known_agents.pop((row.workspace_id, row.agent_id), None)


def revoke_all(workspace_id: str, agent_id: str) -> None:
    """End every login of an agent now, those in their overlap too, each in a unit of work of its own."""
    for credential in credentials.list_active(workspace_id, tokens.AGENT, agent_id):
        with storage.unit_of_work():
            credentials.revoke(credential)


@storage.in_unit_of_work
def rotate_key(workspace_id: str, agent_id: str, overlap: int = credentials.OVERLAP) -> str:
    """Give an agent a new key, and return it; the old one works for `overlap` more seconds. Raises NotFound."""
    token = tokens.new(tokens.AGENT)
    row = read(workspace_id, agent_id)
    save(row, before := row.open(), {**before, _SECRET: token}, overlap)
    return token


def revoke_keys(workspace_id: str, agent_id: str) -> None:
    """Clear an agent's key, and end now every key that still opens it. Raises NotFound."""
    _clear_key(workspace_id, agent_id)
    revoke_all(workspace_id, agent_id)


@storage.in_unit_of_work
def _clear_key(workspace_id: str, agent_id: str) -> None:
    row = read(workspace_id, agent_id)
    before = row.open()
    save(row, before, {name: value for name, value in before.items() if name != _SECRET})


class AgentBeingDeleted(errors.Conflict):
    """An agent of this id is being deleted: what belonged to it is not gone yet."""

    code = "AGENT_BEING_DELETED"
    sentence = "The agent of this id is still being deleted; try again in a minute, or use another id."


class KeyTaken(errors.Conflict):
    """The `SECRET_API_KEY` of a request is a login already."""

    code = "KEY_TAKEN"
    sentence = (
        "SECRET_API_KEY is the key of another agent, or one that this agent had before; "
        "send another key, or none to get a new one."
    )


def _credential(workspace_id: str, agent_id: str, token: str | None) -> credentials.Issued:
    return credentials.prepare(workspace_id, tokens.AGENT, agent_id, None, agent_id=agent_id, token=token)


def _stage_key(row: AgentRow, before: str | None, after: str | None, overlap: int) -> None:
    """Stage that the agent's login follows its `SECRET_API_KEY`.

    A new key in our form becomes the login, any other text does not. The login that it replaces works for `overlap`
    more seconds; clearing the member ends all logins at once.
    """
    if before == after:
        return
    if not after:
        _stage_revocation(row.workspace_id, row.agent_id)
        return
    if tokens.kind(after) == tokens.AGENT:
        credentials.stage(_credential(row.workspace_id, row.agent_id, after), KeyTaken())
    is_ours = before is not None and tokens.kind(before) == tokens.AGENT
    old = credentials.find_active(tokens.fingerprint(before)) if before and is_ours else None
    if old is not None and (old.workspace, old.agent_id) == row.keys:
        credentials.retire(old, overlap)


def _stage_revocation(workspace_id: str, agent_id: str) -> None:
    """Stage the end of every login of an agent. Those beyond the transaction's room end now."""
    logins = credentials.list_active(workspace_id, tokens.AGENT, agent_id)
    for login in logins[:-_LOGINS_AT_ONCE]:
        with storage.unit_of_work():
            credentials.revoke(login)
    for login in logins[-_LOGINS_AT_ONCE:]:
        credentials.revoke(login)
