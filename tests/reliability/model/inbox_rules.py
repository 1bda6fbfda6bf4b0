"""Rules for the v3 conversation operations, such as lists, the inbox, reads, changes and assignment."""

import json
from collections.abc import Callable
from itertools import takewhile

from hypothesis import strategies as st

from tests.assertions import canonical
from tests.reliability.model import forms
from tests.reliability.model.agent_rules import limits, members, texts
from tests.reliability.model.answers import Document, Expected, Record, success
from tests.reliability.model.conversation_rules import ConversationRules
from tests.reliability.model.machine import Workspace, conditions, picks, route

LIST, CONVERSATION = "/v3/agents/{agent_id}/convos", "/v3/agents/{agent_id}/convos/{convo_id}"
_WAITING = ("requested_chat", "human-chatting")
_TAIL = 96_000  # maximum bytes of JSON in a conversation's item

_LISTED = "Conversations retrieved successfully"
Whole = Callable[[Workspace], list[Document]]

_changes = members(
    userName=texts, title=texts, tags=st.lists(texts, max_size=2), state=st.sampled_from(["requested_chat", "x"])
)


class InboxRules(ConversationRules):
    """Rules for inbox operations."""

    @route(f"GET {LIST}", pick=picks, limit=limits, is_inbox=st.booleans())
    def list_of_agent(self, at: int, caller: str, pick: int, limit: int, is_inbox: bool) -> None:
        agent_id = self.agent(at, pick)

        def whole(workspace: Workspace) -> list[Document | None]:
            if is_inbox:  # the index contains all agents' conversations
                return [one if one["agentId"] == agent_id else None for one in waiting(workspace)]
            return [one for one in newest(workspace) if one["agentId"] == agent_id]

        self.bounded(
            f"GET {LIST}", at, caller, limit, whole, "&inbox=true" if is_inbox else "", _LISTED, agent_id=agent_id
        )

    @route("GET /v3/convos", limit=limits)
    def list_of_all(self, at: int, caller: str, limit: int) -> None:
        self.bounded("GET /v3/convos", at, caller, limit, waiting, "&inbox=true", _LISTED)

    @route(f"GET {CONVERSATION}/messages", pick=picks, limit=limits)
    def list_messages(self, at: int, caller: str, pick: int, limit: int) -> None:
        agent_id, convo_id = self.known("conversation", at, pick, ("nothing", "nothing"))

        def whole(workspace: Workspace) -> list[Document]:
            return flat(workspace.get("conversation", (agent_id, convo_id)).document["turns"])

        message = "Messages retrieved successfully"
        self.bounded(
            f"GET {CONVERSATION}/messages", at, caller, limit, whole, "", message, agent_id=agent_id, convo_id=convo_id
        )

    @route(f"GET {CONVERSATION}", pick=picks, condition=conditions)
    def read_conversation(self, at: int, caller: str, pick: int, condition: str | None) -> None:
        agent_id, convo_id = self.known("conversation", at, pick, ("nothing", "nothing"))
        known = self.state_record(at, agent_id, convo_id)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("conversation", (agent_id, convo_id))
            # All messages are either small or huge. The service shows the small ones after the newest huge one.
            newest = flat(record.document["turns"])[:20]
            shown = [*takewhile(lambda message: len(json.dumps(message)) < _TAIL, newest)]
            data = {**rendered(agent_id, record), "messages": shown}
            return Expected(success("Conversation retrieved successfully", data), record)

        self.ask(
            f"GET {CONVERSATION}", at, caller, expected, None, condition, known, agent_id=agent_id, convo_id=convo_id
        )  # fmt: skip

    @route(f"PATCH {CONVERSATION}", pick=picks, content=_changes, condition=conditions)
    def change_conversation(self, at: int, caller: str, pick: int, content: Document, condition: str | None) -> None:
        agent_id, convo_id = self.known("conversation", at, pick, ("nothing", "nothing"))
        known = self.state_record(at, agent_id, convo_id)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("conversation", (agent_id, convo_id))
            self.describe(record, content)
            return Expected(success("Conversation updated successfully", rendered(agent_id, record)), record)

        body = {"conversation": content}
        self.ask(
            f"PATCH {CONVERSATION}", at, caller, expected, body, condition, known, agent_id=agent_id, convo_id=convo_id
        )  # fmt: skip

    @route(f"POST {CONVERSATION}/assign", pick=picks, to=st.sampled_from([None, None, "x1", "x2", "x3"]))
    def assign_conversation(self, at: int, caller: str, pick: int, to: str | None) -> None:
        agent_id, convo_id = self.known("conversation", at, pick, ("nothing", "nothing"))

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("conversation", (agent_id, convo_id))
            user: Document = {}
            if to is not None:
                client = workspace.get("client", to).document
                own = {name: client[name] for name in ("name", "email") if name in client}
                user = {"assignedUser": {"id": to, **own}}
            self.describe(record, {"chatAssignedTo": to, "state": "human-chatting" if to else "ai-chatting"})
            return Expected(success("Conversation assigned successfully", rendered(agent_id, record), **user), record)

        body = {"assignToUserId": to}
        self.ask(f"POST {CONVERSATION}/assign", at, caller, expected, body, agent_id=agent_id, convo_id=convo_id)

    def describe(self, record: Record, change: Document) -> None:
        """Change a conversation's metadata in the model."""
        before = record.document["metadata"]
        after = forms.merged(before, change)
        if canonical(after) != canonical(before):
            now = self.seconds()
            metadata = {"ts": now, **after, "lastModified": now}
            record.document, record.tag = {**record.document, "metadata": metadata}, None


def newest(workspace: Workspace) -> list[Document]:
    """Return the workspace's conversations, newest first."""
    return [rendered(agent_id, one) for (agent_id, _), one in workspace.of("conversation").items()][::-1]


def waiting(workspace: Workspace) -> list[Document]:
    """Return the conversations that are waiting for a person, most recently active first."""
    found = [one for one in newest(workspace) if one.get("state") in _WAITING]
    return sorted(found, key=lambda conversation: -conversation["lastModified"])


def rendered(agent_id: str, record: Record) -> Document:
    """Return a conversation in the v3 form."""
    return {**record.document["metadata"], "agentId": agent_id}


def flat(turns: list[Document]) -> list[Document]:
    """Return the messages in these turns, newest first.

    A message without a sender or time gets the turn's value, and a message without an item gets an empty item.
    """
    messages = []
    for turn in turns:
        if "messages" in turn:
            defaults: Document = {"item": {}, **{name: turn[name] for name in ("from", "ts") if name in turn}}
            messages.append({**defaults, **turn["messages"]})
    return messages[::-1]
