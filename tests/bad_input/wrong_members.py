"""Invalid bodies for each route that takes a body, and the rule that each body breaks."""

from typing import Any, get_args

from chalicelib.ids import IDENTIFIER
from chalicelib.leads.models import LeadChannel
from chalicelib.webhooks.events import Type
from tests import extensions
from tests.bad_input.service import CANARY, NUMBER, WITH_BODY
from tests.builders import webhook_body

TEXT, NUM, FLAG, LIST, OBJECT = (
    f"must be {kind}" for kind in ("a string", "a number", "a boolean", "an array", "an object")
)
UNKNOWN, MISSING = "is not a member of this object", "is required"


def one_of(kind: Any) -> str:
    """Return the error text for a member whose type is this `Literal`."""
    *values, last = (f"'{value}'" for value in get_args(kind))
    return f"must be {', '.join(values)} or {last}"


# Invalid webhook URLs, with the rule that each URL breaks.
WRONG_URLS = {
    f"http://{CANARY}.test/": "must begin with https://",
    f"ftp://{CANARY}.test/": "must begin with https://",
    CANARY: "must begin with https://",
    f"//{CANARY}.test/": "must begin with https://",
    f"https://{CANARY}@example.com/": "must not contain a user name or password",
    f"https://ann:{CANARY}@example.com/": "must not contain a user name or password",
    f"https://example.com/#{CANARY}": "must not contain a fragment",
    f"https:///{CANARY}": "must have a valid host",
    f"https://{CANARY}*/": "must have a valid host",
    f"https://[{CANARY}/": "must be a valid URL",
    f"https://example.com:0/{CANARY}": "must have a port from 1 to 65535",
    f"https://example.com:65536/{CANARY}": "must have a port from 1 to 65535",
    f"https://example.com/a {CANARY}": "must not contain spaces, control characters or backslashes",
    f"https://example.com/\r\n{CANARY}": "must not contain spaces, control characters or backslashes",
    f"https://example.com\\{CANARY}": "must not contain spaces, control characters or backslashes",
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

# Invalid bodies: (body, member path, rule). Each body contains the canary text or the canary number.
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
    "POST /v3/agents/{agent_id}/convos/{convo_id}/messages": [
        ({}, "messages", MISSING),
        ({"messages": CANARY}, "messages", LIST),
        ({"messages": []}, "messages", "must have at least 1 item"),
        ({"messages": [{"item": {"text": CANARY}}] * 51}, "messages", "must have at most 50 items"),
        ({"messages": [{"type": NUMBER}]}, "messages.0.type", TEXT),
        ({"messages": [{}], "inReplyTo": NUMBER}, "inReplyTo", TEXT),
        ({"messages": [{}], "replace": CANARY}, "replace", FLAG),
        ({"messages": [{}], "state": NUMBER}, "state", TEXT),
        ({"messages": [{}], "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "PATCH /v3/agents/{agent_id}/convos/{convo_id}/messages": [
        ({}, "turns", MISSING),
        ({"turns": CANARY}, "turns", LIST),
        ({"turns": [{"messages": [{"type": NUMBER}]}]}, "turns.0.messages.0.type", TEXT),
        ({"turns": [], "updateConversationMetadata": CANARY}, "updateConversationMetadata", FLAG),
        ({"turns": [], "lgMessages": CANARY}, "lgMessages", LIST),
        ({"turns": [], "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "POST /agents/{agent_id}/interact/{user_id}/messages": [
        ({}, "messages", MISSING),
        ({"messages": CANARY}, "messages", LIST),
        ({"messages": [{"type": NUMBER}]}, "messages.0.type", TEXT),
        ({"messages": [{}], "inReplyTo": [CANARY]}, "inReplyTo", TEXT),
        ({"messages": [{}], "replace": NUMBER}, "replace", FLAG),
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
        ({"conversation": {"notes": NUMBER}}, "conversation.notes", TEXT),
        ({"conversation": {"capturedVariables": CANARY}}, "conversation.capturedVariables", OBJECT),
        ({"conversation": {}, "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "PATCH /v3/agents/{agent_id}/convos/{convo_id}": [
        ({}, "conversation", MISSING),
        ({"conversation": [CANARY]}, "conversation", OBJECT),
        ({"conversation": {"tags": CANARY}}, "conversation.tags", LIST),
        ({"conversation": {"tags": [NUMBER]}}, "conversation.tags.0", TEXT),
        ({"conversation": {"labels": CANARY}}, "conversation.labels", OBJECT),
        ({"conversation": {"labels": {"name": NUMBER}}}, "conversation.labels.name", TEXT),
        ({"conversation": {}, "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "POST /v3/agents/{agent_id}/convos/{convo_id}/assign": [
        ({}, "assignToUserId", MISSING),
        ({"assignToUserId": NUMBER}, "assignToUserId", TEXT),
        ({"assignToUserId": f"{CANARY}#"}, "assignToUserId", f"must match pattern '^{IDENTIFIER.pattern}$'"),
        ({"assignToUserId": None, "state": NUMBER}, "state", TEXT),
        ({"assignToUserId": None, "delegatedBy": NUMBER}, "delegatedBy", TEXT),
        ({"assignToUserId": None, "unknown": CANARY}, "unknown", UNKNOWN),
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
        ({"dashboardPassword": "7 signs"}, "dashboardPassword", "must have at least 8 characters"),
        ({"dashboardPassword": " \t\n\u3000    "}, "dashboardPassword", "must not be blank"),
        ({"dashboardPassword": "\u200b\x00\ufeff\u2060" * 2}, "dashboardPassword", "must not be blank"),
        ({"isOrgAdmin": CANARY}, "isOrgAdmin", FLAG),
        ({"canAccess": CANARY}, "canAccess", LIST),
        ({"notificationsSettings": CANARY}, "notificationsSettings", OBJECT),
        ({"notificationsSettings": {"unknown": CANARY}}, "notificationsSettings.unknown", UNKNOWN),
        ({"preferredLanguage": CANARY}, "preferredLanguage", "must match pattern '^[a-z]{2}$'"),
        ({"timezone": NUMBER}, "timezone", TEXT),
        ({"timezone": CANARY}, "timezone", "must be the name of a time zone, such as Europe/Amsterdam"),
        ({"password": CANARY}, "password", UNKNOWN),
    ],
    "POST /v2/orgs/{org_id}": [
        ({"squarePhotoURL": CANARY}, "name", MISSING),
        ({"name": NUMBER}, "name", TEXT),
        ({"name": "x", "preferredLanguage": CANARY}, "preferredLanguage", "must match pattern '^[a-z]{2}$'"),
        ({"name": "x", "timezone": CANARY}, "timezone", "must be the name of a time zone, such as Europe/Amsterdam"),
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
        ({"client": {"dashboardPassword": ""}}, "client.dashboardPassword", "must have at least 8 characters"),
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
        # `POST` takes the same type, and is tested with all invalid URLs.
        ({"webhook": {"url": f"http://{CANARY}.test/"}}, "webhook.url", "must begin with https://"),
    ],
}

# Every object rejects an unknown member.
for _wrong in extensions.call("wrong_members"):
    WRONG |= _wrong
WRONG |= {
    operation.name: [({"unknown": CANARY}, "unknown", UNKNOWN)]
    for operation in WITH_BODY
    if operation.name not in WRONG
}
