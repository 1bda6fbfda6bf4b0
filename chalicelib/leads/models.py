"""Leads on the wire: routes of our own, the specification has only their event (§6)."""

from typing import Literal

from chalicelib.http.wire import Identifier, OptionalNumber, OptionalText, Wire, read_only

Channel = Literal[
    "voice", "voiceplatform", "web-chat", "chatapp", "photoapp", "cloudchat", "community", "gb-chat",
    "socialmessenger", "telephony", "webchat",
]  # fmt: skip


class Lead(Wire):
    """A lead. `channel` is `web-chat` when it is left out, `agentName` the agent's title when it was captured.

    `createdAt` is in milliseconds.
    """

    id: OptionalText = read_only()
    agentId: Identifier
    agentName: OptionalText = read_only()
    name: OptionalText = None
    email: OptionalText = None
    phone: OptionalText = None
    channel: Channel | None = None
    createdAt: OptionalNumber = read_only()


class LeadIn(Wire):
    """The body of POST /v3/leads."""

    lead: Lead
