"""Examples of the v3 operations of conversations, on the records of the other examples."""

from chalicelib.openapi.examples.conversations import CORRECTED, SHORTENED
from chalicelib.openapi.examples.shared import AGENT, CLIENT, CONVERSATION_ID, NOW, VISITOR, Example, Examples, success

_COUNTED = {"messagesNum": 1, "interactionsNum": 1, "firstMessageTS": NOW, "lastMessageTS": NOW}
_WAITING = {**SHORTENED, **_COUNTED, "agentId": AGENT, "lastMessage": "It is 1010."}
_TITLED = {
    "ID": CONVERSATION_ID,
    "userID": VISITOR,
    "ts": NOW,
    "messagesNum": 0,
    "interactionsNum": 0,
    "lastModified": NOW,
    "title": "Order 1001",
    "agentId": AGENT,
}
_ASSIGNED = {**_WAITING, "chatAssignedTo": CLIENT, "state": "human-chatting"}
_CHANGED = {**_ASSIGNED, "tags": ["orders", "urgent"], "title": "Order 1001"}

LIST_AGENT_CONVERSATIONS: Examples = {
    "newest": Example(
        "The first page",
        {**success("Conversations retrieved successfully", [_WAITING, _TITLED]), "hasMore": False},
    )
}
LIST_INBOX: Examples = {
    "waiting": Example(
        "The first page",
        {**success("Conversations retrieved successfully", [_WAITING]), "hasMore": False},
    )
}
ASSIGN_CONVERSATION: Examples = {
    # First, because it needs no client: the documentation page fills in the first example.
    "return": Example(
        "Return to the agent",
        success("Conversation assigned successfully", {**_WAITING, "state": "ai-chatting"}),
        {"assign": {"to": None}},
    ),
    "assign": Example(
        "Assign to a client",
        success("Conversation assigned successfully", _ASSIGNED),
        {"assign": {"to": CLIENT}},
    ),
}
CHANGE_CONVERSATION: Examples = {
    "change": Example(
        "A title and tags",
        success("Conversation updated successfully", _CHANGED),
        {"conversation": {"title": "Order 1001", "tags": ["orders", "urgent"]}},
    )
}
READ_CONVERSATION: Examples = {
    "read": Example(
        "Metadata and the newest messages",
        success("Conversation retrieved successfully", {"conversation": _CHANGED, "messages": [CORRECTED]}),
    )
}
LIST_MESSAGES: Examples = {
    "newest": Example(
        "The first page",
        {**success("Messages retrieved successfully", [CORRECTED]), "hasMore": False},
    )
}
SEARCH_CONVERSATIONS: Examples = {
    "found": Example(
        "The newest conversations with the text",
        {
            **success("Conversations searched successfully", [{"conversation": _CHANGED, "messages": [CORRECTED]}]),
            "hasMore": False,
            "searchedUntil": 0,
        },
    )
}
