"""The event catalogue: the events that a row change causes, and their payloads (§6).

To add an event, add its type to `Type`, and yield it from the table's function in `_CATALOGUE`. The function derives
events only from the change, and reads nothing else. `delivery` adds `workspaceSecret` to the payload.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import quote

from chalicelib.agents.rows import AgentRow, is_agent
from chalicelib.clients.store import ClientRow
from chalicelib.conversations import store as conversations
from chalicelib.conversations.new_messages import Channel
from chalicelib.leads.store import LeadRow
from chalicelib.organisations.store import OrganisationRow
from chalicelib.storage import Document, DocumentRow, json_equal, split_author
from chalicelib.webhooks.change import RowChange

Type = Literal[
    "agent_created", "agent_updated", "agent_deleted", "message_received",
    "organisation_created", "organisation_updated", "organisation_deleted",
    "client_created", "client_updated", "client_deleted", "lead_captured", "webhook_test",
    "conversation_state_changed", "conversation_assigned",
]  # fmt: skip
TYPES: tuple[str, ...] = get_args(Type)
TEST = "webhook_test"

# The service sets these members on every save. A save that changes nothing else causes no event.
_TIMESTAMPS = {"lastModified"}
_PLATFORMS = ("vg", "vf")
# The channel (§6) for each origin (§2.6). Conversations with any other origin, or without one, have the channel
# `webchat`.
_CHANNELS: dict[str, Channel] = {
    "web-chat": "webchat",
    "chatapp": "chatapp",
    "community": "socialnet",
    "gb-chat": "cloudchat",
}
# Event type -> the metadata member that it reports.
_TRANSFERS = {"conversation_state_changed": "state", "conversation_assigned": "chatAssignedTo"}
# Maximum characters of a text member other than the message content, because an event must fit into a 400 KB item.
_MAX_LABEL = 1_000


class Event(NamedTuple):
    """An event in a workspace. Its members are the same each time the change is read.

    `message_id` is the percent-encoded id of a received message, for a header of the delivery.
    """

    id: str
    workspace_id: str
    type: str
    payload: Document
    message_id: str | None = None

    def __repr__(self) -> str:
        return f"Event({self.type} {self.id})"


def from_change(change: RowChange) -> list[Event]:
    """Return a change's events. Raise an error if the row cannot be read or decrypted."""
    events_of = _CATALOGUE.get(change.table)
    return list(events_of(change)) if events_of and not change.is_expired else []


def _agent(change: RowChange) -> Iterator[Event]:
    if not is_agent(change.keys["item"]):
        return  # a tool
    # A tombstone counts as absent: its creation causes the deletion event, and its later removal causes none.
    old, new = (None if image and "deleted_at" in image else image for image in (change.old, change.new))
    for operation, row, agent in _operations(change._replace(old=old, new=new), AgentRow):
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


def _organisation(change: RowChange) -> Iterator[Event]:
    for operation, row, organisation in _operations(change, OrganisationRow):
        yield _event(
            change,
            row.workspace_id,
            f"organisation_{operation}",
            organisationId=row.org_id,
            organisationName=organisation.get("name"),
            operation=operation,
        )


def _client(change: RowChange) -> Iterator[Event]:
    if "document" not in (change.new or change.old or {}):
        return  # a row that reserves an email, not a client
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


def _lead(change: RowChange) -> Iterator[Event]:
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


def _conversation(change: RowChange) -> Iterator[Event]:
    if change.new is None or "received" not in change.new:
        return
    keys, received = conversations.read_received(change.new)
    yield from _messages(change, keys, received)
    if transfer := received.get("transfer"):
        yield from _transfer(change, keys, transfer)


def _messages(change: RowChange, keys: list[str], received: Document) -> Iterator[Event]:
    (workspace_id, agent_id, conversation_id), origin = keys, received.get("origin")
    for position, message in enumerate(received["messages"], received.get("first", 0)):
        event = _event(
            change,
            workspace_id,
            "message_received",
            # The events are one millisecond apart, so that receivers can order messages, and distinguish equal
            # messages.
            delay=position,
            part=message["mid"],
            agentId=agent_id,
            agentName=received.get("agentName"),
            convoId=conversation_id,
            messageContent=message["content"],
            channel=message.get("channel") or _CHANNELS.get(str(origin), "webchat"),
            messageType=message.get("type"),
            **{"from": message.get("from")},
        )
        yield event._replace(message_id=_header_value(message["mid"]))


def _transfer(change: RowChange, keys: list[str], transfer: Document) -> Iterator[Event]:
    (workspace_id, agent_id, conversation_id), old, new = keys, transfer["before"], transfer["after"]
    author = transfer["author"] and [part[:_MAX_LABEL] for part in split_author(transfer["author"])]
    for type_, member in _TRANSFERS.items():
        if member in transfer["changed"]:
            yield _event(
                change,
                workspace_id,
                type_,
                agentId=agent_id,
                convoId=conversation_id,
                before=old[member],
                after=new[member],
                state=new["state"],
                assignee=new["chatAssignedTo"],
                actor=author and dict(zip(("kind", "id", "name"), author, strict=True)),
            )


_CATALOGUE: dict[str, Callable[[RowChange], Iterator[Event]]] = {
    "agents": _agent,
    "organisations": _organisation,
    "clients": _client,
    "leads": _lead,
    "conversations": _conversation,
}


def _operations(change: RowChange, kind: type[DocumentRow]) -> Iterator[tuple[str, Any, Document]]:
    """Yield a changed document's operation, row and content, or nothing if the content is unchanged."""
    old = kind.from_raw_data(change.old) if change.old else None
    new = kind.from_raw_data(change.new) if change.new else None
    if new is None:
        if old is not None:
            yield "deleted", old, old.open()
    elif old is None:
        yield "created", new, new.open()
    elif not json_equal(_without_timestamps(old.open()), _without_timestamps(after := new.open())):
        yield "updated", new, after


def _without_timestamps(document: Document) -> Document:
    return {name: value for name, value in document.items() if name not in _TIMESTAMPS}


def _event(
    change: RowChange, workspace_id: str, type_: str, *, delay: int = 0, part: str = "", **payload: Any
) -> Event:
    """Create an event dated `delay` milliseconds after the change. `part` distinguishes events in the same change."""
    members = {name: _truncated(name, value) for name, value in payload.items() if value is not None}
    created_at = change.milliseconds + delay
    return Event(change.event_id(type_ + part, created_at), workspace_id, type_, {**members, "createdAt": created_at})


def _header_value(mid: str) -> str | None:
    """Return a percent-encoded message id, or None if the header would be too long for a receiver.

    Stored ids are truncated to 1,000 characters, so a shorter value always contains the complete id.
    """
    value = quote(mid, safe="")
    return value if len(value) < _MAX_LABEL else None


def _truncated(name: str, value: Any) -> Any:
    # `new_messages` has already truncated the message content.
    return value[:_MAX_LABEL] if isinstance(value, str) and name != "messageContent" else value
