"""Rules for the v3 operations that add, change, replace and delete messages in existing conversations."""

from hypothesis import strategies as st

from chalicelib.conversations import reply_check
from tests.reliability.model import forms
from tests.reliability.model.answers import Document, Expected, Record, Refused, missing, success
from tests.reliability.model.inbox_rules import CONVERSATION, InboxRules, flat
from tests.reliability.model.machine import Workspace, conditions, picks, route

_MESSAGES, _MESSAGE = f"{CONVERSATION}/messages", f"{CONVERSATION}/messages/{{message_id}}"
_mids = st.sampled_from(["m1", "m2", "m3", "m4", "m5"])
_items = st.sampled_from([{"text": "Hello"}, {"text": "Again"}, {}])
_messages = st.lists(
    st.fixed_dictionaries({"from": st.sampled_from(["human", "bot"]), "item": _items, "mid": _mids}),
    min_size=1,
    max_size=3,
    unique_by=lambda message: str(message["mid"]),
)
# The value of `inReplyTo`. `_NEWEST` is replaced with the id of the newest message.
_NEWEST = "newest"
_seen = st.sampled_from([None, None, _NEWEST, _NEWEST]) | _mids


class MessageRules(InboxRules):
    """Rules for message operations. Rules in other modules read the results."""

    @route(f"POST {_MESSAGES}", pick=picks, content=_messages, condition=conditions, seen=_seen)
    def add(
        self, at: int, caller: str, pick: int, content: list[Document], condition: str | None, seen: str | None
    ) -> None:
        agent_id, convo_id = self.known("conversation", at, pick, ("nothing", "nothing"))
        known = self.state_record(at, agent_id, convo_id)
        if seen == _NEWEST and known:
            seen = next((message["mid"] for message in flat(known.document["turns"])), None)
        if known is None:
            condition = None  # with `If-None-Match: *`, the request would create the conversation

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("conversation", (agent_id, convo_id))
            before = record.document["turns"]
            stored = {turn["messages"]["mid"]: turn for turn in before if "messages" in turn}
            turns = forms.answer_turns(_turns(content), self.seconds(), workspace.ids)
            new = [turn for turn in turns if turn["messages"]["mid"] not in stored]
            if new and seen is not None:
                _check_reply(record.document, seen)
            self.keep(workspace, agent_id, record, [*before, *new] if new else before)
            shown = [flat([stored.get(turn["messages"]["mid"], turn)])[0] for turn in turns]
            return Expected(success("Messages added successfully", shown), record)

        self.ask(
            f"POST {_MESSAGES}", at, caller, expected, {"messages": content, "inReplyTo": seen}, condition, known,
            agent_id=agent_id, convo_id=convo_id,
        )  # fmt: skip

    @route(f"PATCH {_MESSAGES}", pick=picks, content=_messages, condition=conditions)
    def replace(self, at: int, caller: str, pick: int, content: list[Document], condition: str | None) -> None:
        agent_id, convo_id = self.known("conversation", at, pick, ("nothing", "nothing"))
        known = self.state_record(at, agent_id, convo_id)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("conversation", (agent_id, convo_id))
            turns = forms.answer_turns(_turns(content), self.seconds(), workspace.ids)
            self.keep(workspace, agent_id, record, turns)
            shown = flat(record.document["turns"])[::-1]
            return Expected(success("Messages replaced successfully", shown), record)

        self.ask(
            f"PATCH {_MESSAGES}", at, caller, expected, {"turns": _turns(content)}, condition, known,
            agent_id=agent_id, convo_id=convo_id,
        )  # fmt: skip

    @route(f"PATCH {_MESSAGE}", pick=picks, mid=_mids, item=_items, condition=conditions)
    def edit(self, at: int, caller: str, pick: int, mid: str, item: Document, condition: str | None) -> None:
        agent_id, convo_id = self.known("conversation", at, pick, ("nothing", "nothing"))
        known = self.state_record(at, agent_id, convo_id)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("conversation", (agent_id, convo_id))
            turns = [*record.document["turns"]]
            index = _find(turns, mid)
            turns[index] = {**turns[index], "messages": {**turns[index]["messages"], "item": item}}
            self.keep(workspace, agent_id, record, turns)
            return Expected(success("Message updated successfully", flat([turns[index]])[0]), record)

        self.ask(
            f"PATCH {_MESSAGE}", at, caller, expected, {"message": {"item": item}}, condition, known,
            agent_id=agent_id, convo_id=convo_id, message_id=mid,
        )  # fmt: skip

    @route(f"DELETE {_MESSAGE}", pick=picks, mid=_mids, condition=conditions)
    def delete_message(self, at: int, caller: str, pick: int, mid: str, condition: str | None) -> None:
        agent_id, convo_id = self.known("conversation", at, pick, ("nothing", "nothing"))
        known = self.state_record(at, agent_id, convo_id)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("conversation", (agent_id, convo_id))
            turns = [*record.document["turns"]]
            del turns[_find(turns, mid)]
            self.keep(workspace, agent_id, record, turns)
            return Expected(success("Message deleted successfully"))

        self.ask(
            f"DELETE {_MESSAGE}", at, caller, expected, None, condition, known,
            agent_id=agent_id, convo_id=convo_id, message_id=mid,
        )  # fmt: skip

    def keep(self, workspace: Workspace, agent_id: str, record: Record, turns: list[Document]) -> None:
        """Replace the turns. Raise Refused if the new turns exceed one of the agent's limits."""
        document, now = record.document, self.seconds()
        if forms.canonical_turns(turns) == forms.canonical_turns(document["turns"]):
            return
        seen = document.get("received", set())
        forms.check_limits(workspace.of("agent")[agent_id].document, seen, turns)
        metadata = {"ts": now, **forms.recounted(document["metadata"], turns), "lastModified": now}
        received = seen | forms.messages_of(turns)
        record.document, record.tag = {"metadata": metadata, "turns": turns, "received": received}, None


def _turns(content: list[Document]) -> list[Document]:
    return [{"from": one["from"], "messages": [one]} for one in content]


def _check_reply(conversation: Document, seen: str) -> None:
    """Raise Refused unless `seen` is the newest message and no person is chatting."""
    newest = next(iter(flat(conversation["turns"])), None)
    current = {name: conversation["metadata"].get(name) for name in ("state", "chatAssignedTo")}
    current["newest"] = newest and {name: newest[name] for name in ("mid", "from", "ts") if name in newest}
    for is_broken, error in (
        (current["state"] == "human-chatting", reply_check.HumanChatting),
        (newest is None or newest["mid"] != seen, reply_check.Outdated),
    ):
        if is_broken:
            raise Refused(409, error.sentence, code=error.code, conversation=current)


def _find(turns: list[Document], mid: str) -> int:
    """Return a message's index. Raise Refused if the message is unknown."""
    for index, turn in enumerate(turns):
        if turn.get("messages", {}).get("mid") == mid:
            return index
    raise missing("message")
