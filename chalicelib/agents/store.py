"""Agents in the database: one sealed document each, in the partition of their workspace.

Beside it every agent has a sequence row (`sequence`): it numbers the agent's
conversations, and as it is there exactly as long as the agent is, writers of what belongs to the agent
make it a condition.
"""

from pynamodb.attributes import UnicodeAttribute

from chalicelib import clock, errors, storage
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.storage import Document, DocumentRow, same, sequence

# Characters of a title where a record of something else carries it.
_DISPLAY_NAME = 1_000
_SECRET = "SECRET_API_KEY"  # noqa: S105 - the name of the member
# A transaction has 100 items; each login is two of them.
_LOGINS_AT_ONCE = 40
_SEEN_MILLISECONDS = 30_000
_MOST_SEEN = 10_000
_seen: dict[tuple[str, str], int] = {}


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
    return found(find(workspace_id, agent_id))


def found(row: AgentRow | None) -> AgentRow:
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
    if not 0 <= asked - _seen.get((workspace_id, agent_id), 0) < _SEEN_MILLISECONDS:
        read(workspace_id, agent_id)
        if len(_seen) >= _MOST_SEEN:
            _seen.clear()
        _seen[workspace_id, agent_id] = asked


def key(workspace_id: str, agent_id: str) -> storage.Key:
    """What to ask `storage.find_many` for."""
    return storage.Key(AgentRow, workspace_id, agent_id)


def listed(workspace_id: str, after: str | None, limit: int) -> list[AgentRow]:
    """At most `limit` agents in the order of their ids, from the first one after `after`."""
    condition = AgentRow.agent_id > after if after else None
    return storage.query(AgentRow, workspace_id, condition, limit=limit)


def create(workspace_id: str, agent_id: str, document: Document) -> tuple[AgentRow, Document]:
    """Store a new agent with a key of its own; returns it with its document. Raises Conflict when the id is taken."""
    given = document.get(_SECRET)
    issued = _credential(workspace_id, agent_id, given if tokens.kind(given or "") == tokens.AGENT else None)
    now = clock.seconds()
    whole = {_SECRET: issued.token, **document, "createdAtUNIX": now, "lastModified": now}
    row = AgentRow(workspace_id, agent_id)
    row.seal(whole)
    own_key = credentials.issue_steps(issued) if whole[_SECRET] == issued.token else []
    try:
        storage.transact(storage.put(row), sequence.create(workspace_id, agent_id), *own_key)
    except storage.ConditionFailed as stale:
        raise _key_taken(stale, 2) from stale
    return row, whole


def save(row: AgentRow, before: Document, after: Document, overlap: int = credentials.OVERLAP) -> Document:
    """Store a changed document; returns it. No change is no write. Raises ConditionFailed after another write.

    A key that is replaced goes on for `overlap` seconds.
    """
    if same(after, before):
        return before
    after = {**after, "lastModified": clock.seconds()}
    row.seal(after)
    steps = _key_steps(row, before.get(_SECRET), after.get(_SECRET), overlap)
    try:
        storage.transact(storage.put(row), *steps) if steps else storage.save(row)
    except storage.ConditionFailed as stale:
        raise (_key_taken(stale, 1) if after.get(_SECRET) else stale) from stale
    return after


def delete(row: AgentRow) -> None:
    """Delete an agent and its logins; its sequence row becomes a tombstone. Raises ConditionFailed after a change."""
    last = sequence.find(row.workspace_id, row.agent_id)
    if last is None:
        raise storage.ConditionFailed()
    storage.transact(storage.remove(row), sequence.close(last))
    _seen.pop((row.workspace_id, row.agent_id), None)
    revoke_all(row.workspace_id, row.agent_id)


def revoke_all(workspace_id: str, agent_id: str) -> None:
    """End every login of an agent now, those in their overlap too."""
    for credential in credentials.list_active(workspace_id, tokens.AGENT, agent_id):
        credentials.revoke(credential)


def rotate_key(workspace_id: str, agent_id: str, overlap: int = credentials.OVERLAP) -> str:
    """Give an agent a new key, and return it; the old one goes on for `overlap` seconds. Raises NotFound."""
    token = tokens.new(tokens.AGENT)

    def rotated() -> None:
        row = read(workspace_id, agent_id)
        save(row, before := row.open(), {**before, _SECRET: token}, overlap)

    storage.retry_on_conflict(rotated)
    return token


def revoke_keys(workspace_id: str, agent_id: str) -> None:
    """Clear an agent's key, and end now whatever key of it still opens something. Raises NotFound."""

    def cleared() -> None:
        row = read(workspace_id, agent_id)
        before = row.open()
        save(row, before, {name: value for name, value in before.items() if name != _SECRET})

    storage.retry_on_conflict(cleared)
    revoke_all(workspace_id, agent_id)


class KeyTaken(errors.Conflict):
    """The `SECRET_API_KEY` of a request is a login already."""

    sentence = "SECRET_API_KEY is the key of another agent, or one that this agent had before."


def _key_taken(stale: storage.ConditionFailed, step: int) -> errors.Conflict:
    """Which condition failed: that of the key, by its place among the puts, or that of the record."""
    failed = [reason is not None for reason in stale.reasons]
    return KeyTaken() if step < len(failed) and failed[step] and not failed[0] else stale


def _credential(workspace_id: str, agent_id: str, token: str | None) -> credentials.Issued:
    return credentials.prepare(workspace_id, tokens.AGENT, agent_id, None, agent_id=agent_id, token=token)


def _key_steps(row: AgentRow, before: str | None, after: str | None, overlap: int) -> list[storage.Step]:
    """The steps by which the agent's login follows its `SECRET_API_KEY`.

    A new key that has our form becomes the login, any other text does not. The login that it replaces
    goes on for `overlap` seconds; where the member is cleared it ends at once, and those in their overlap, too.
    """
    steps: list[storage.Step] = []
    if before == after:
        return steps
    if not after:
        return _revoke_steps(row.workspace_id, row.agent_id)
    if tokens.kind(after) == tokens.AGENT:
        steps += credentials.issue_steps(_credential(row.workspace_id, row.agent_id, after))
    old = (
        credentials.find_active(tokens.fingerprint(before)) if before and tokens.kind(before) == tokens.AGENT else None
    )
    if old is not None and (old.workspace, old.agent_id) == row.keys:
        steps += credentials.retire_steps(old, overlap)
    return steps


def _revoke_steps(workspace_id: str, agent_id: str) -> list[storage.Step]:
    """The steps that end every login of an agent. More than a transaction takes are in their overlap: they end now."""
    logins = credentials.list_active(workspace_id, tokens.AGENT, agent_id)
    for one in logins[:-_LOGINS_AT_ONCE]:
        credentials.revoke(one)
    return [step for one in logins[-_LOGINS_AT_ONCE:] for step in credentials.revoke_steps(one)]
