"""What the types of the wire models do not say about their members. Data, by the name of the model.

Known values of open enumerations are those of the specification's section 2; any other string is accepted
and kept. An enumeration of which the specification gives the full list is closed by its type instead.
"""

from typing import Any

Note = dict[str, Any]


def note(words: str) -> Note:
    """Words on a member."""
    return {"description": words}


def known(*values: str) -> Note:
    """The values that are known; others are accepted."""
    listed = ", ".join(f"`{value}`" for value in values)
    return {"description": f"Known: {listed}. Any other string is accepted.", "examples": list(values)}


_MODEL: Note = {"description": "The identifier of a language model.", "examples": ["<model_id>"]}
_UNIX = note("Unix seconds.")
_MILLISECONDS = note("Unix milliseconds.")
_MOMENT: Note = {"format": "date-time"}
_USER = note("The user or conversation id.")

_AGENT = {
    "SECRET_API_KEY": note(
        "The agent's own key, which opens its edge routes. Made when none is given; a text that is no key made by the "
        "service is kept and opens nothing."
    ),
    "buttonsLayout": known("horizontal"),
    "vg_defaultModel": _MODEL,
}
_TOOL = {
    "method": known("GET"),
    "serverUrl": note("The address that the tool calls."),
    "serverUrlSecret": note("The secret that belongs to `serverUrl`."),
    "createdAt": _MOMENT,
    "updatedAt": _MOMENT,
    "channels": known("web-chat"),
}
_CLIENT_SIGN_IN = {
    "email": note("The name to sign in to the dashboard with; one client of the workspace only."),
    "dashboardPassword": note("The password to sign in to the dashboard with; answered as it was given."),
}
_ORGANISATION = {
    "preferredLanguage": note("A two-letter ISO 639-1 code."),
    "widgetIDs": note("The ids of the organisation's agents."),
    "lastModified": note("Unix seconds; the time of the write unless it is given."),
}
_WEBHOOK = {
    "url": note("A public https address, without user name, password and fragment."),
    "events": note("The types of events that the endpoint is sent; one that stands there twice counts once."),
    "enabled": note("Whether it is sent events now; `true` unless it is given."),
}

NOTES: dict[str, dict[str, Note]] = {
    "AgentV2": {
        **_AGENT,
        "customThemeJSONString": note("The theme as an object. A request may carry its JSON text instead."),
    },
    "AgentV3": {
        **_AGENT,
        "createdAtUNIX": _UNIX,
        "lastModified": _UNIX,
        "region": known("eu"),
        "customThemeJSONString": note("The theme as JSON text."),
        "messagesLimit": note("Above 0: how many messages a conversation may have (429 beyond)."),
        "nodes": note("A change merges into the stored nodes by `id`."),
    },
    "KnowledgeBaseModel": {"searchMethod": known("smart"), "modelId": _MODEL},
    "Ui": {"widgetType": known("direct-chat")},
    "Internal": {"accountCreationConfig": known("v2"), "websocketServer": known("edge")},
    "Limits": {
        "maxInteractionsPerUserId": note("Above 0: how many messages of the user a conversation may have (429 beyond).")
    },
    "FallbackSettings": {"model": _MODEL},
    "Transcriber": {"provider": known("transcriberA")},
    "SpeechGeneration": {"provider": known("speechA"), "backgroundNoise": known("restaurant")},
    "CallConfig": {"backgroundNoise": known("restaurant")},
    "ModelOptions": {"modelId": _MODEL},
    "Node": {"type": known("start")},
    "NodesSettings": {"fallbackModelIds": _MODEL},
    "Theme": {"themeType": known("dark")},
    "Tool": _TOOL,
    "NewTool": _TOOL,
    "ToolField": {"in": note("Where the field is placed in the call."), "type": known("string")},
    "ConvoMeta": {
        "userID": _USER,
        "state": known("requested_chat"),
        "ts": _UNIX,
        "firstMessageTS": note("The user's first message, Unix seconds."),
        "lastMessageTS": note("The user's last message, Unix seconds."),
        "interactionsNum": note("The user's own messages."),
        "lastModified": _UNIX,
    },
    "Message": {
        "mid": note("The message's id: kept when it is given, made of what the message says when it is not."),
        "from": known("human"),
        "type": known("launch"),
    },
    "TurnIn": {"ts": note("Unix seconds; the time of the write unless it is given.")},
    "TurnOut": {"from": known("bot"), "messages": note("One message; a turn of several is answered as several.")},
    "StateOut": {
        "chatState": note("The conversation's metadata."),
        "turns": note("The turns of the conversation."),
        "oldTurns": note("The turns before this request."),
        "agentData": note("The agent of the conversation."),
    },
    "AnalyticsRecord": {
        "userID": _USER,
        "ts": note("The time of the load, Unix seconds."),
        "interactionsNum": note("The user's own messages."),
        "firstMessageTS": note("The user's first message, Unix seconds."),
        "lastMessageTS": note("The user's last message, Unix seconds."),
    },
    "NewConversation": {"ts": _UNIX},
    "CreatedConversation": {"createdAt": _MOMENT},
    "Client": {
        **_CLIENT_SIGN_IN,
        "orgId": note("The organisation that the client belongs to."),
        "canAccess": {**known("/overview"), "description": "Dashboard hrefs. Known: `/overview`."},
    },
    "NotificationsSettings": {"notifyThrough": known("email"), "notifyIf": known("all")},
    "Organisation": _ORGANISATION,
    "OrganisationIn": _ORGANISATION,
    "NewToken": {"readOnly": note("Whether the token may only read.")},
    "Token": {
        "token": note("The token itself; only in the answer that issues it."),
        "expiresAt": _MOMENT,
        "createdAt": _MOMENT,
        "lastUsedAt": _MOMENT,
    },
    "RotatedKey": {"expiresAt": _MOMENT, "createdAt": _MOMENT, "previousKeyExpiresAt": _MOMENT},
    "Lead": {
        "agentName": note("The title that the agent had when the lead was captured."),
        "channel": note("`web-chat` unless it is given."),
        "createdAt": _MILLISECONDS,
    },
    "NewWebhook": _WEBHOOK,
    "WebhookChange": _WEBHOOK,
    "Webhook": {
        **_WEBHOOK,
        "signingSecret": note("What deliveries are signed with; only in the answers that create and rotate it."),
        "createdAt": _MILLISECONDS,
    },
    "Delivery": {
        "eventId": note("The event; deliveries of the same event share it."),
        "responseStatus": note("The HTTP status that the receiver answered; 200 alone acknowledges."),
        "durationMs": note("How long the receiver took, in milliseconds."),
        "error": note("What went wrong, for people."),
        "createdAt": note("When the event happened, or the delivery was asked for, in Unix milliseconds."),
        "payload": note("The payload of the event; where one delivery is read, while the event is kept."),
    },
}

# Members of closed objects that an answer may show as null; all others are left out instead.
NULL_IN_ANSWERS: dict[str, tuple[str, ...]] = {
    "CreatedConversation": ("title",),
    "Token": ("lastUsedAt",),
    "Webhook": ("description",),
    "Delivery": ("responseStatus", "durationMs", "error"),
}

# What an answer always has, beyond what the model itself requires, where the model is the answer's `data`.
# (The copies of tools in an agent's record are as the caller sent them; they may lack all of these.)
ALWAYS_ANSWERED: dict[str, tuple[str, ...]] = {
    "AgentV3": ("ID", "id", "createdAtUNIX", "lastModified"),
    "Tool": ("id", "agentId", "userId", "createdAt", "updatedAt"),
    "ConvoMeta": ("ID", "ts", "messagesNum", "interactionsNum", "lastModified"),
    "Client": ("ID", "ownerID", "orgUsers"),
    "Organisation": ("ID", "userId", "name", "lastModified"),
    "Lead": ("id", "channel", "createdAt"),
    "Webhook": ("description",),
    "Delivery": ("responseStatus", "durationMs", "error"),
}
