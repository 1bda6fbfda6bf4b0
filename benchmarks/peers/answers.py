"""The peers' answers to the three operations: plain functions over dictionaries.

They have no limits and no validation. A sent conversation replaces the stored one.
"""

import time
from collections.abc import Sequence
from typing import Any

from chalicelib.agents.record import AgentV2

Document = dict[str, Any]

# The members of an agent in the state route's answer: its v2 form.
_V2 = frozenset(AgentV2.model_fields)


def agent(agent_id: str, document: Document) -> Document:
    """GET /v3/agents/{agent_id}."""
    data = {"ID": agent_id, "id": agent_id, "tools": [], **document}
    return {"success": True, "message": "Agent retrieved successfully", "data": data}


def page(conversations: Sequence[Document], more: str | None) -> Document:
    """GET /v2/agents/{agent_id}/convos; `more` is the last conversation's position if the list has more."""
    answer = {
        "success": True,
        "message": "Agent conversations retrieved successfully",
        "data": [*map(_shown, conversations)],
    }
    if more is not None:
        answer["nextCursor"] = more
    return answer


def replaced(metadata: Document, sent: Sequence[Document]) -> tuple[Document, list[Document]]:
    """Return the metadata with new counts, and one turn for each sent message."""
    turns = [
        {"from": turn["from"], "ts": message["ts"], "messages": message}
        for turn in sent
        for message in turn["messages"]
    ]
    times = [turn["ts"] for turn in turns if turn["messages"]["from"] == "human"]
    counts = {
        "messagesNum": len(turns),
        "interactionsNum": len(times),
        "firstMessageTS": times[0],
        "lastMessageTS": times[-1],
        "lastModified": int(time.time()),
        "lastMessage": turns[-1]["messages"]["item"]["payload"]["message"][:200],
    }
    return {**metadata, **counts}, turns


def state(agent_id: str, user_id: str, agent: Document, metadata: Document, turns: Any, before: Any) -> Document:
    """POST /agents/{agent_id}/interact/{user_id}/state."""
    return {
        "platformName": agent["agentPlatform"],
        "success": True,
        "message": "Conversation state saved successfully",
        "chatState": _shown(metadata),
        "actionMessages": [],
        "agentData": {name: value for name, value in agent.items() if name in _V2},
        "origin": metadata["origin"],
        "userID": user_id,
        "agentID": agent_id,
        "turns": turns,
        "oldTurns": before,
    }


def _shown(metadata: Document) -> Document:
    """The metadata of an answer of version 2, which has no newest message."""
    return {name: value for name, value in metadata.items() if name != "lastMessage"}
