"""Rules for conversations (creation, state and list) and their analytics."""

import random
from base64 import b64encode
from functools import partial

from hypothesis import strategies as st

from chalicelib import clock
from tests.reliability.model import forms
from tests.reliability.model.agent_rules import members, open_values, texts
from tests.reliability.model.answers import MADE, Document, Expected, Record, success
from tests.reliability.model.copy_rules import CopyRules
from tests.reliability.model.machine import Workspace, conditions, picks, route

STATE = "POST /agents/{agent_id}/interact/{user_id}/state"
ANALYTICS = "/v2/agents/{agent_id}/analytics/{convo_id}"
LIST = "GET /v2/agents/{agent_id}/convos"
NOISE = b64encode(random.Random(1).randbytes(400_000)).decode()  # too large for one item even when compressed

_times = st.sampled_from([1, 1.5, 2])
_froms = st.sampled_from(["human", "bot"])
# The id is last, as in a response, because a different member order counts as a change.
_messages = st.fixed_dictionaries(
    {},
    optional={
        "from": _froms,
        "type": texts | st.just("launch"),
        "item": st.dictionaries(st.sampled_from(["text", "", "own"]), open_values, max_size=2),
        "ts": _times,
        "also": open_values,
        "mid": st.sampled_from(["m1", "m2", "m3"]),
    },
)
_turns = st.lists(
    st.fixed_dictionaries(
        {"from": _froms}, optional={"ts": _times, "own": open_values, "messages": st.lists(_messages, max_size=3)}
    ),
    max_size=3,
).filter(lambda turns: len(mids := _mids(turns)) == len(set(mids)))
_metadata = members(
    userName=texts,
    userID=texts,
    origin=st.sampled_from(["web-chat", "chatapp"]),
    ts=_times,
    tags=st.lists(texts, max_size=2),
    state=texts,
)
_states = st.fixed_dictionaries(
    {},
    optional={
        "turns": st.none() | _turns,
        "delete": st.none()
        | st.fixed_dictionaries({"mids": st.lists(st.sampled_from(["m1", "m2", "no"]), max_size=2)}),
        "metadata": st.none() | _metadata,
    },
)
users = st.sampled_from(["ann", "bob", "#"]).map(lambda name: name.replace("#", "c:3"))
_records = members(
    browser=texts, countryCode=st.just("NL"), ts=_times, interactionsNum=_times, origin=st.just("community")
)


def _mids(turns: list[Document]) -> list[str]:
    return [message["mid"] for turn in turns for message in turn.get("messages") or [] if "mid" in message]


class ConversationRules(CopyRules):
    """Rules for conversations and analytics."""

    def state_record(self, at: int, agent_id: str, user_id: str) -> Record | None:
        """Return a conversation, or None if it does not exist."""
        return self.workspace(at).of("conversation").get((agent_id, user_id))

    @route("POST /v3/agents/{agent_id}/convos", pick=picks, content=members(title=texts, userID=texts, ts=_times))
    def create_conversation(self, at: int, caller: str, pick: int, content: Document) -> None:
        self.make_conversation(at, caller, self.agent(at, pick), content)

    def make_conversation(self, at: int, caller: str, agent_id: str, content: Document) -> None:
        """Create a conversation in the service and in the model."""
        record = Record({})

        def expected(_: Workspace) -> Expected:
            now = self.seconds()
            counts = {"ts": now, "messagesNum": 0, "interactionsNum": 0, "lastModified": now}
            record.document = {"metadata": {**counts, **forms.merged({}, content)}, "turns": []}
            title = {} if content.get("title") is None else {"title": content["title"]}
            created = {"id": MADE, **title, "createdAt": clock.iso(now)}
            return Expected(success("Conversation created successfully", created), record)

        body = {"conversation": content}
        answer = self.ask("POST /v3/agents/{agent_id}/convos", at, caller, expected, body, agent_id=agent_id)
        if answer.status == 200:
            made = answer.data["id"]
            record.document["metadata"] = {"ID": made, "userID": made, **record.document["metadata"]}
            self.workspace(at).of("conversation")[agent_id, made] = record

    @route(STATE, pick=picks, user_id=users, change=st.none() | _states, condition=conditions)
    def exchange(
        self, at: int, caller: str, pick: int, user_id: str, change: Document | None, condition: str | None
    ) -> None:
        self.exchange_state(at, caller, self.agent(at, pick), user_id, change, condition)

    @route(STATE, pick=picks, user_id=users, size=st.sampled_from([1, 2]))
    def exchange_large(self, at: int, caller: str, pick: int, user_id: str, size: int) -> None:
        messages = [{"type": "text", "item": {"text": f"{number}{NOISE}"}} for number in range(size)]
        change = {"turns": [{"from": "bot", "messages": messages}]}
        self.exchange_state(at, caller, self.agent(at, pick), user_id, change, None)

    @route(STATE, pick=picks, index=picks, condition=conditions)
    def send_back(self, at: int, caller: str, pick: int, index: int, condition: str | None) -> None:
        """Write back the state as read, with each message in a separate turn. This changes nothing."""
        agent_id, user_id = self.known("conversation", at, pick, ("nothing", "nothing"))
        record = self.state_record(at, agent_id, user_id)
        turns = record.document["turns"] if record else []
        back = [{**turn, **({"messages": [turn["messages"]]} if "messages" in turn else {})} for turn in turns]
        self.exchange_state(at, caller, agent_id, user_id, {"turns": back}, condition)

    def exchange_state(
        self, at: int, caller: str, agent_id: str, user_id: str, change: Document | None, condition: str | None
    ) -> None:
        """Send a state change (or None, which reads the state) to the service, and apply it to the model."""
        known = self.state_record(at, agent_id, user_id)
        record = known or Record({"metadata": {"ID": user_id, "userID": user_id}, "turns": []})
        old = record.document
        received: set[tuple[str, bool]] = old.get("received", set())  # id, whether the message is from the user

        def expected(workspace: Workspace) -> Expected:
            agent = workspace.of("agent")[agent_id].document
            after = forms.changed_state(old, change or {}, self.seconds(), known is None, workspace.ids)
            forms.check_limits(agent, received, after["turns"])
            if after is not old:
                record.document, record.tag = after, None
                workspace.of("conversation")[agent_id, user_id] = record
            agent_data = forms.for_agent_key(forms.v2_form(agent), self.kind(workspace, caller, agent_id))
            body = {**_state_body(old, after), "platformName": forms.platform(agent), "agentData": agent_data}
            is_stored = known is not None or after is not old
            return Expected({**body, "userID": user_id, "agentID": agent_id}, record if is_stored else None)

        answer = self.ask(STATE, at, caller, expected, change, condition, known, agent_id=agent_id, user_id=user_id)
        if answer.status == 200:
            self._learn(at, record, change or {}, answer.json["turns"])
            record.document["received"] = received | forms.messages_of(record.document["turns"])

    def _learn(self, at: int, record: Record, change: Document, turns: list[Document]) -> None:
        """Replace the model's placeholders for generated ids with the ids in a response."""
        if change.get("turns"):
            record.document["turns"] = turns
            if not change.get("delete"):
                forms.learn_ids(change["turns"], turns, self.workspace(at).ids)

    @route(LIST, pick=picks, page=st.sampled_from([1, 1, 2, 3]))
    def list_page(self, at: int, caller: str, pick: int, page: int) -> None:
        agent_id = self.agent(at, pick)
        self.ask(
            LIST,
            at,
            caller,
            lambda workspace: self.listed(workspace, agent_id, (page - 1) * 20),
            query=f"?page={page}",
            agent_id=agent_id,
        )

    @route(LIST, pick=picks)
    def list_to_the_end(self, at: int, caller: str, pick: int) -> None:
        agent_id, start = self.agent(at, pick), 0
        answer = self.ask(LIST, at, caller, lambda workspace: self.listed(workspace, agent_id, 0), agent_id=agent_id)
        while answer.status == 200 and "nextCursor" in answer.json:
            start += 20
            behind = f"?cursor={answer.json['nextCursor']}"
            answer = self.ask(
                LIST,
                at,
                caller,
                partial(self.listed, agent_id=agent_id, start=start),
                query=behind,
                agent_id=agent_id,
            )

    def listed(self, workspace: Workspace, agent_id: str, start: int) -> Expected:
        """Return 20 conversations from the index `start`, newest first."""
        own = [one.document["metadata"] for key, one in workspace.of("conversation").items() if key[0] == agent_id]
        shown = [_described(one) for one in reversed(own)]
        more = {"nextCursor": MADE} if len(shown) > start + 20 and shown[start:] else {}
        return Expected(success("Agent conversations retrieved successfully", shown[start : start + 20], **more))

    @route(LIST, pick=picks)
    def fill_pages(self, at: int, caller: str, pick: int) -> None:
        """Create more than one page of conversations, and read the list."""
        agent_id = self.agent(at, pick)
        own = [key for key in self.workspace(at).of("conversation") if key[0] == agent_id]
        for _ in range(23 if len(own) < 5 and agent_id in self.workspace(at).of("agent") else 0):
            self.make_conversation(at, "key", agent_id, {})
        self.list_to_the_end(at, caller, pick)

    @route("DELETE /v3/agents/{agent_id}/convos/{convo_id}", pick=picks, condition=conditions)
    def delete_conversation(self, at: int, caller: str, pick: int, condition: str | None) -> None:
        agent_id, convo_id = self.known("conversation", at, pick, ("nothing", "nothing"))
        known = self.state_record(at, agent_id, convo_id)

        def expected(workspace: Workspace) -> Expected:
            workspace.get("conversation", (agent_id, convo_id))
            del workspace.of("conversation")[agent_id, convo_id]
            return Expected(success("Conversation deleted successfully"))

        self.ask(
            "DELETE /v3/agents/{agent_id}/convos/{convo_id}", at, caller, expected, None, condition, known,
            agent_id=agent_id, convo_id=convo_id,
        )  # fmt: skip

    @route(
        f"POST {ANALYTICS}",
        pick=picks,
        convo_id=users,
        kind=st.sampled_from(["load", "convo"]),
        content=_records,
        condition=conditions,
    )
    def write_analytics(
        self, at: int, caller: str, pick: int, convo_id: str, kind: str, content: Document, condition: str | None
    ) -> None:
        agent_id = self.agent(at, pick)
        known = self.workspace(at).of("analytics record").get((agent_id, convo_id))
        record = known or Record({})

        def expected(workspace: Workspace) -> Expected:
            record.document[kind], record.tag = forms.merged({"record": kind}, content), None
            workspace.of("analytics record")[agent_id, convo_id] = record
            return Expected(success("Analytics added successfully"), record)

        body = {"record": kind, **content}
        self.ask(
            f"POST {ANALYTICS}", at, caller, expected, body, condition, known, agent_id=agent_id, convo_id=convo_id
        )

    @route(f"GET {ANALYTICS}", pick=picks, convo_id=users, condition=conditions)
    def read_analytics(self, at: int, caller: str, pick: int, convo_id: str, condition: str | None) -> None:
        agent_id = self.agent(at, pick)
        known = self.workspace(at).of("analytics record").get((agent_id, convo_id))

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("analytics record", (agent_id, convo_id))
            whole = {**record.document.get("load", {}), **record.document.get("convo", {})}
            return Expected(success("Analytics retrieved successfully", whole), record)

        self.ask(f"GET {ANALYTICS}", at, caller, expected, None, condition, known, agent_id=agent_id, convo_id=convo_id)


def _state_body(old: Document, after: Document) -> Document:
    """Return the members of the state response that depend only on the conversation."""
    origin = after["metadata"].get("origin")
    return {
        "success": True,
        "message": f"Conversation state {'retrieved' if after is old else 'saved'} successfully",
        "chatState": _described(after["metadata"]),
        "actionMessages": [],
        "turns": after["turns"],
        "oldTurns": old["turns"],
        **({"origin": origin} if origin else {}),
    }


def _described(metadata: Document) -> Document:
    return {name: value for name, value in metadata.items() if name in forms.METADATA}
