"""Reads the names of the records that the audit log lists, and the paths of their pages."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import quote

from chalicelib import extensions, ids, storage
from chalicelib.agents import store as agents
from chalicelib.clients import store as clients
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.credentials.store import CredentialRow
from chalicelib.extensions.console.access import acts, calls
from chalicelib.extensions.console.presentation.template_filters import agent_title, display_name
from chalicelib.extensions.console.settings_pages import changed_rights
from chalicelib.organisations import store as organisations
from chalicelib.storage import Document, parent_scoped_ids
from chalicelib.tools.store import ToolRow
from chalicelib.webhooks import endpoints

_VERSIONS: Any = extensions.service("versions")
_ERASURES = "erasures"
# The kinds of acts that have the name of a record, with the record's kind.
_NAMED_AS = {acts.VIEW: "clients", acts.KEY_VIEW: "agents"}
_CREDENTIALS = {"tokens": (tokens.ACCESS,), "keys": (tokens.WORKSPACE, tokens.AGENT)}
_MAX_CREDENTIALS = 100  # the newest of each kind
_MAX_DELETED = 20  # each costs a request


class RecordName(NamedTuple):
    """A record's name, the path of its page, and the path of its versions, or an empty path.

    For people, organisations and webhooks, `version` is the stored version, and `rights` contains its rights or state.
    """

    name: str
    path: str
    versions: str = ""
    version: str | None = None
    rights: Document | None = None


def read(workspace_id: str, resources: Iterable[str]) -> dict[str, RecordName]:
    """Return the names of the existing records among these resources, such as `agents/support`.

    This costs one request for agents, tools, people, organisations and webhooks. Access tokens cost two requests and
    keys four, because their ids are not their keys in the database. Only the newest 100 active
    tokens and keys of each kind have names. An agent's key has the agent's name. Erasures cost one request, and the
    newest 100 have names. Other acts have the name of their person or agent.
    """
    named = {*resources}
    acted_on = {one: _record_of_act(one) for one in named if one.partition("/")[0] in _NAMED_AS}
    kinds = {one.partition("/")[0] for one in named}
    listed = {one: row for one, row in _credentials(workspace_id, kinds) if one in named}
    agents_of_keys = {f"agents/{row.agent_id}" for row in listed.values() if row.agent_id}
    names = _stored(workspace_id, sorted({*named, *agents_of_keys, *acted_on.values()}))
    names |= {one: _credential(row, names) for one, row in listed.items()}
    names |= {
        one: names[record]._replace(versions="", version=None) for one, record in acted_on.items() if record in names
    }
    return {**names, **(_erasures() if _ERASURES in kinds else {})}


def _record_of_act(resource: str) -> str:
    kind, record_id = resource.split("/", 1)
    return f"{_NAMED_AS[kind]}/{record_id}"


def read_deleted(changes: Sequence[Document], names: dict[str, RecordName]) -> dict[str, RecordName]:
    """Return the last names of up to 20 deleted agents and tools among these changes, which are newest first.

    The history keeps their last version, so each costs one request. `names` are the existing records' names.
    """
    newest: dict[str, str] = {}
    for change in changes:
        newest.setdefault(change["resource"], change["id"])
    missing = (one for one in newest if one not in names and one.partition("/")[0] in _LAST_NAMES)
    last_names = {}
    for resource in islice(missing, _MAX_DELETED):
        kind, record_id = resource.split("/", 1)
        for _, last in _VERSIONS(kind, record_id, ids.timestamp_of(newest[resource]), 1):
            last_names[resource] = RecordName(display_name(last, _LAST_NAMES[kind]) or record_id, "")
    return last_names


def read_deleted_agents(usage: Iterable[Document]) -> dict[str, str]:
    """Return the last names of up to 20 deleted agents in records of usage, by agent id, at one request each.

    Without the extension `history`, their names are unknown.
    """
    if not extensions.has("history"):
        return {}
    deleted = [(f"agents/{one['agentId']}", one["deletedAt"]) for one in usage if "deletedAt" in one]
    # The deletion's exact time is later in this second.
    changes = [{"resource": agent, "id": ids.id_at(second * 1000 + 999, 0)} for agent, second in reversed(deleted)]
    return {agent.partition("/")[2]: one.name for agent, one in read_deleted(changes, {}).items()}


def _credentials(workspace_id: str, kinds: set[str]) -> Iterator[tuple[str, CredentialRow]]:
    for kind in (kind for resource in sorted(kinds & _CREDENTIALS.keys()) for kind in _CREDENTIALS[resource]):
        for row in credentials.list_active(workspace_id, kind, newest=_MAX_CREDENTIALS):
            yield f"{row.resource}/{row.credential_id}", row


def _stored(workspace_id: str, resources: Iterable[str]) -> dict[str, RecordName]:
    parts = [(one, *one.split("/", 1)) for one in resources]
    stored = [(one, kind, _KEYS[kind](workspace_id, record_id)) for one, kind, record_id in parts if kind in _KEYS]
    rows = storage.find_many([key._replace(consistent=False) for _, _, key in stored]) if stored else []
    return {one: _NAMES[kind](row) for (one, kind, _), row in zip(stored, rows, strict=True) if _exists(row)}


def _exists(row: Any) -> bool:
    return row is not None and not getattr(row, "is_tombstone", False)


def _tool_key(workspace_id: str, tool_id: str) -> storage.Key:
    return storage.Key(
        ToolRow, parent_scoped_ids.partition_of(workspace_id, tool_id), storage.join_key("tool", tool_id)
    )


def _agent(row: agents.AgentRow) -> RecordName:
    path = f"/agents/{quote(row.agent_id)}"
    return RecordName(agent_title({**row.open(), "ID": row.agent_id}), path, f"{path}/versions")


def _tool(row: ToolRow) -> RecordName:
    path = f"/agents/{quote(row.agent_id)}/tools/{quote(row.tool_id)}"
    return RecordName(display_name(row.open(), "name") or row.tool_id, f"{path}/settings", f"{path}/versions")


def _client(row: clients.ClientRow) -> RecordName:
    client = row.open()
    org_id = client.get("orgId")
    path = f"/settings/orgs/{quote(org_id)}/clients/{quote(row.client_id)}" if org_id else ""
    name = display_name(client, "name", "email") or row.client_id
    return RecordName(name, path, version=row.version_tag, rights=_rights(client))


def _organisation(row: organisations.OrganisationRow) -> RecordName:
    organisation, path = row.open(), f"/settings/orgs/{quote(row.org_id)}"
    name = display_name(organisation, "name") or row.org_id
    return RecordName(name, path, version=row.version_tag, rights=_rights(organisation))


def _rights(document: Document) -> Document:
    return {name: document.get(name) for name in changed_rights.MEMBERS}


def _credential(row: CredentialRow, names: dict[str, RecordName]) -> RecordName:
    paths = {tokens.ACCESS: "/settings#tokens", tokens.AGENT: f"/agents/{quote(row.agent_id or '')}/site"}
    agent = names.get(f"agents/{row.agent_id}")
    return RecordName(agent.name if agent else row.name, paths.get(row.kind, ""))


def _webhook(row: endpoints.WebhookRow) -> RecordName:
    webhook, path = row.open(), f"/settings/webhooks/{quote(row.webhook_id)}"
    name = display_name(webhook, "description", "url") or row.webhook_id
    return RecordName(name, path, version=row.version_tag, rights=_rights(webhook))


def _erasures() -> dict[str, RecordName]:
    """Return the references, or the ids, of the newest erasures, or nothing without the extension `erasures`."""
    if not extensions.has(_ERASURES):
        return {}
    listed = calls.get("/v3/erasures", {"limit": _MAX_CREDENTIALS})["data"]
    return {
        f"{_ERASURES}/{one['id']}": RecordName(
            display_name(one, "reference", "id"), f"/settings/erasures/{quote(one['id'])}"
        )
        for one in listed
    }


_KEYS = {
    "agents": agents.key,
    "tools": _tool_key,
    "clients": clients.key,
    "orgs": organisations.key,
    "webhooks": endpoints.key,
}
_NAMES: dict[str, Any] = {
    "agents": _agent, "tools": _tool, "clients": _client, "orgs": _organisation, "webhooks": _webhook,
}  # fmt: skip
_LAST_NAMES = {"agents": "title", "tools": "name"}
