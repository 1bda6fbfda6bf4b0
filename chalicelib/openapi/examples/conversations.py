"""Examples of the conversation operations."""

from typing import Any

from chalicelib.openapi.examples.agents import SUPPORT_V2_FINAL
from chalicelib.openapi.examples.shared import (
    AGENT,
    CONVERSATION_ID,
    MESSAGE,
    NOW,
    NOW_ISO,
    VISITOR,
    Example,
    Examples,
    success,
)

_HELLO = {"mid": "m-1", "from": "human", "type": "text", "item": {"text": "Where is my order?"}, "ts": NOW - 60}
_REPLY = {"mid": "m-2", "type": "text", "item": {"text": "What is its number?"}, "delay": 300}
_NOTE = {"mid": "m-3", "type": "text", "item": {"text": "You find it in the confirmation."}}

_GIVEN = [{"from": "human", "messages": [_HELLO]}, {"from": "bot", "ts": NOW - 58, "messages": [_REPLY, _NOTE]}]
_TURNS = [
    {"from": "human", "messages": _HELLO, "ts": NOW - 60},
    {"from": "bot", "messages": _REPLY, "ts": NOW - 58},
    {"from": "bot", "messages": _NOTE, "ts": NOW - 58},
]
_COUNTED = {
    "ID": VISITOR,
    "userID": VISITOR,
    "ts": NOW,
    "messagesNum": 3,
    "interactionsNum": 1,
    "firstMessageTS": NOW - 60,
    "lastMessageTS": NOW - 60,
    "lastModified": NOW,
}
_DESCRIPTION = {"userName": "Sam", "origin": "web-chat", "tags": ["orders"], "state": "requested_chat"}
_DESCRIBED = {**_COUNTED, **_DESCRIPTION}
SHORTENED = {**_DESCRIBED, "messagesNum": 2}


def _state(done: str, metadata: dict[str, Any], turns: list[Any], old: list[Any]) -> dict[str, Any]:
    origin = {"origin": metadata["origin"]} if "origin" in metadata else {}
    return {
        "platformName": "vg",
        "success": True,
        "message": f"Conversation state {done} successfully",
        "chatState": metadata,
        "actionMessages": [],
        "agentData": SUPPORT_V2_FINAL,
        **origin,
        "userID": VISITOR,
        "agentID": AGENT,
        "turns": turns,
        "oldTurns": old,
    }


CREATE_CONVERSATION: Examples = {
    "titled": Example(
        "A conversation with a title",
        success(
            "Conversation created successfully",
            {"id": CONVERSATION_ID, "title": "Order 1001", "createdAt": NOW_ISO},
        ),
        {"conversation": {"title": "Order 1001", "userID": VISITOR}},
    )
}
EXCHANGE_STATE: Examples = {
    "replace": Example(
        "Replace the turns; the first write creates the conversation",
        _state("saved", _COUNTED, _TURNS, []),
        {"turns": _GIVEN},
    ),
    "read": Example("Read: an empty object", _state("retrieved", _COUNTED, _TURNS, _TURNS), {}),
    "describe": Example("Merge metadata", _state("saved", _DESCRIBED, _TURNS, _TURNS), {"metadata": _DESCRIPTION}),
    "shorten": Example(
        "Delete a message by its id",
        _state("saved", SHORTENED, _TURNS[:2], _TURNS),
        {"delete": {"mids": ["m-3"]}},
    ),
}
LIST_CONVERSATIONS: Examples = {
    "newest": Example(
        "The first page",
        success(
            "Agent conversations retrieved successfully",
            [
                SHORTENED,
                {
                    "ID": CONVERSATION_ID,
                    "userID": VISITOR,
                    "ts": NOW,
                    "messagesNum": 0,
                    "interactionsNum": 0,
                    "lastModified": NOW,
                },
            ],
        ),
    )
}
_NUMBER = {"mid": MESSAGE, "from": "human", "type": "text", "item": {"text": "It is 1001."}, "ts": NOW}
CORRECTED = {**_NUMBER, "item": {"text": "It is 1010."}}
ADD_MESSAGES: Examples = {
    "one": Example("A message of the user", success("Messages added successfully", [_NUMBER]), {"messages": [_NUMBER]}),
    "again": Example(
        "A message that is stored is not added again",
        success("Messages added successfully", [_NUMBER]),
        {"messages": [_NUMBER]},
    ),
}
CHANGE_MESSAGE: Examples = {
    "corrected": Example(
        "Another text",
        success("Message updated successfully", CORRECTED),
        {"message": {"item": {"text": "It is 1010."}}},
    )
}
REPLACE_MESSAGES: Examples = {
    "shorter": Example(
        "Keep one message",
        success("Messages replaced successfully", [CORRECTED]),
        {"messages": [CORRECTED]},
    )
}
