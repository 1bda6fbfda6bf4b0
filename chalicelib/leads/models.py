"""Wire models for leads. The specification defines only the event `lead_captured` (§6)."""

from typing import Literal

from typing_extensions import TypeAliasType

from chalicelib.http.wire import (
    Identifier,
    OpenWire,
    OptionalNumber,
    OptionalText,
    WireModel,
    generated,
    present,
    read_only,
)

LeadChannel = TypeAliasType(
    "LeadChannel",
    Literal[
        "voice", "voiceplatform", "web-chat", "chatapp", "photoapp", "cloudchat", "community", "gb-chat",
        "socialmessenger", "telephony", "webchat",
    ],
)  # fmt: skip


class Lead(OpenWire):
    """A lead. `agentName` is the agent's title at the time of capture."""

    id: OptionalText = generated()
    agentId: Identifier
    agentName: OptionalText = read_only()
    name: OptionalText = None
    email: OptionalText = None
    phone: OptionalText = None
    channel: LeadChannel | None = present()
    createdAt: OptionalNumber = generated()


class LeadChange(Lead):
    """A change to a lead. A lead's agent cannot be changed."""

    agentId: OptionalText = read_only()  # type: ignore[assignment]


class LeadChangeIn(WireModel):
    """The body of PATCH /v3/leads/{lead_id}."""

    lead: LeadChange


class LeadIn(WireModel):
    """The body of POST /v3/leads."""

    lead: Lead
