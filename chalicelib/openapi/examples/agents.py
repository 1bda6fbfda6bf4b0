"""Examples of the agent operations. Each response reflects the requests before it."""

from chalicelib.openapi.examples.shared import (
    AGENT,
    NEW_AGENT_ID,
    NEW_AGENT_KEY,
    NOW,
    SUPPORT_KEY,
    WORKSPACE_ID,
    Example,
    Examples,
    success,
)

_GIVEN = {
    "title": "Support",
    "description": "Answers questions about orders.",
    "lang": "en",
    "customThemeJSONString": {"themeType": "dark", "primary": "#2f6fed", "nineColorPallet": [[47, 111, 237]]},
    "UIhandoffdescription": "Talk to a person",
    "vg_systemPrompt": "You help customers with their orders. Be brief.",
    "vg_temperature": 0.4,
    "vg_defaultModel": "<model_id>",
    "recordChatHistory": True,
}
_CREATED = {**_GIVEN, "agentPlatform": "vg", "SECRET_API_KEY": SUPPORT_KEY}

SUPPORT_V2 = {
    **{name: value for name, value in _CREATED.items() if name != "description"},
    "proactiveMessage": "Can I help you?",
}

_SUPPORT_V3 = {
    **{name: value for name, value in SUPPORT_V2.items() if name != "UIhandoffdescription"},
    "ID": AGENT,
    "id": AGENT,
    "ownerID": WORKSPACE_ID,
    "createdAtUNIX": NOW,
    "lastModified": NOW,
    "customThemeJSONString": '{"themeType":"dark","primary":"#2f6fed","nineColorPallet":[[47,111,237]]}',
    "UIhandoffTitle": "Talk to a person",
}

_NEW = {
    "title": "Reception",
    "region": "eu",
    "limits": {"maxInteractionsPerUserId": 50},
    "voiceConfig": {
        "transcriber": {"provider": "transcriberA", "language": "en"},
        "speechGen": {"provider": "speechA", "backgroundNoise": "restaurant"},
        "config": {"recordAudio": False, "enableWebCalling": True},
    },
    "nodes": [
        {"id": "start", "type": "start", "childrenNodes": [{"nodeId": "booking", "condition": "wants a table"}]},
        {"id": "booking", "instructions": "Ask for day, time and number of guests."},
    ],
    "nodesSettings": {"silenceDetection": {"enabled": True, "timeoutSeconds": 8}},
}
_NEW_CREATED = {
    **_NEW,
    "ID": NEW_AGENT_ID,
    "id": NEW_AGENT_ID,
    "ownerID": WORKSPACE_ID,
    "agentPlatform": "vg",
    "SECRET_API_KEY": NEW_AGENT_KEY,
    "createdAtUNIX": NOW,
    "lastModified": NOW,
}

_CHANGE = {
    "starred": True,
    "limits": {"maxMonthlyCreditsUsage": 2000},
    "nodes": [{"id": "start", "type": "start", "instructions": "Greet the customer."}],
    "vg_temperature": None,
}
SUPPORT_V3_FINAL = {
    **{name: value for name, value in _SUPPORT_V3.items() if name != "vg_temperature"},
    **{name: value for name, value in _CHANGE.items() if value is not None},
}
SUPPORT_V2_FINAL = {name: value for name, value in SUPPORT_V2.items() if name != "vg_temperature"}

SAVE_AGENT: Examples = {
    "create": Example("A new id creates an agent", success("Agent created successfully", _CREATED), _GIVEN),
    "edit": Example(
        "A known id changes the agent; null clears a member",
        success("Agent updated successfully", SUPPORT_V2),
        {"proactiveMessage": "Can I help you?", "description": None},
    ),
}
READ_AGENT_V2: Examples = {"agent": Example("The agent, without envelope", SUPPORT_V2)}
READ_AGENT: Examples = {
    "agent": Example(
        "The same agent in the v3 form", success("Agent retrieved successfully", {**_SUPPORT_V3, "tools": []})
    )
}
CREATE_AGENT: Examples = {
    "voice": Example(
        "A voice agent with two nodes",
        success("Agent created successfully", {**_NEW_CREATED, "tools": []}),
        {"agent": _NEW},
    )
}
CHANGE_AGENT: Examples = {
    "merge": Example(
        "Objects and nodes merge; null clears a member",
        success("Agent updated successfully", {**SUPPORT_V3_FINAL, "tools": []}),
        {"agent": _CHANGE},
    )
}
LIST_AGENTS: Examples = {
    "all": Example(
        "All agents", {**success("Agents retrieved successfully", [_NEW_CREATED, SUPPORT_V3_FINAL]), "hasMore": False}
    )
}
