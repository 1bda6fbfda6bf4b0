"""The catalogue: which change of a row is which event, and what its payload says (§6).

To add an event: its type in `Type`, and a function for its table in `_CATALOGUE`. An event must be readable
from the change alone; nothing is looked up here. `workspaceSecret` is put in when it is sent.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, get_args

from chalicelib.agents.store import AgentRow
from chalicelib.clients.store import ClientRow
from chalicelib.conversations import store as conversations
from chalicelib.leads.store import LeadRow
from chalicelib.organisations.store import OrganisationRow
from chalicelib.storage import Document, DocumentRow, json_equal
from chalicelib.webhooks.change import Change

Type = Literal[
    "agent_created", "agent_updated", "agent_deleted", "message_received",
    "organisation_created", "organisation_updated", "organisation_deleted",
    "client_created", "client_updated", "client_deleted", "lead_captured", "webhook_test",
]  # fmt: skip
TYPES: tuple[str, ...] = get_args(Type)
TEST = "webhook_test"

# Set by the service at every save; alone they are no change.
_TIMES = {"lastModified"}
_PLATFORMS = ("vg", "vf")
# The names of §6 for the origins of §2.6 that it calls otherwise.
_CHANNELS = {None: "webchat", "web-chat": "webchat"}
# Characters of a name or an address: an event must fit one item, whatever fits the record that it tells of.
_LONGEST = 1_000


class Event(NamedTuple):
    """An event of a workspace; `id` and `payload` are the same whenever the change is read again."""

    id: str
    workspace_id: str
    type: str
    payload: Document

    def __repr__(self) -> str:
        return f"Event({self.type} {self.id})"


def of(change: Change) -> list[Event]:
    """The events that a change is; none for what nobody is told. Raises for a row that cannot be read."""
    told = _CATALOGUE.get(change.table)
    return list(told(change)) if told and not change.expired else []


def _agent(change: Change) -> Iterator[Event]:
    for operation, row, agent in _operations(change, AgentRow):
        platform = agent.get("agentPlatform")
        yield _event(
            change,
            row.workspace_id,
            f"agent_{operation}",
            agentId=row.agent_id,
            agentName=agent.get("title"),
            agentPlatform=platform if platform in _PLATFORMS else None,
            operation=operation,
        )


def _organisation(change: Change) -> Iterator[Event]:
    for operation, row, organisation in _operations(change, OrganisationRow):
        yield _event(
            change,
            row.workspace_id,
            f"organisation_{operation}",
            organisationId=row.org_id,
            organisationName=organisation.get("name"),
            operation=operation,
        )


def _client(change: Change) -> Iterator[Event]:
    if "document" not in (change.new or change.old or {}):
        return  # whose an email is
    for operation, row, client in _operations(change, ClientRow):
        yield _event(
            change,
            row.workspace_id,
            f"client_{operation}",
            organisationId=client.get("orgId") or "",
            clientId=row.client_id,
            clientName=client.get("name"),
            clientEmail=client.get("email"),
            operation=operation,
        )


def _lead(change: Change) -> Iterator[Event]:
    if change.old is None and change.new is not None:
        row = LeadRow.from_raw_data(change.new)
        lead = row.open()
        yield _event(
            change,
            row.workspace_id,
            "lead_captured",
            agentId=lead["agentId"],
            agentName=lead.get("agentName"),
            leadName=lead.get("name"),
            leadEmail=lead.get("email"),
            leadPhone=lead.get("phone"),
            channel=lead["channel"],
            operation="captured",
        )


def _messages(change: Change) -> Iterator[Event]:
    if change.new is None or "received" not in change.new:
        return
    (workspace_id, agent_id, conversation_id), received = conversations.read_received(change.new)
    origin = received.get("origin")
    for place, message in enumerate(received["messages"], received.get("first", 0)):
        yield _event(
            change,
            workspace_id,
            "message_received",
            # A millisecond apart, so that receivers can order them, and tell two apart that say the same.
            after=place,
            part=message["mid"],
            agentId=agent_id,
            agentName=received.get("agentName"),
            convoId=conversation_id,
            messageContent=message["content"],
            channel=_CHANNELS.get(origin, origin),
            messageType=message.get("type"),
            **{"from": message.get("from")},
        )


_CATALOGUE: dict[str, Callable[[Change], Iterator[Event]]] = {
    "agents": _agent,
    "organisations": _organisation,
    "clients": _client,
    "leads": _lead,
    "conversations": _messages,
}


def _operations(change: Change, kind: type[DocumentRow]) -> Iterator[tuple[str, Any, Document]]:
    """The one operation that a change of a document is, with the row and the document that tell of it."""
    old = kind.from_raw_data(change.old) if change.old else None
    new = kind.from_raw_data(change.new) if change.new else None
    if new is None:
        if old is not None:
            yield "deleted", old, old.open()
    elif old is None:
        yield "created", new, new.open()
    elif not json_equal(_lasting(old.open()), _lasting(after := new.open())):
        yield "updated", new, after


def _lasting(document: Document) -> Document:
    return {name: value for name, value in document.items() if name not in _TIMES}


def _event(change: Change, workspace_id: str, type_: str, *, after: int = 0, part: str = "", **payload: Any) -> Event:
    """The event of a change; `part` tells several of one change apart, `after` is how many ms later it counts."""
    known = {name: _bounded(name, value) for name, value in payload.items() if value is not None}
    created_at = change.milliseconds + after
    return Event(change.event_id(type_ + part, created_at), workspace_id, type_, {**known, "createdAt": created_at})


def _bounded(name: str, value: Any) -> Any:
    # What a message says was bounded when it was received.
    return value[:_LONGEST] if isinstance(value, str) and name != "messageContent" else value
