"""Filters, the inbox and their pages are compared with a brute-force model, and each page's cost is limited."""

import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from chalicelib import ids, storage
from chalicelib.conversations import filtered_lists, store
from chalicelib.conversations.state import State, empty_state
from chalicelib.storage import Document
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.capacity import metered
from tests.selection import whole

FEW, MANY, QUERIES_OF_MANY = 200, 20_000, 4
AGENTS = ("support", "sales", "quiet")
START = 1_780_000_000
DAY = 24 * 60 * 60
YEAR = 365 * DAY
STATES = ("requested_chat", "human-chatting", "ai-chatting", "ended_chat", "anything", None)
TAGS, CLIENTS = ("vip", "billing", "Vip", "returns"), ("client-1", "client-2")
NAMES = ("Ann", "Straße", "STRASSE", "Ömer", "İbrahim", "李", "Bo \N{GRINNING FACE}", None)
TEXTS = ("Where is my order?", "where IS it", "\N{GRINNING FACE}" * 100, "Danke", "", None)
# An incompressible text that is too long for the index, so that a page reads it by key.
LONG_CHARACTERS = 1_500


class Conversation(NamedTuple):
    """A conversation in the model. `turns` is JSON text."""

    agent: str
    created: str
    metadata: Document
    turns: bytes = b"[]"

    @property
    def document(self) -> Document:
        return {**self.metadata, "agentId": self.agent}

    def position(self, query: dict[str, Any]) -> str:
        """Return the cursor that continues after this conversation."""
        return store.inbox_key(self.metadata["lastModified"], self.created) if "inbox" in query else self.created

    @property
    def second(self) -> float:
        return ids.timestamp_of(self.created) / 1000


def any_conversation(chance: random.Random, number: int) -> Conversation:
    created = START + chance.randrange(YEAR)
    members: Document = {
        "ts": created,
        "messagesNum": 3,
        "interactionsNum": 1,
        "lastModified": created + chance.choice([0, 60, chance.randrange(30 * DAY)]),
        "state": chance.choices(STATES, [1, 2, 20, 10, 1, 5])[0],
        "tags": chance.choice([None, [], [chance.choice(TAGS)], list(TAGS)]),
        "origin": chance.choice(["web-chat", "chatapp", None]),
        "chatAssignedTo": chance.choice([None, None, *CLIENTS]),
        "userID": f"user-{chance.randrange(50)}",
        "userName": chance.choice(NAMES),
        "userEmail": chance.choice([None, f"person{chance.randrange(100)}@example.com"]),
        "userPhone": chance.choice([None, f"+49 170 {chance.randrange(10**6):06}"]),
        "title": chance.choice([None, f"Order {chance.randrange(1_000)}"]),
        "lastMessage": chance.choice(TEXTS),
    }
    if chance.random() < 0.02:
        members["userBrowser"] = chance.randbytes(LONG_CHARACTERS // 2).hex()
    metadata = {
        **empty_state(f"c{number}").metadata,
        **{name: value for name, value in members.items() if value is not None},
    }
    agent = chance.choices(AGENTS, [8, 3, 0])[0]
    return Conversation(agent, ids.id_at(created * 1000 + chance.randrange(1000), chance.getrandbits(80)), metadata)


def fill(workspace: NewWorkspace, conversations: list[Conversation]) -> None:
    """Store the conversations in the service's own layout, many rows per request.

    They are stored in order of creation, because moto sorts the whole table for each index query.
    """
    conversations = sorted(conversations, key=lambda conversation: conversation.created)
    for start in range(0, len(conversations), 250):
        with storage.unit_of_work() as unit:
            rows = []
            for conversation in conversations[start : start + 250]:
                state = State(conversation.metadata, conversation.turns)
                row = store.create(workspace.workspace_id, conversation.agent, conversation.metadata["ID"], state)
                row.created = conversation.created
                store._set_metadata(row, conversation.metadata)
                rows.append(row)
            unit.discard()
        storage.save_many(rows)


# ---- the model -----------------------------------------------------------------------------------


def matches(conversation: Conversation, query: dict[str, Any]) -> bool:
    metadata = conversation.metadata
    members = {"state": "state", "origin": "origin", "assignedTo": "chatAssignedTo", "userID": "userID"}
    searched = ("userName", "userEmail", "userPhone", "title", "lastMessage")
    rules: dict[str, Callable[[Any], bool]] = {
        "tag": lambda value: value in metadata.get("tags", []),
        "from": lambda value: conversation.second >= value,
        "to": lambda value: conversation.second < value,
        "activeSince": lambda value: metadata["lastModified"] >= value,
        "q": lambda value: any(value.casefold() in metadata.get(name, "").casefold() for name in searched),
        "inbox": lambda value: metadata.get("state") in ("requested_chat", "human-chatting"),
        "limit": lambda value: True,
    }
    for name, member in members.items():
        rules[name] = lambda value, member=member: metadata.get(member) == value
    return all(rules[name](value) for name, value in query.items())


def matching_conversations(
    conversations: list[Conversation], agent: str | None, query: dict[str, Any], after: str = "~"
) -> list[Document]:
    listed = [
        conversation
        for conversation in conversations
        if agent in (None, conversation.agent) and matches(conversation, query)
    ]
    listed = [conversation for conversation in listed if conversation.position(query) < after]

    def order(conversation: Conversation) -> tuple[Any, ...]:
        return (
            (conversation.metadata["lastModified"], conversation.created)
            if "inbox" in query
            else (conversation.created,)
        )

    return [conversation.document for conversation in sorted(listed, key=order, reverse=True)]


def any_query(chance: random.Random) -> dict[str, Any]:
    moment = START + chance.randrange(YEAR)
    choices: dict[str, Any] = {
        "state": chance.choice([one for one in STATES if one]),
        "tag": chance.choice([*TAGS, "unknown"]),
        "origin": chance.choice(["web-chat", "chatapp"]),
        "assignedTo": chance.choice(CLIENTS),
        "userID": f"user-{chance.randrange(60)}",
        "from": moment,
        "to": chance.choice([moment, START + chance.randrange(YEAR)]),
        "activeSince": START + chance.randrange(YEAR),
        "q": chance.choice(["strasse", "ANN", "order 1", "PERSON7", "+49 170 1", "nothing", "i", "李", "?", "DANKE"]),
    }
    names = chance.sample([*choices], k=chance.choice([0, 1, 1, 2, 3]))
    return {name: choices[name] for name in names} | {"limit": chance.choice([1, 7, 20, 100, 500])}


# ---- pages ---------------------------------------------------------------------------------------


def pages(api: Api, path: str, query: dict[str, Any], after: str = "") -> Iterator[Any]:
    """Yield the pages of a list; assert each page's contract and cost limits."""
    cursor = {"cursor": after}
    while True:
        with metered() as used:
            answer = api.get(f"{path}?{urlencode({**query, **cursor})}").json
        assert used.requests["GetItem"] <= 1
        assert used.requests["Query"] <= filtered_lists.MAX_EXAMINED / filtered_lists.PORTION + 1
        assert used.requests["BatchGetItem"] <= used.requests["Query"]
        # Reading entries of at most 1.3 KB costs one unit per 8 KB. Each of 20 long rows of at most 4 KB costs half a
        # unit.
        assert used.reads <= filtered_lists.MAX_EXAMINED * 1.3 / 8 + filtered_lists.MAX_LONG * 0.5 + 5
        assert len(answer["data"]) <= min(query["limit"], 100)
        assert answer["hasMore"] == ("nextCursor" in answer)
        yield answer["data"]
        if not answer["hasMore"]:
            return
        cursor = {"cursor": answer["nextCursor"]}


def compare(api: Api, conversations: list[Conversation], seed: int, queries: int, most: int) -> None:
    """Compare up to `most` pages of each list with the model, from the beginning and from a random position."""
    chance = random.Random(seed)
    for _ in range(queries):
        query = any_query(chance)
        for agent, path in ((None, "/v3/convos"), *((entry, f"/v3/agents/{entry}/convos") for entry in AGENTS)):
            sent = query | ({"inbox": "true"} if agent is None or chance.random() < 0.5 else {})
            for after in ("", chance.choice(conversations).position(sent)):
                model = matching_conversations(conversations, agent, sent, after or "~")
                read = [*islice(pages(api, path, sent, after), most)]
                listed = [entry for page in read for entry in page]
                assert listed == (model[: len(listed)] if len(read) == most else model), (agent, sent, after)


@pytest.fixture
def agents(api: Api, agent_id: str) -> None:
    for agent in AGENTS:
        assert api.post(f"/v2/agents/{agent}", {"title": agent}).status == 200


@pytest.mark.usefixtures("agents")
def test_filters_inbox_and_pages_equal_the_model(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits are small, so that each of them ends some pages."""
    monkeypatch.setattr(filtered_lists, "PORTION", 20)
    monkeypatch.setattr(filtered_lists, "MAX_EXAMINED", 60)
    monkeypatch.setattr(filtered_lists, "MAX_LONG", 1)
    chance = random.Random(1)
    conversations = [any_conversation(chance, number) for number in range(FEW)]
    fill(workspace, conversations)
    compare(api, conversations, seed=1, queries=4, most=1_000)


@whole
@pytest.mark.long
@pytest.mark.usefixtures("agents", "pass_time")  # the credential stays cached
def test_filters_inbox_and_pages_of_20000_conversations_equal_the_model(api: Api, workspace: NewWorkspace) -> None:
    chance = random.Random(2)
    conversations = [any_conversation(chance, number) for number in range(MANY)]
    fill(workspace, conversations)
    compare(api, conversations, seed=2, queries=QUERIES_OF_MANY, most=5)


@pytest.mark.usefixtures("agents")
@pytest.mark.parametrize("inbox", ["", "&inbox=true"])
def test_a_page_ends_before_the_21st_long_entry(inbox: str, api: Api, workspace: NewWorkspace) -> None:
    chance = random.Random(3)
    long = {"state": "requested_chat", "userBrowser": chance.randbytes(2_000).hex()}
    made = [any_conversation(chance, number)._replace(agent="support") for number in range(30)]
    fill(workspace, [one._replace(metadata={**one.metadata, **long}) for one in made])
    with metered() as used:
        answer = api.get(f"/v3/agents/support/convos?limit=100{inbox}").json
    assert (len(answer["data"]), answer["hasMore"]) == (20, True)
    assert used.requests == {"GetItem": 1, "Query": 1, "BatchGetItem": 1}
    rest = api.get(f"/v3/agents/support/convos?limit=100{inbox}&cursor={answer['nextCursor']}").json
    assert (len(rest["data"]), rest["hasMore"]) == (10, False)


@pytest.mark.usefixtures("agents")
def test_a_page_whose_records_do_not_fit_is_shorter(api: Api, workspace: NewWorkspace) -> None:
    """The index contains up to 64 KB of metadata as JSON if it compresses well."""
    chance = random.Random(4)
    made = [any_conversation(chance, number)._replace(agent="support") for number in range(100)]
    long = {"userBrowser": '"' * 31_000}  # each character takes four bytes in a response
    conversations = [one._replace(metadata={**one.metadata, **long}) for one in made]
    fill(workspace, conversations)
    found = [*pages(api, "/v3/agents/support/convos", {"limit": 100})]
    assert [len(page) for page in found[:-1]] != [100]
    assert [one for page in found for one in page] == matching_conversations(conversations, "support", {})


@pytest.mark.usefixtures("agents")
def test_a_conversation_that_is_deleted_while_it_is_listed_is_left_out(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(5)
    long = {"userBrowser": chance.randbytes(2_000).hex()}
    made = [any_conversation(chance, number)._replace(agent="support") for number in range(3)]
    conversations = [one._replace(metadata={**one.metadata, **long}) for one in made]
    fill(workspace, conversations)
    gone, *rest = matching_conversations(conversations, "support", {})
    real = storage.find_many

    def delete_first(keys: Any) -> Any:
        monkeypatch.setattr(storage, "find_many", real)
        assert api.delete(f"/v3/agents/support/convos/{gone['ID']}").status == 200
        return real(keys)

    monkeypatch.setattr(storage, "find_many", delete_first)
    first = api.get("/v3/agents/support/convos?limit=1").json
    assert [one["ID"] for one in first["data"]] == [rest[0]["ID"]]
    second = api.get(f"/v3/agents/support/convos?cursor={first['nextCursor']}").json
    assert (second["data"], second["hasMore"]) == (rest[1:], False)


@pytest.mark.usefixtures("agents")
def test_the_inbox_follows_the_state_and_the_request(api: Api, pass_time: Callable[[float], None]) -> None:
    def inbox(path: str = "/v3/convos") -> list[tuple[str, str]]:
        return [(one["agentId"], one["ID"]) for one in api.get(f"{path}?inbox=true").data]

    for agent, user in (("support", "ann"), ("sales", "bo"), ("support", "cy")):
        api.post(f"/agents/{agent}/interact/{user}/state", {"metadata": {"state": "requested_chat"}})
        pass_time(1)
    assert inbox() == [("support", "cy"), ("sales", "bo"), ("support", "ann")]
    api.patch("/v3/agents/support/convos/ann", {"conversation": {"title": "Urgent"}})
    assert inbox() == [("support", "cy"), ("sales", "bo"), ("support", "ann")]
    api.patch("/v3/agents/support/convos/ann", {"conversation": {"state": "human-chatting"}})
    assert inbox() == [("support", "ann"), ("support", "cy"), ("sales", "bo")]
    assert inbox("/v3/agents/sales/convos") == [("sales", "bo")]
    api.patch("/v3/agents/support/convos/cy", {"conversation": {"state": "ended_chat"}})
    assert api.delete("/v3/agents/sales/convos/bo").status == 200
    assert inbox() == [("support", "ann")]
    made = api.post("/v3/agents/sales/convos", {"conversation": {"state": "human-chatting"}}).data["id"]
    assert sorted(inbox()) == [("sales", made), ("support", "ann")]
    assert api.delete("/v3/agents/sales").status == 200
    assert inbox() == [("support", "ann")]


@pytest.mark.usefixtures("agents")
def test_the_inbox_of_another_workspace_is_its_own(api: Api, other_workspace: NewWorkspace) -> None:
    api.post("/agents/support/interact/ann/state", {"metadata": {"state": "requested_chat"}})
    assert Api(other_workspace.workspace_key).get("/v3/convos?inbox=true").data == []
    assert len(api.get("/v3/convos?inbox=true").data) == 1


def test_the_list_of_an_unknown_agent_is_not_found(api: Api, agent_id: str) -> None:
    for query in ("", "?inbox=true"):
        assert api.get(f"/v3/agents/unknown/convos{query}").status == 404


@pytest.mark.usefixtures("agents")
def test_a_search_folds_case_and_the_end_of_a_time_is_excluded(api: Api, workspace: NewWorkspace) -> None:
    one = any_conversation(random.Random(6), 1)._replace(agent="support", created=ids.id_at(START * 1000, 0))
    fill(workspace, [one._replace(metadata={**one.metadata, "userName": "Straße"})])
    for query, found in (("q=STRASSE", 1), (f"to={START}", 0), (f"to={START + 1}", 1), (f"from={START}", 1)):
        assert len(api.get(f"/v3/agents/support/convos?{query}").data) == found, query
