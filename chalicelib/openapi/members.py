"""Descriptions of members, by model: data that the types of the wire models do not express.

The known values of open enumerations come from section 2 of the specification; any other string is accepted. If the
specification lists all values, the type of the member is a closed enumeration instead.
"""

from typing import Any

Note = dict[str, Any]


def note(description: str) -> Note:
    """Return the note with this description of a member."""
    return {"description": description}


def known(*values: str) -> Note:
    """Return the note for an open enumeration with these known values."""
    known_values = ", ".join(f"`{value}`" for value in values)
    return {"description": f"Known values: {known_values}. Any other string is accepted.", "examples": list(values)}


HIDDEN = "Not shown to tokens with scopes."

_MODEL: Note = {"description": "The identifier of a language model.", "examples": ["<model_id>"]}
_UNIX = note("Unix seconds.")
_MILLISECONDS = note("Unix milliseconds.")
_MOMENT: Note = {"format": "date-time"}
_USER = note("The user or conversation id.")

# Further members of the envelopes of lists.
OF_ENVELOPES: dict[str, dict[str, Any]] = {
    "searchedUntil": {
        "type": "integer",
        "format": "int64",
        "description": "Unix seconds. What was created later has been searched; at the end of the list `from`, or 0.",
    }
}
_AGENT = {
    "SECRET_API_KEY": note(
        "The agent key, which opens the edge routes of the agent. The service generates one for a new agent without "
        "it. You may set a key of your own: 32 to 512 visible ASCII characters without spaces. A key that begins with "
        "`cams_` must be an agent key that the service has generated."
    ),
    "buttonsLayout": known("horizontal"),
    "vg_defaultModel": _MODEL,
}
_CONVERSATION = {
    "userID": _USER,
    "state": known("requested_chat"),
    "ts": _UNIX,
    "firstMessageTS": note("The user's first message, Unix seconds."),
    "lastMessageTS": note("The user's last message, Unix seconds."),
    "interactionsNum": note("The user's own messages; a `launch` without a text is none."),
    "lastModified": _UNIX,
}
_STATES = known("ai-chatting", "requested_chat", "human-chatting", "ended_chat")
_CONVERSATION_V3 = {
    **_CONVERSATION,
    "state": _STATES,
    "lastMessage": note("The first 200 characters of the newest message."),
}
_TOOL = {
    "method": known("GET"),
    "serverUrl": note("The URL that the tool calls."),
    "serverUrlSecret": note("The secret for `serverUrl`. A call sends it in the header `X-Tool-Secret`."),
    "createdAt": _MOMENT,
    "updatedAt": _MOMENT,
    "channels": known("web-chat"),
}
_CLIENT_SIGN_IN = {
    "email": note("The user name for the dashboard. Unique in the workspace."),
    "dashboardPassword": note(
        "The password for the dashboard: at least 8 characters, not only spaces. Responses contain it as it was sent."
    ),
}
# Only URLs in ASCII with a host name: the rules for addresses and for other scripts are too long for a pattern. Not in
# the format `uri`, which forbids characters that the service accepts, such as `|` in a query.
_LABEL, _PORT = (
    "[A-Za-z0-9_-]{1,63}",
    "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]",
)
_WEBHOOK = {
    "url": {
        "description": "A public https URL without user name, password and fragment. The pattern describes usual URLs; "
        "public IP addresses and other scripts are accepted as well.",
        "pattern": rf'^https://({_LABEL}\.)*[A-Za-z][A-Za-z0-9_-]{{0,62}}(:({_PORT}))?([/?][!-"$-\[\]-~]*)?$',
    },
    "events": note("The event types that the endpoint receives. Duplicates are ignored."),
    "enabled": note("Whether the endpoint receives events. `true` by default."),
}

_AGENT_V3: dict[str, Note] = {
    **_AGENT,
    "createdAtUNIX": _UNIX,
    "lastModified": _UNIX,
    "region": known("eu"),
    "customThemeJSONString": note("The theme as JSON text."),
    "messagesLimit": note(
        "The maximum number of messages in a conversation (429 beyond it). 0 or less means no limit."
    ),
    "nodes": note("Merged into the stored nodes by `id`."),
    "retention": note("How long conversations are kept, instead of the workspace's `retentionDays`."),
}
_LEAD = {
    "name": note("The name of the person; `leadName` in the event `lead_captured`, and so on."),
    "agentName": note("The title of the agent when the lead was captured."),
    "channel": note("`web-chat` by default."),
    "createdAt": _MILLISECONDS,
}

NOTES: dict[str, dict[str, Note]] = {
    "AgentV2": {
        **_AGENT,
        "customThemeJSONString": note("The theme as an object. Requests may send its JSON text instead."),
    },
    "AgentV3": {
        **_AGENT_V3,
        "tools": note("The agent's tools, oldest first. Absent in a list, and if they are too large for the response."),
    },
    "NewAgent": {**_AGENT_V3, "tools": note("Created with the agent.")},
    "KnowledgeBaseModel": {"searchMethod": known("smart"), "modelId": _MODEL},
    "Ui": {"widgetType": known("direct-chat")},
    "Internal": {"accountCreationConfig": known("v2"), "websocketServer": known("edge")},
    "Limits": {
        "maxInteractionsPerUserId": note(
            "The maximum number of user messages in a conversation (429 beyond it). 0 or less means no limit."
        )
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
    "TemplateTool": _TOOL,
    "ToolUpdate": _TOOL,
    "ToolTest": {
        "durationMs": note("The milliseconds until the end of the response, or until the failure."),
        "error": note("The cause of a failure, for people. Null after a complete response, whatever its status."),
    },
    "ToolField": {
        "in": note("The position of the parameter in the call: `query`, `header`, `path` or `body`."),
        "type": known("string"),
    },
    "ConvoMeta": _CONVERSATION,
    "ConvoMetaV3": _CONVERSATION_V3,
    "NewConversation": _CONVERSATION_V3,
    "Assignment": {"to": note("The client's id; null for none."), "state": _STATES},
    "Message": {
        "mid": note("The message id. If absent, it is derived from the content of the message."),
        "from": known("human"),
        "type": known("launch"),
    },
    "TurnIn": {"ts": note("Unix seconds. The time of the write by default.")},
    "TurnOut": {
        "from": known("bot"),
        "messages": note("One message. A turn with several messages is returned as several turns."),
    },
    "StateOut": {
        "chatState": note("The conversation's metadata."),
        "turns": note("The turns of the conversation."),
        "oldTurns": note("The turns before this request."),
        "agentData": note("The agent of the conversation."),
        "warnings": note("Members of the request that are ignored; absent if there are none."),
    },
    "AnalyticsRecord": {
        "userID": _USER,
        "ts": note("The time of the page load, Unix seconds."),
        "interactionsNum": note("The user's own messages."),
        "firstMessageTS": note("The user's first message, Unix seconds."),
        "lastMessageTS": note("The user's last message, Unix seconds."),
    },
    "CreatedConversation": {"createdAt": _MOMENT},
    "VisitorToken": {"token": {"pattern": "^cams_visitor_"}, "expiresAt": _MOMENT, "createdAt": _MOMENT},
    "Erasure": {"createdAt": _MOMENT},
    "Change": {"at": _MOMENT},
    "Version": {"at": _MOMENT},
    "ErasureReceipt": {"requestedAt": _MOMENT, "completedAt": _MOMENT, "streamsUntil": _MOMENT},
    "Client": {
        **_CLIENT_SIGN_IN,
        "orgId": note("The organisation of the client."),
        "canAccess": {
            **known("/overview"),
            "description": "The dashboard pages that the client may open, as hrefs. Known values: `/overview`.",
        },
    },
    "NotificationsSettings": {"notifyThrough": known("email"), "notifyIf": known("all")},
    "Organisation": {
        "preferredLanguage": note("A two-letter ISO 639-1 code."),
        "widgetIDs": note("The ids of the organisation's agents."),
        "lastModified": note("Unix seconds. The time of the write by default."),
    },
    "NewToken": {
        "readOnly": note("Stands for all read scopes. Not together with `scopes`."),
        "scopes": note("What the token opens. Absent: all v3 routes except `/v3/tokens` and `/v3/workspace`."),
    },
    "Workspace": {"createdAt": _MOMENT},
    "WorkspaceChange": {"createdAt": _MOMENT},
    "Token": {
        "readOnly": note("Whether the token has only read scopes."),
        "scopes": note(
            "What the token opens. Absent if it opens all v3 routes except `/v3/tokens` and `/v3/workspace`."
        ),
        "token": {
            "description": "The token itself. Only in the response that issues it.",
            "pattern": "^cams_access_",
        },
        "expiresAt": _MOMENT,
        "createdAt": _MOMENT,
        "lastUsedAt": _MOMENT,
    },
    "RotatedKey": {
        "key": {"pattern": "^cams_workspace_"},
        "expiresAt": _MOMENT,
        "createdAt": _MOMENT,
        "previousKeyExpiresAt": _MOMENT,
    },
    "Lead": _LEAD,
    "LeadChange": _LEAD,
    "NewWebhook": _WEBHOOK,
    "WebhookChange": _WEBHOOK,
    "Webhook": {
        **_WEBHOOK,
        "url": note("The https URL."),
        "signingSecret": {
            "description": "The secret that signs deliveries. Only in the responses that create and rotate it.",
            "pattern": "^whsec_",
        },
        "createdAt": _MILLISECONDS,
    },
    "Delivery": {
        "eventId": note("The event. Deliveries of the same event have the same `eventId`."),
        "responseStatus": note("The HTTP status of the receiver's response. Only 200 acknowledges the delivery."),
        "durationMs": note("The response time of the receiver in milliseconds."),
        "error": note("The cause of a failure, for people."),
        "createdAt": note("The time of the event, or of the request for the delivery, in Unix milliseconds."),
        "payload": note("The payload of the event. Only when a single delivery is read, and until the event expires."),
    },
}
