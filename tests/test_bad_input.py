"""Invalid input gets an error that names the member and the rule, and changes nothing.

This covers every registered route that takes a body, a path value or a query value. A new route fails until a valid
body and invalid ones are added. The sent value never appears in an answer or a log line. `contract/test_members.py`
tests the values of each member.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, get_args

import pytest

from app import app
from chalicelib import storage
from chalicelib.credentials import store as credentials
from chalicelib.http import auth
from chalicelib.http.wire import IDENTIFIER
from chalicelib.leads.models import LeadChannel
from chalicelib.webhooks.events import Type
from chalicelib.workspaces import store as workspaces
from tests.api import Answer, Api
from tests.builders import webhook_body
from tests.engine import shared_engine
from tests.evidence import logged, refused, stored
from tests.operations import BODIES, CHOSEN, QUERIES, body_of
from tests.requests import counted, refuse_operation
from tests.selection import one_of_each
from tests.test_history import keep
from tests.webhooks.pipeline import HISTORY, Stream

READS = {"GetItem", "BatchGetItem", "Query"}
# Part of each sent value; it must not appear in an answer or a log line.
CANARY = "canary-4f1c"
NUMBER = 918273645546372819


class Operation(NamedTuple):
    """A registered method of a route of the API."""

    method: str
    route: str
    body: Any
    query: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.method} {self.route}"

    @property
    def is_bounded(self) -> bool:
        """Whether it is a bounded list."""
        declared: bool = app.routes[self.route][self.method].view_function.operation.bounded
        return declared

    @property
    def is_interaction(self) -> bool:
        return self.route.endswith("/state")


OPERATIONS = [
    Operation(method, route, entry.view_function.operation.body, entry.view_function.operation.query)
    for route, methods in app.routes.items()
    if not auth.is_open(route)
    for method, entry in methods.items()
]
WITH_BODY = [operation for operation in OPERATIONS if operation.body is not None]
# These routes treat an empty body as an empty object.
BODY_IS_OPTIONAL = {"POST /agents/{agent_id}/interact/{user_id}/state", "POST /v3/workspace/key/rotate"}

PLACE = "must be the place of a tool in tools, such as tools.0"
TEXT, NUM, FLAG, LIST, OBJECT = (
    f"must be {kind}" for kind in ("a string", "a number", "a boolean", "an array", "an object")
)
UNKNOWN, MISSING = "is not a member of this object", "is required"


def one_of(kind: Any) -> str:
    """The rule of a member with the values of this `Literal`."""
    *values, last = (f"'{value}'" for value in get_args(kind))
    return f"must be {', '.join(values)} or {last}"


# URLs that a webhook must not have, each with the rule that it breaks.
WRONG_URLS = {
    f"http://{CANARY}.test/": "must begin with https://",
    f"ftp://{CANARY}.test/": "must begin with https://",
    CANARY: "must begin with https://",
    f"//{CANARY}.test/": "must begin with https://",
    f"https://{CANARY}@example.com/": "must not have a user name or password",
    f"https://ann:{CANARY}@example.com/": "must not have a user name or password",
    f"https://example.com/#{CANARY}": "must not have a fragment",
    f"https:///{CANARY}": "must have a valid host",
    f"https://{CANARY}*/": "must have a valid host",
    f"https://[{CANARY}/": "must be a valid URL",
    f"https://example.com:0/{CANARY}": "must have a port from 1 to 65535",
    f"https://example.com:65536/{CANARY}": "must have a port from 1 to 65535",
    f"https://example.com/a {CANARY}": "must not have spaces, control characters or backslashes",
    f"https://example.com/\r\n{CANARY}": "must not have spaces, control characters or backslashes",
    f"https://example.com\\{CANARY}": "must not have spaces, control characters or backslashes",
    f"https://127.0.0.1/{CANARY}": "must have a public address",
    f"https://127.1/{CANARY}": "must have a public address",
    f"https://2130706433/{CANARY}": "must have a public address",
    f"https://169.254.169.254/{CANARY}": "must have a public address",
    f"https://10.0.0.1:8443/{CANARY}": "must have a public address",
    f"https://[::1]/{CANARY}": "must have a public address",
    f"https://[::ffff:10.0.0.1]/{CANARY}": "must have a public address",
    f"https://[fd00:ec2::254]/{CANARY}": "must have a public address",
    f"https://example.com/{CANARY * 200}": "must have at most 2048 characters",
    "": "must have at least 1 character",
}

# Invalid bodies: (body, path of the member, rule). Each contains the canary, or the number.
WRONG: dict[str, list[tuple[Any, str, str]]] = {
    "POST /v2/agents/{agent_id}": [
        ({"title": NUMBER}, "title", TEXT),
        ({"vg_maxTokens": CANARY}, "vg_maxTokens", NUM),
        ({"smartInit": CANARY}, "smartInit", FLAG),
        ({"vg_initMessages": CANARY}, "vg_initMessages", LIST),
        ({"vg_initMessages": ["a", NUMBER]}, "vg_initMessages.1", TEXT),
        ({"agentPlatform": CANARY}, "agentPlatform", "must be 'vf' or 'vg'"),
        ({"customThemeJSONString": CANARY}, "customThemeJSONString", OBJECT),
        ({"customThemeJSONString": {"nineColorPallet": [[CANARY]]}}, "customThemeJSONString.nineColorPallet.0.0", NUM),
        ({"unknown": CANARY}, "unknown", UNKNOWN),
        ({"region": CANARY}, "region", UNKNOWN),
        ({"ID": CANARY}, "ID", UNKNOWN),
    ],
    "POST /v3/agents": [
        ({}, "agent", MISSING),
        ({"agent": None}, "agent", OBJECT),
        ({"agent": [CANARY]}, "agent", OBJECT),
        ({"agent": {}, "unknown": CANARY}, "unknown", UNKNOWN),
        ({"agent": {"unknown": CANARY}}, "agent.unknown", UNKNOWN),
        ({"agent": {"SECRET_API_KEY": NUMBER}}, "agent.SECRET_API_KEY", TEXT),
    ],
    "POST /v3/agents/import": [
        ({}, "template", MISSING),
        ({"template": [CANARY]}, "template", OBJECT),
        ({"template": {}, "agent": CANARY}, "agent", UNKNOWN),
        ({"template": {"unknown": CANARY}}, "template.unknown", UNKNOWN),
        ({"template": {"title": NUMBER}}, "template.title", TEXT),
        ({"template": {"tools": [{"name": NUMBER}]}}, "template.tools.0.name", TEXT),
        ({"template": {"tools": [{"unknown": CANARY}]}}, "template.tools.0.unknown", UNKNOWN),
        ({"template": {"assignedToolsIds": [CANARY]}}, "template.assignedToolsIds.0", PLACE),
        (
            {"template": {"nodes": [{"toolsIds": ["tools.0", CANARY]}], "tools": [{}]}},
            "template.nodes.0.toolsIds.1",
            PLACE,
        ),
    ],
    "PATCH /v3/agents/{agent_id}": [
        ({}, "agent", MISSING),
        ({"title": CANARY, "agent": {}}, "title", UNKNOWN),
        ({"agent": {"ui": CANARY}}, "agent.ui", OBJECT),
        ({"agent": {"ui": {"voice": {"unknown": CANARY}}}}, "agent.ui.voice.unknown", UNKNOWN),
        ({"agent": {"nodes": {"id": CANARY}}}, "agent.nodes", LIST),
        ({"agent": {"nodes": [CANARY]}}, "agent.nodes.0", OBJECT),
        ({"agent": {"nodes": [{"id": CANARY}, {"id": CANARY}]}}, "agent.nodes.1.id", "is duplicated"),
        ({"agent": {"UIhandoffdescription": CANARY}}, "agent.UIhandoffdescription", UNKNOWN),
        (
            {"agent": {"voiceConfig": {"speechGen": {"internal": {"audioConfig": {"channels": CANARY}}}}}},
            "agent.voiceConfig.speechGen.internal.audioConfig.channels",
            NUM,
        ),
        ({"agent": {"tools": [{"fields": [{"in": NUMBER}]}]}}, "agent.tools.0.fields.0.in", TEXT),
        ({"agent": {"customThemeJSONString": {"primary": CANARY}}}, "agent.customThemeJSONString", TEXT),
    ],
    "POST /v3/agents/{agent_id}/tools": [
        ({}, "tool", MISSING),
        ({"tool": CANARY}, "tool", OBJECT),
        ({"tool": {"description": CANARY}}, "tool.name", MISSING),
        ({"tool": {"name": None}}, "tool.name", TEXT),
        ({"tool": {"name": "x", "unknown": CANARY}}, "tool.unknown", UNKNOWN),
        ({"tool": {"name": "x", "fields": [{"required": CANARY}]}}, "tool.fields.0.required", FLAG),
        ({"tool": {"name": "x", "fields": {"key": CANARY}}}, "tool.fields", LIST),
    ],
    "PATCH /v3/tools/{tool_id}": [
        ({}, "tool", MISSING),
        ({"tool": [CANARY]}, "tool", OBJECT),
        ({"tool": {"name": NUMBER}}, "tool.name", TEXT),
        ({"tool": {"disabled": CANARY}}, "tool.disabled", FLAG),
        ({"tool": {"channels": CANARY}}, "tool.channels", LIST),
        ({"tool": {"fields": [{"unknown": CANARY}]}}, "tool.fields.0.unknown", UNKNOWN),
    ],
    "POST /v3/tools/{tool_id}/test": [
        ({}, "arguments", MISSING),
        *(({"arguments": value}, "arguments", OBJECT) for value in (None, [CANARY], CANARY, NUMBER)),
        ({"arguments": {}, "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "POST /v3/agents/{agent_id}/convos/{convo_id}/messages": [
        ({}, "messages", MISSING),
        ({"messages": CANARY}, "messages", LIST),
        ({"messages": []}, "messages", "must have at least 1 item"),
        ({"messages": [{"item": {"text": CANARY}}] * 51}, "messages", "must have at most 50 items"),
        ({"messages": [{"type": NUMBER}]}, "messages.0.type", TEXT),
        ({"messages": [{}], "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "PATCH /v3/agents/{agent_id}/convos/{convo_id}/messages": [
        ({}, "messages", MISSING),
        ({"messages": CANARY}, "messages", LIST),
        ({"messages": [{"type": NUMBER}]}, "messages.0.type", TEXT),
        ({"messages": [{}], "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "POST /agents/{agent_id}/interact/{user_id}/messages": [
        ({}, "messages", MISSING),
        ({"messages": CANARY}, "messages", LIST),
        ({"messages": [{"type": NUMBER}]}, "messages.0.type", TEXT),
        ({"messages": [{}], "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "PATCH /v3/agents/{agent_id}/convos/{convo_id}/messages/{message_id}": [
        ({}, "message", MISSING),
        ({"message": CANARY}, "message", OBJECT),
        ({"message": {"ts": CANARY}}, "message.ts", NUM),
        ({"message": {}, "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "POST /v3/agents/{agent_id}/convos": [
        ({}, "conversation", MISSING),
        ({"conversation": CANARY}, "conversation", OBJECT),
        ({"conversation": {"title": NUMBER}}, "conversation.title", TEXT),
        ({"conversation": {"ts": CANARY}}, "conversation.ts", NUM),
        ({"conversation": {"unknown": CANARY}}, "conversation.unknown", UNKNOWN),
    ],
    "PATCH /v3/agents/{agent_id}/convos/{convo_id}": [
        ({}, "conversation", MISSING),
        ({"conversation": [CANARY]}, "conversation", OBJECT),
        ({"conversation": {"tags": CANARY}}, "conversation.tags", LIST),
        ({"conversation": {"tags": [NUMBER]}}, "conversation.tags.0", TEXT),
        ({"conversation": {"unknown": CANARY}}, "conversation.unknown", UNKNOWN),
    ],
    "POST /v3/agents/{agent_id}/convos/{convo_id}/assign": [
        ({}, "assign", MISSING),
        ({"assign": CANARY}, "assign", OBJECT),
        ({"assign": {"state": CANARY}}, "assign.to", MISSING),
        ({"assign": {"to": NUMBER}}, "assign.to", TEXT),
        ({"assign": {"to": f"{CANARY}#"}}, "assign.to", f"must match pattern '^{IDENTIFIER.pattern}$'"),
        ({"assign": {"to": None, "state": NUMBER}}, "assign.state", TEXT),
        ({"assign": {"to": None, "unknown": CANARY}}, "assign.unknown", UNKNOWN),
    ],
    "POST /agents/{agent_id}/interact/{user_id}/state": [
        ({"unknown": CANARY}, "unknown", UNKNOWN),
        ({"turns": CANARY}, "turns", LIST),
        ({"turns": [CANARY]}, "turns.0", OBJECT),
        ({"turns": [{"messages": {"type": CANARY}}]}, "turns.0.messages", LIST),
        ({"turns": [{"messages": [{"item": CANARY}]}]}, "turns.0.messages.0.item", OBJECT),
        ({"turns": [{"messages": [{"mid": NUMBER}]}]}, "turns.0.messages.0.mid", TEXT),
        ({"turns": [{"messages": [{"ts": CANARY}]}]}, "turns.0.messages.0.ts", NUM),
        ({"turns": [{"ts": CANARY}]}, "turns.0.ts", NUM),
        ({"delete": CANARY}, "delete", OBJECT),
        ({"delete": {}}, "delete.mids", MISSING),
        ({"delete": {"mids": CANARY}}, "delete.mids", LIST),
        ({"delete": {"mids": [NUMBER]}}, "delete.mids.0", TEXT),
        ({"delete": {"mids": [], "unknown": CANARY}}, "delete.unknown", UNKNOWN),
        ({"metadata": CANARY}, "metadata", OBJECT),
        ({"metadata": {"unknown": CANARY}}, "metadata.unknown", UNKNOWN),
        ({"metadata": {"userName": NUMBER}}, "metadata.userName", TEXT),
        (
            {"metadata": {"origin": CANARY}},
            "metadata.origin",
            "must be 'web-chat', 'chatapp', 'community' or 'gb-chat'",
        ),
    ],
    "POST /v2/agents/{agent_id}/analytics/{convo_id}": [
        ({"userID": CANARY}, "record", MISSING),
        ({"record": CANARY}, "record", "must be 'load' or 'convo'"),
        ({"record": "load", "ts": CANARY}, "ts", NUM),
        ({"record": "load", "browser": NUMBER}, "browser", TEXT),
        ({"record": "load", "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "POST /v2/clients/{client_id}": [
        ({"email": NUMBER}, "email", TEXT),
        ({"dashboardPassword": [CANARY]}, "dashboardPassword", TEXT),
        ({"dashboardPassword": NUMBER}, "dashboardPassword", TEXT),
        ({"isOrgAdmin": CANARY}, "isOrgAdmin", FLAG),
        ({"canAccess": CANARY}, "canAccess", LIST),
        ({"notificationsSettings": CANARY}, "notificationsSettings", OBJECT),
        ({"notificationsSettings": {"unknown": CANARY}}, "notificationsSettings.unknown", UNKNOWN),
        ({"password": CANARY}, "password", UNKNOWN),
    ],
    "POST /v2/orgs/{org_id}": [
        ({"squarePhotoURL": CANARY}, "name", MISSING),
        ({"name": NUMBER}, "name", TEXT),
        ({"name": "x", "preferredLanguage": CANARY}, "preferredLanguage", "must match pattern '^[a-z]{2}$'"),
        ({"name": "x", "dashboardLayout": CANARY}, "dashboardLayout", "must be 'vertical' or 'horizontal'"),
        ({"name": "x", "lastModified": CANARY}, "lastModified", NUM),
        ({"name": "x", "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "PUT /v2/clients": [
        ({"email": NUMBER}, "email", TEXT),
        ({"dashboardPassword": NUMBER}, "dashboardPassword", TEXT),
        ({"password": CANARY}, "password", UNKNOWN),
    ],
    "POST /v3/clients": [
        ({}, "client", MISSING),
        ({"client": CANARY}, "client", OBJECT),
        ({"client": {"email": NUMBER}}, "client.email", TEXT),
        ({"client": {"dashboardPassword": NUMBER}}, "client.dashboardPassword", TEXT),
        ({"client": {"password": CANARY}}, "client.password", UNKNOWN),
        ({"client": {}, "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "PUT /v2/orgs": [
        ({"squarePhotoURL": CANARY}, "name", MISSING),
        ({"name": NUMBER}, "name", TEXT),
        ({"name": "x", "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "POST /v3/orgs": [
        ({}, "organisation", MISSING),
        ({"organisation": CANARY}, "organisation", OBJECT),
        ({"organisation": {"squarePhotoURL": CANARY}}, "organisation.name", MISSING),
        ({"organisation": {"name": "x", "widgetIDs": [NUMBER]}}, "organisation.widgetIDs.0", TEXT),
        ({"organisation": {"name": "x", "unknown": CANARY}}, "organisation.unknown", UNKNOWN),
        ({"organisation": {"name": "x"}, "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "POST /v3/tokens": [
        ({}, "token", MISSING),
        ({"token": CANARY}, "token", OBJECT),
        ({"token": {"readOnly": True}}, "token.name", MISSING),
        ({"token": {"name": ""}}, "token.name", "must have at least 1 character"),
        ({"token": {"name": CANARY * 20}}, "token.name", "must have at most 200 characters"),
        ({"token": {"name": "x", "readOnly": CANARY}}, "token.readOnly", FLAG),
        (
            {"token": {"name": "x", "expiresInSeconds": 59}},
            "token.expiresInSeconds",
            "must be greater than or equal to 60",
        ),
        (
            {"token": {"name": "x", "expiresInSeconds": NUMBER}},
            "token.expiresInSeconds",
            "must be less than or equal to 31536000",
        ),
        ({"token": {"name": "x", "expiresInSeconds": 1.5}}, "token.expiresInSeconds", "must be a valid integer"),
        ({"token": {"name": "x", "unknown": CANARY}}, "token.unknown", UNKNOWN),
    ],
    **{
        name: [
            ({}, "token", MISSING),
            ({"token": {}, "unknown": CANARY}, "unknown", UNKNOWN),
            ({"token": {"unknown": CANARY}}, "token.unknown", UNKNOWN),
            ({"token": {"expiresInSeconds": 59}}, "token.expiresInSeconds", "must be greater than or equal to 60"),
            (
                {"token": {"expiresInSeconds": NUMBER}},
                "token.expiresInSeconds",
                "must be less than or equal to 2592000",
            ),
            ({"token": {"expiresInSeconds": 1.5}}, "token.expiresInSeconds", "must be a valid integer"),
        ]
        for name in (
            "POST /v3/agents/{agent_id}/convos/{convo_id}/visitor-tokens",
            "POST /agents/{agent_id}/interact/{user_id}/visitor-tokens",
        )
    },
    "PATCH /v3/workspace": [
        ({}, "workspace", MISSING),
        ({"workspace": {"name": ""}}, "workspace.name", "must have at least 1 character"),
        ({"workspace": {"name": CANARY * 20}}, "workspace.name", "must have at most 200 characters"),
        ({"workspace": {"name": None}}, "workspace.name", TEXT),
        ({"workspace": {"retentionDays": 0}}, "workspace.retentionDays", "must be greater than or equal to 1"),
        ({"workspace": {"retentionDays": NUMBER}}, "workspace.retentionDays", "must be less than or equal to 3650"),
        ({"workspace": {"retentionDays": 1.5}}, "workspace.retentionDays", "must be a valid integer"),
        ({"workspace": {"unknown": CANARY}}, "workspace.unknown", UNKNOWN),
    ],
    "POST /v3/erasures": [
        ({}, "erasure", MISSING),
        ({"erasure": {}}, "erasure", "must have userID, email or phone"),
        ({"erasure": {"userID": NUMBER}}, "erasure.userID", TEXT),
        ({"erasure": {"email": None}}, "erasure.email", TEXT),
        ({"erasure": {"email": CANARY, "phone": ""}}, "erasure.phone", "must have at least 1 character"),
        ({"erasure": {"email": CANARY * 100}}, "erasure.email", "must have at most 1000 characters"),
        ({"erasure": {"unknown": CANARY}}, "erasure.unknown", UNKNOWN),
    ],
    "POST /v3/workspace/key/rotate": [
        ({"overlapSeconds": CANARY}, "overlapSeconds", "must be a valid integer"),
        ({"overlapSeconds": -1}, "overlapSeconds", "must be greater than or equal to 0"),
        ({"overlapSeconds": NUMBER}, "overlapSeconds", "must be less than or equal to 31536000"),
        ({"unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "POST /v3/leads": [
        ({}, "lead", MISSING),
        ({"lead": CANARY}, "lead", OBJECT),
        ({"lead": {"name": CANARY}}, "lead.agentId", MISSING),
        ({"lead": {"agentId": None, "name": CANARY}}, "lead.agentId", TEXT),
        ({"lead": {"agentId": NUMBER}}, "lead.agentId", TEXT),
        ({"lead": {"agentId": f"{CANARY}#"}}, "lead.agentId", f"must match pattern '^{IDENTIFIER.pattern}$'"),
        ({"lead": {"agentId": f"{CANARY}\n"}}, "lead.agentId", f"must match pattern '^{IDENTIFIER.pattern}$'"),
        ({"lead": {"agentId": CANARY * 12}}, "lead.agentId", f"must match pattern '^{IDENTIFIER.pattern}$'"),
        ({"lead": {"agentId": "", "name": CANARY}}, "lead.agentId", f"must match pattern '^{IDENTIFIER.pattern}$'"),
        ({"lead": {"agentId": "support", "name": NUMBER}}, "lead.name", TEXT),
        ({"lead": {"agentId": "support", "email": [CANARY]}}, "lead.email", TEXT),
        ({"lead": {"agentId": "support", "phone": NUMBER}}, "lead.phone", TEXT),
        ({"lead": {"agentId": "support", "channel": CANARY}}, "lead.channel", one_of(LeadChannel.__value__)),
        ({"lead": {"agentId": "support", "unknown": CANARY}}, "lead.unknown", UNKNOWN),
        ({"lead": {"agentId": "support"}, "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "PATCH /v3/leads/{lead_id}": [
        ({}, "lead", MISSING),
        ({"lead": [CANARY]}, "lead", OBJECT),
        ({"lead": {"name": NUMBER}}, "lead.name", TEXT),
        ({"lead": {"channel": CANARY}}, "lead.channel", one_of(LeadChannel.__value__)),
        ({"lead": {"unknown": CANARY}}, "lead.unknown", UNKNOWN),
        ({"lead": {}, "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "POST /v3/webhooks": [
        ({}, "webhook", MISSING),
        ({"webhook": [CANARY]}, "webhook", OBJECT),
        ({"webhook": {"events": ["lead_captured"], "description": CANARY}}, "webhook.url", MISSING),
        ({"webhook": {"url": f"https://{CANARY}.test"}}, "webhook.events", MISSING),
        (webhook_body(url=None), "webhook.url", TEXT),
        (webhook_body(url=NUMBER), "webhook.url", TEXT),
        (webhook_body(events=None), "webhook.events", LIST),
        (webhook_body(events=CANARY), "webhook.events", LIST),
        (webhook_body(events=[]), "webhook.events", "must have at least 1 item"),
        (webhook_body(events=["lead_captured", CANARY]), "webhook.events.1", one_of(Type)),
        (webhook_body(events=["*"]), "webhook.events.0", one_of(Type)),
        (webhook_body(enabled=CANARY), "webhook.enabled", FLAG),
        (webhook_body(enabled=None), "webhook.enabled", FLAG),
        (webhook_body(description=NUMBER), "webhook.description", TEXT),
        (webhook_body(signingSecret=f"whsec_{CANARY}"), "webhook.signingSecret", UNKNOWN),
        (webhook_body(unknown=CANARY), "webhook.unknown", UNKNOWN),
        ({**webhook_body(), "unknown": CANARY}, "unknown", UNKNOWN),
        *((webhook_body(url=url), "webhook.url", rule) for url, rule in WRONG_URLS.items()),
    ],
    "PATCH /v3/webhooks/{webhook_id}": [
        ({}, "webhook", MISSING),
        ({"webhook": CANARY}, "webhook", OBJECT),
        ({"url": f"https://{CANARY}.test", "webhook": {}}, "url", UNKNOWN),
        ({"webhook": {"url": None}}, "webhook.url", TEXT),
        ({"webhook": {"events": None}}, "webhook.events", LIST),
        ({"webhook": {"events": []}}, "webhook.events", "must have at least 1 item"),
        ({"webhook": {"events": [CANARY]}}, "webhook.events.0", one_of(Type)),
        ({"webhook": {"enabled": None}}, "webhook.enabled", FLAG),
        ({"webhook": {"enabled": NUMBER}}, "webhook.enabled", FLAG),
        ({"webhook": {"description": [CANARY]}}, "webhook.description", TEXT),
        ({"webhook": {"signingSecret": f"whsec_{CANARY}"}}, "webhook.signingSecret", UNKNOWN),
        ({"webhook": {"unknown": CANARY}}, "webhook.unknown", UNKNOWN),
        *(({"webhook": {"url": url}}, "webhook.url", rule) for url, rule in WRONG_URLS.items()),
    ],
}

# Every object refuses an unknown member.
WRONG |= {
    operation.name: [({"unknown": CANARY}, "unknown", UNKNOWN)]
    for operation in WITH_BODY
    if operation.name not in WRONG
}

# Bodies that every route refuses: bytes, and the path of the wrong member, empty for the body itself.
MALFORMED: dict[str, tuple[bytes, str]] = {
    "not JSON": (CANARY.encode(), ""),
    "single quotes": (b"{'title': 'canary-4f1c'}", ""),
    "truncated": (b'{"title": "canary-4f1c"', ""),
    "text after the JSON": (b'{} "canary-4f1c"', ""),
    "a trailing comma": (b'{"title": "canary-4f1c",}', ""),
    "a comment": (b"{} // canary-4f1c", ""),
    "an array": (b'["canary-4f1c"]', ""),
    "text": (b'"canary-4f1c"', ""),
    "a number": (b"918273645546372819", ""),
    "true": (b"true", ""),
    "null": (b"null", ""),
    "NaN": (b"NaN", ""),
    "infinity": (b"-1e999", ""),
    "NaN in a member": (b'{"a": "canary-4f1c", "title": NaN}', "title"),
    "Infinity in a member": (b'{"title": {"a": [0, Infinity]}}', "title.a.1"),
    "-Infinity in a member": (b'{"title": -Infinity}', "title"),
    "1e999 in a member": (b'{"title": 1e999}', "title"),
    "-1e999 in a member": (b'{"title": -1E+999}', "title"),
    "1e999 after a string that looks like a number": (b'{"description": "1e9", "title": 1e999}', "title"),
    "300 digits and an exponent": (b'{"title": ' + b"9" * 305 + b"e9}", "title"),
    "50,000 arrays": (b"[" * 50_000 + b"]" * 50_000, ""),
    "50,000 objects": (b'{"title":' * 50_000 + b"1" + b"}" * 50_000, ""),
    "50,000 arrays in a member": (b'{"title": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", ""),
    "5,000 digits": (b'{"title": ' + b"9" * 5_000 + b"}", ""),
    "a lone high surrogate": (b'{"title": "canary-4f1c \\ud800"}', ""),
    "a lone low surrogate": (b'{"title": "canary-4f1c \\udc00"}', ""),
    "surrogates in reverse order": (b'{"title": "canary-4f1c \\udc00\\ud800"}', ""),
    "a surrogate in a name": (b'{"\\ud800": "canary-4f1c"}', ""),
    "invalid UTF-8": (b'{"title": "canary-4f1c \xff"}', ""),
    "truncated UTF-8": (b'{"title": "canary-4f1c \xe2\x82"}', ""),
    "overlong UTF-8": (b'{"title": "canary-4f1c \xc0\xaf"}', ""),
    "a surrogate encoded as UTF-8": (b'{"title": "canary-4f1c \xed\xa0\x80"}', ""),
    "UTF-16": ('{"title": "canary-4f1c"}'.encode("utf-16"), ""),
    "a byte order mark": (b'\xef\xbb\xbf{"title": "canary-4f1c"}', ""),
    "a control character": (b'{"title": "canary-4f1c \x00"}', ""),
}

CONTENT_TYPES: dict[str, dict[str, str]] = {
    "missing": {},
    "empty": {"Content-Type": ""},
    "text": {"Content-Type": "text/plain"},
    "a form": {"Content-Type": "application/x-www-form-urlencoded"},
    "nearly": {"Content-Type": "application/jsonp"},
    "another JSON type": {"Content-Type": "application/vnd.api+json"},
    "anything": {"Content-Type": "*/*"},
    "a list": {"Content-Type": "text/plain, application/json"},
}

# Percent-encoded path values.
INVALID_IDENTIFIERS = {
    "encoded twice": "a%2540x.test",
    "invalid UTF-8": "%ff",
    "truncated UTF-8": "a%e2%82",
    "a surrogate": "%ed%a0%80",
    "a byte that is not hexadecimal": "a%zz",
    "a lone percent sign": "a%",
    "129 characters": "a" * 129,
    "a slash": "a%2Fb",
    "a number sign": "a%23b",
    "a question mark": "a%3Fb",
    "a space": "%20",
    "blanks around": "%20a%20",
    "a zero byte": "a%00",
    "a line break": "a%0A",
    "a letter beyond ASCII": "caf%C3%A9",
    "invisible": "%E2%80%8B",
    "quotes": "%22a%22",
    "a backslash": "a%5Cb",
}

STATE = "/agents/support/interact/user-1/state"
PAGES = ["0", "-1", "x", "1.5", "1e1", "", "%2B1", "%201", "01", "1%0A", "1,2", "NaN", "1" * 10, "%D9%A3", "1&page=2"]
STATUSES = ["", "x", "Failed", "failed,pending", "failed ", "0", "null", "failed&status=failed"]
TEXTS = ["agentId", "orgId", "state", "tag", "origin", "assignedTo", "userID", "q"]
FLAGS = ["inbox", "starred", "deployed"]
TIMES = ["from", "to", "activeSince", "start_ts", "stop_ts"]
LIMITS = ["0", "-1", "101", "x", "1.5", "1e1", "", "05", "10000000000", "5&limit=5"]


CURSORS = {
    "other characters": "!!!",
    "a line break": "1%0A",
    "invalid UTF-8": "%ff",
    "a separator of keys": "a%23b",
    "a letter beyond ASCII": "%C3%A9",
    "too long": "9" * 129,
    "much too long": "9" * 5_000,
    "twice": "1&cursor=1",
}


class Service(NamedTuple):
    """The API with one record of each kind, and their path values."""

    api: Api
    values: dict[str, str]

    def path(self, route: str, **values: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda name: {**self.values, **values}.get(name[1], "x1"), route)

    def send(self, operation: Operation, body: Any, headers: dict[str, str] | None = None, **values: str) -> Answer:
        """Send a request that prefers errors to warnings; with `headers`, the default content type is omitted."""
        headers = {"Content-Type": "application/json"} if headers is None else headers
        strict = {"Prefer": "handling=strict", **self.api._headers}
        path = self.path(operation.route, **values) + QUERIES.get(operation.name, "")
        return self.api.call(operation.method, path, body, {**strict, **headers})


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """One service for all tests, since none of them changes it. Every valid body is accepted first."""
    with shared_engine():
        api, stream = Api(workspaces.create("Test").workspace_key), Stream()
        names = {"agent_id": "support", "user_id": "user-1", "convo_id": "user-1", "client_id": "ann", "org_id": "acme"}
        names["message_id"] = CHOSEN["message_id"]
        service = Service(api, names)
        api.post("/v2/agents/support", {})
        tool = api.post("/v3/agents/support/tools", body_of("POST /v3/agents/{agent_id}/tools")).data
        names["tool_id"] = tool["id"]
        made = api.post("/v3/webhooks", body_of("POST /v3/webhooks")).data["id"]
        names["webhook_id"], names["lead_id"] = made, api.post("/v3/leads", body_of("POST /v3/leads")).data["id"]
        names["delivery_id"] = api.post(f"/v3/webhooks/{made}/test").data["id"]
        names["token_id"] = api.post("/v3/tokens", {"token": {"name": "x"}}).data["id"]
        for operation in WITH_BODY:
            if operation.name in BODIES:
                assert service.send(operation, body_of(operation.name)).status == 200, operation.name
        keep(stream.read(*HISTORY))
        yield service


@contextmanager
def harmless() -> Iterator[None]:
    """Assert that the block writes nothing and logs none of the sent values."""
    with counted() as requests, logged() as log:
        yield
    assert requests.keys() <= READS
    assert not [line for line in log.lines if CANARY in line or str(NUMBER) in line]


def assert_refused(
    answer: Answer, operation: Operation, *paths: str, status: int = 400, code: str | None = None
) -> str:
    """Assert the error envelope, without any sent value; returns its message."""
    message = refused(answer, status, *paths, interaction=operation.is_interaction, code=code)
    shown = answer.text + str(answer.headers)
    assert CANARY not in shown
    assert str(NUMBER) not in shown
    return message


def every(operations: list[Operation]) -> Any:
    return pytest.mark.parametrize("operation", operations, ids=[operation.name for operation in operations])


# Bodies


def test_every_route_with_a_body_has_valid_and_invalid_bodies() -> None:
    """A new route has its valid body in `contract/routes.json`."""
    assert {operation.name for operation in WITH_BODY} == BODIES.keys() == WRONG.keys()
    for name, wrong in WRONG.items():
        assert UNKNOWN in {rule for _, _, rule in wrong}, name


@one_of_each(lambda raw: raw)
@pytest.mark.parametrize(("raw", "path"), MALFORMED.values(), ids=MALFORMED.keys())
@every(WITH_BODY)
def test_a_body_that_is_not_a_json_object_is_refused(
    operation: Operation, raw: bytes, path: str, service: Service
) -> None:
    with harmless():
        answer = service.send(operation, raw)
    message = assert_refused(answer, operation, path)
    assert re.match(r"(The body|title[.a1]*) (is not valid JSON: .+|must be (an object|a finite number))\.", message)


@one_of_each(lambda raw: raw)
@pytest.mark.parametrize("raw", [b"", b" \r\n\t"], ids=["empty", "blank"])
@every(WITH_BODY)
def test_an_empty_body_is_refused_if_the_route_needs_one(operation: Operation, raw: bytes, service: Service) -> None:
    if not raw and operation.name in BODY_IS_OPTIONAL:
        pytest.skip("this route treats an empty body as an empty object")
    with harmless():
        answer = service.send(operation, raw)
    assert assert_refused(answer, operation) == "The body is empty; send a JSON object."


@one_of_each(lambda rule: rule)
@pytest.mark.parametrize(
    ("operation", "body", "path", "rule"),
    [
        pytest.param(operation, body, path, rule, id=f"{operation.name} {path} {rule}")
        for operation in WITH_BODY
        for body, path, rule in WRONG.get(operation.name, [])
    ],
)
def test_the_error_names_the_member_and_the_rule_but_not_the_value(
    operation: Operation, body: Any, path: str, rule: str, service: Service
) -> None:
    with harmless():
        answer = service.send(operation, body)
    assert assert_refused(answer, operation, path) == f"{path} {rule}."


def test_a_duplicated_message_id_is_refused(service: Service) -> None:
    with harmless():
        answer = service.api.post(STATE, {"turns": [{"messages": [{"mid": CANARY}, {"mid": CANARY}]}]})
    refused(answer, 400, "turns.0.messages.1.mid", interaction=True, platform="vg")
    assert CANARY not in answer.text


@one_of_each(lambda operation: operation.method)
@every(WITH_BODY)
def test_refused_input_changes_no_byte_of_any_table(operation: Operation, service: Service) -> None:
    before = stored()
    for raw, _ in MALFORMED.values():
        service.send(operation, raw)
    for body, _, _ in WRONG[operation.name]:
        service.send(operation, body)
    for headers in CONTENT_TYPES.values():
        service.send(operation, body_of(operation.name), headers)
    for name in re.findall(r"\{(\w+)\}", operation.route):
        for value in INVALID_IDENTIFIERS.values():
            service.send(operation, body_of(operation.name), **{name: value})
    assert stored() == before


@one_of_each(lambda operation: operation.method)
@every(WITH_BODY)
def test_an_error_lists_up_to_twenty_issues(operation: Operation, service: Service) -> None:
    with harmless():
        several = service.send(operation, {f"unknown{number}": CANARY for number in range(3)})
        many = service.send(operation, {f"unknown{number}": CANARY for number in range(100)})
    unknown = [issue["path"] for issue in several.json["issues"] if issue["message"] == UNKNOWN]
    assert unknown == ["unknown0", "unknown1", "unknown2"]
    assert len(many.json["issues"]) == 20


@one_of_each(lambda operation: operation.method)
@every(WITH_BODY)
def test_a_long_member_name_is_shortened_in_the_error(operation: Operation, service: Service) -> None:
    with harmless():
        answer = service.send(operation, {"n" * 100_000: CANARY})
    assert "n" * 64 in [issue["path"] for issue in answer.json["issues"]]
    assert len(answer.text) < 1_000


@one_of_each(lambda headers: tuple(headers.items()))
@pytest.mark.parametrize("headers", CONTENT_TYPES.values(), ids=CONTENT_TYPES.keys())
@every(WITH_BODY)
def test_a_body_with_another_content_type_is_refused(
    operation: Operation, headers: dict[str, str], service: Service
) -> None:
    with harmless():
        answer = service.send(operation, b'{"title": "canary-4f1c"}', headers)
    assert assert_refused(answer, operation, status=415) == (
        "Send the body as JSON with the header Content-Type: application/json."
    )


@one_of_each(lambda content_type: content_type)
@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"]
)
@every(WITH_BODY)
def test_a_body_with_a_json_content_type_is_read(operation: Operation, content_type: str, service: Service) -> None:
    with harmless():
        answer = service.send(operation, {"unknown": CANARY}, {"Content-Type": content_type})
    assert answer.status == 400
    assert "unknown" in [issue["path"] for issue in answer.json["issues"]]


# Path values

WITH_PATH_VALUE = [
    pytest.param(operation, name, id=f"{operation.name} {name}")
    for operation in OPERATIONS
    for name in re.findall(r"\{(\w+)\}", operation.route)
]


@one_of_each(lambda value: value)
@pytest.mark.parametrize("value", INVALID_IDENTIFIERS.values(), ids=INVALID_IDENTIFIERS.keys())
@pytest.mark.parametrize(("operation", "name"), WITH_PATH_VALUE)
def test_a_path_value_that_is_not_an_identifier_is_refused(
    operation: Operation, name: str, value: str, service: Service
) -> None:
    with harmless():
        answer = service.send(operation, body_of(operation.name), **{name: value})
    assert assert_refused(answer, operation, name) == (
        f"{name} must be 1 to 128 of the characters A-Z a-z 0-9 . _ ~ @ : + = , | -."
    )


@one_of_each(lambda value: value)
@pytest.mark.parametrize("value", ["%2E", "%2e%2E", ".."])
@pytest.mark.parametrize(("operation", "name"), WITH_PATH_VALUE)
def test_a_path_value_that_a_client_would_remove_is_refused(
    operation: Operation, name: str, value: str, service: Service
) -> None:
    """Otherwise, a browser that deletes the conversation `..` would delete its agent."""
    with harmless():
        answer = service.send(operation, body_of(operation.name), **{name: value})
    assert assert_refused(answer, operation, name) == f'{name} must not be "." or "..".'


@pytest.mark.parametrize(("operation", "name"), WITH_PATH_VALUE)
@one_of_each(lambda: None)
def test_a_path_value_may_have_128_characters_of_every_kind(operation: Operation, name: str, service: Service) -> None:
    value = "%61.%5F~%40:+=,%7C-" + "9" * 117
    answer = service.send(operation, {"unknown": CANARY} if operation.body else None, **{name: value})
    if operation.body:
        assert "unknown" in [issue["path"] for issue in answer.json["issues"]]
    else:
        assert_refused(answer, operation, status=404)


def test_a_path_value_is_decoded_once(service: Service) -> None:
    service.api.post("/v2/clients/ann%40x.test", {"name": "Ann"})
    assert service.api.get("/v2/clients/ann@x.test").data["ID"] == "ann@x.test"
    assert service.api.get("/v2/clients/%61nn%40x%2Etest").data["name"] == "Ann"


def test_a_plus_sign_in_a_path_is_not_decoded_to_a_space(service: Service) -> None:
    service.api.post("/v2/clients/a+b", {"name": "Plus"})
    assert service.api.get("/v2/clients/a%2Bb").data["ID"] == "a+b"


def test_the_longest_identifiers_fit_into_every_table_key(service: Service) -> None:
    agent, other = "a" * 128, "|" * 128
    assert service.api.post(f"/v2/agents/{agent}", {"title": "Long"}).status == 200
    turns = {"turns": [{"from": "human", "messages": [{}]}]}
    assert service.api.post(f"/agents/{agent}/interact/{other}/state", turns).status == 200
    assert service.api.post(f"/v2/agents/{agent}/analytics/{other}", {"record": "load"}).status == 200
    assert service.api.post(f"/v2/clients/{other}", {"email": "long@x.test"}).status == 200
    assert service.api.post(f"/v2/orgs/{other}", {"name": "Long"}).status == 200
    assert [one["ID"] for one in service.api.get(f"/v2/agents/{agent}/convos").data] == [other]


# Query values


def operations_with(name: str) -> list[Operation]:
    return [operation for operation in OPERATIONS if name in operation.query]


def test_every_query_parameter_is_tested() -> None:
    tested = {"page", "interval", "by", "tz", "limit", "cursor", "status", "format", "sort", *FLAGS, *TEXTS, *TIMES}
    tested |= {"resource"}  # in `test_history.py`
    assert {name for operation in OPERATIONS for name in operation.query} == tested


@one_of_each(lambda operation: operation.method)
@every(OPERATIONS)
def test_an_unknown_query_parameter_is_refused_by_name(operation: Operation, service: Service) -> None:
    with harmless():
        path = f"{service.path(operation.route)}?unknown={CANARY}"
        answer = service.api.call(operation.method, path, body_of(operation.name))
    assert_refused(answer, operation, "unknown")


@one_of_each(lambda page: page.isascii())
@pytest.mark.parametrize("page", PAGES)
@every(operations_with("page"))
def test_a_page_that_is_not_a_positive_integer_is_refused(operation: Operation, page: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?page={page}")
    rule = "must be given once" if "&" in page else "must be a whole number from 1 to 999999999"
    assert assert_refused(answer, operation, "page") == f"page {rule}."


@every(operations_with("page"))
def test_a_page_is_checked_beside_a_cursor(operation: Operation, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?cursor=x&page=0")
    assert_refused(answer, operation, "page")


@every(operations_with("page"))
def test_a_page_after_the_last_one_is_empty(operation: Operation, service: Service) -> None:
    answer = service.api.get(f"{service.path(operation.route)}?page=999999999")
    assert (answer.data, "nextCursor" in answer.json) == ([], False)


@one_of_each(lambda limit: limit)
@pytest.mark.parametrize("limit", LIMITS)
@every(operations_with("limit"))
def test_a_limit_outside_one_to_a_hundred_is_refused(operation: Operation, limit: str, service: Service) -> None:
    if operation.is_bounded and limit == "101":
        return  # taken as 100
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?limit={limit}")
    most = "999999999" if operation.is_bounded else "100"
    rule = "must be given once" if "&" in limit else f"must be a whole number from 1 to {most}"
    assert assert_refused(answer, operation, "limit") == f"limit {rule}."


@every([operation for operation in operations_with("limit") if operation.is_bounded])
def test_a_bounded_list_takes_a_larger_limit_as_a_hundred(operation: Operation, service: Service) -> None:
    path = service.path(operation.route) + QUERIES.get(operation.name, "?")
    assert service.api.get(f"{path}&limit=101").text == service.api.get(f"{path}&limit=100").text


@one_of_each(lambda name: name)
@pytest.mark.parametrize("value", ["", "x" * 201, "x&{}=x"], ids=["empty", "too long", "twice"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_to_search_for_has_1_to_200_characters(name: str, value: str, service: Service) -> None:
    for operation in operations_with(name):
        with harmless():
            answer = service.api.get(f"{service.path(operation.route)}?{name}={value.format(name)}")
        rule = "must be given once" if "&" in value else "must have 1 to 200 characters"
        assert assert_refused(answer, operation, name) == f"{name} {rule}."


@one_of_each(lambda name: name)
@pytest.mark.parametrize("value", ["", "-1", "1.5", "1e9", "x", "%D9%A3", "01", "1" * 12])
@pytest.mark.parametrize("name", TIMES)
def test_a_time_that_is_not_in_seconds_is_refused(name: str, value: str, service: Service) -> None:
    for operation in operations_with(name):
        with harmless():
            answer = service.api.call(operation.method, f"{service.path(operation.route)}?{name}={value}")
        rule = "must be Unix seconds, a whole number from 0 to 99999999999"
        assert assert_refused(answer, operation, name) == f"{name} {rule}."


@one_of_each(lambda name: name)
@pytest.mark.parametrize("value", ["", "1", "True", "yes", "true&{}=true"])
@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_is_true_or_false(name: str, value: str, service: Service) -> None:
    for operation in operations_with(name):
        with harmless():
            answer = service.api.get(f"{service.path(operation.route)}?{name}={value.format(name)}")
        rule = "must be given once" if "&" in value else "must be true or false"
        assert assert_refused(answer, operation, name) == f"{name} {rule}."


@pytest.mark.parametrize("value", ["", "id", "Title", "title,created", "title&sort=title"])
@every(operations_with("sort"))
def test_an_unknown_order_is_refused(operation: Operation, value: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?sort={value}")
    rule = "given once" if "&" in value else "one of title, lastModified, created"
    assert assert_refused(answer, operation, "sort") == f"sort must be {rule}."


@pytest.mark.parametrize("query", ["", "?inbox=false"])
def test_the_list_of_all_agents_is_an_inbox(query: str, service: Service) -> None:
    (operation,) = (one for one in OPERATIONS if one.route == "/v3/convos")
    with harmless():
        answer = service.api.get(f"/v3/convos{query}")
    assert assert_refused(answer, operation, "inbox") == "inbox must be true."


@pytest.mark.parametrize("query", ["", "?format=", "?format=xml", "?format=csv&format=csv"])
@every(operations_with("format"))
def test_an_export_has_a_known_format(operation: Operation, query: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}{query}")
    rule = "must be given once" if "&" in query else "must be ndjson or csv"
    assert assert_refused(answer, operation, "format") == f"format {rule}."


@one_of_each(lambda: None)
@pytest.mark.parametrize("status", STATUSES)
@every(operations_with("status"))
def test_an_unknown_delivery_status_is_refused(operation: Operation, status: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?status={status}")
    rule = "given once" if "&" in status else "one of pending, delivered, failed, unknown, expired"
    assert assert_refused(answer, operation, "status") == f"status must be {rule}."


@one_of_each(lambda value: value)
@pytest.mark.parametrize("value", CURSORS.values(), ids=CURSORS.keys())
@every(operations_with("cursor"))
def test_a_malformed_cursor_is_refused(operation: Operation, value: str, service: Service) -> None:
    path = service.path(operation.route) + QUERIES.get(operation.name, "?")
    with harmless():
        answer = service.api.call(operation.method, f"{path}&cursor={value}")
    rule = "must be given once" if "&" in value else "must be the nextCursor of an earlier response"
    assert assert_refused(answer, operation, "cursor") == f"cursor {rule}."


@one_of_each(lambda: None)
@every([operation for operation in operations_with("cursor") if operation.method == "GET"])
def test_an_empty_cursor_returns_the_first_page(operation: Operation, service: Service) -> None:
    path = service.path(operation.route) + QUERIES.get(operation.name, "?")
    first = service.api.get(path)
    assert service.api.get(f"{path}&cursor=").text == first.text
    assert first.json is None or first.data != []


# One envelope for every error


INTERACTION = Operation("POST", "/agents/{agent_id}/interact/{user_id}/state", None, ())
PLAIN = Operation("GET", "/v3/agents/{agent_id}", None, ())


def test_a_request_without_a_credential_gets_a_401_envelope(service: Service) -> None:
    for headers in ({}, {"Authorization": f"Bearer {CANARY}"}):
        answer = service.api.call("GET", "/v3/agents", None, headers)
        assert_refused(answer, PLAIN, status=401)
        assert answer.headers["www-authenticate"] == "Bearer"
        assert_refused(service.api.call("POST", STATE, {}, headers), INTERACTION, status=401)


def test_a_credential_for_another_route_gets_a_403_envelope(service: Service) -> None:
    agent = Api(service.api.get("/v2/agents/support").json["SECRET_API_KEY"])
    assert_refused(agent.get("/v2/clients"), PLAIN, status=403)
    assert_refused(agent.post("/agents/another/interact/user-1/state", {}), INTERACTION, status=403)


def test_an_unknown_resource_gets_a_404_envelope(service: Service) -> None:
    assert_refused(service.api.get(f"/v2/clients/{CANARY}"), PLAIN, status=404)
    assert_refused(service.api.post(f"/agents/{CANARY}/interact/user-1/state", {}), INTERACTION, status=404)


@pytest.mark.parametrize("method", ["PATCH", "DELETE", "OPTIONS", "HEAD"])
def test_an_unsupported_method_gets_a_405_envelope(method: str, service: Service) -> None:
    assert_refused(service.api.call(method, "/v2/clients"), PLAIN, status=405)
    assert_refused(service.api.call(method, STATE), INTERACTION, status=405)


def test_an_unsupported_method_with_a_used_key_gets_a_405(service: Service) -> None:
    key = {"Idempotency-Key": "used", "Content-Type": "application/json"}
    assert service.send(INTERACTION, {}, key).status == 200
    assert service.send(INTERACTION._replace(method="PATCH"), {}, key).status == 405


def test_a_taken_value_gets_a_409_envelope(service: Service) -> None:
    service.api.post("/v2/clients/first", {"email": f"{CANARY}@x.test"})
    before = stored()
    assert_refused(
        service.api.post("/v2/clients/second", {"email": f"{CANARY}@x.test"}), PLAIN, status=409, code="EMAIL_TAKEN"
    )
    assert stored() == before


def test_the_error_for_a_too_large_state_names_the_platform(service: Service) -> None:
    body = {"turns": [{"messages": [{"item": {"text": CANARY * 200_000}}]}]}
    with harmless():
        answer = service.api.post(STATE, body)
    assert refused(answer, 413, interaction=True, platform="vg") == "turns must be at most 2 MiB of JSON."


def test_the_error_for_an_exceeded_agent_limit_names_the_platform(service: Service) -> None:
    service.api.patch("/v3/agents/support", {"agent": {"agentPlatform": "vf", "messagesLimit": 2}})
    try:
        with harmless():
            answer = service.api.post(STATE, {"turns": [{"messages": [{"mid": str(mid)} for mid in range(3)]}]})
        refused(answer, 429, interaction=True, platform="vf")
    finally:
        service.api.patch("/v3/agents/support", {"agent": {"agentPlatform": "vg", "messagesLimit": None}})


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("AccessDeniedException", 500),
        ("ValidationException", 500),
        ("ResourceNotFoundException", 503),
    ],
)
def test_an_error_of_the_engine_gets_the_envelope(code: str, status: int, service: Service) -> None:
    with harmless(), refuse_operation("GetItem", code), refuse_operation("BatchGetItem", code):
        plain = service.api.post("/v2/clients/ann", {"dashboardPassword": CANARY})
        interaction = service.api.post(STATE, {"metadata": {"userName": CANARY}})
        auth.clear_cache()
        unknown_caller = service.api.get("/v3/agents")
    assert_refused(plain, PLAIN, status=status)
    assert_refused(interaction, INTERACTION, status=status)
    assert_refused(unknown_caller, PLAIN, status=status)
    assert {answer.headers.get("retry-after") for answer in (plain, interaction, unknown_caller)} == {
        "1" if status == 503 else None
    }


def test_an_internal_error_gets_the_envelope_and_is_logged_with_its_traceback(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: Any, **__: Any) -> None:
        raise RuntimeError("an injected fault")

    for module, name in ((storage, "iterate"), (credentials, "find")):
        auth.clear_cache()
        monkeypatch.setattr(module, name, fault)
        with logged() as log:
            answer = service.api.get("/v2/clients")
        message = "An internal error occurred; the request may or may not have taken effect."
        assert assert_refused(answer, PLAIN, status=500) == message
        assert "RuntimeError: an injected fault" in log.text
        monkeypatch.undo()
