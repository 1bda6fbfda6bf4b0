"""Search in 20,000 conversations is compared with a brute-force model, and each request's cost is limited."""

import json
import random
from collections.abc import Iterator
from itertools import islice
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib import ids, storage
from chalicelib.conversations import store
from chalicelib.conversations.state import State
from chalicelib.extensions.transcripts import search
from chalicelib.storage import Document
from chalicelib.workspaces.store import NewWorkspace
from tests import moto_tables
from tests.api import Api
from tests.capacity import metered
from tests.conversations.test_filtered_lists import START, YEAR, Conversation, any_conversation, fill
from tests.selection import whole

FEW, MANY, LONG = 60, 20_000, 12
PATH = "/v3/agents/support/convos/search"
WORDS = ("order", "Straße", "REFUND", 'a "quoted" word', "back\\slash", "\N{GRINNING FACE}", "line\nbreak", "İstanbul")
RARE = "needle"


def any_transcript(chance: random.Random, messages: int) -> list[Document]:
    texts = [" ".join(chance.choices(WORDS, k=chance.randrange(4))) for _ in range(messages)]
    if chance.random() < 0.002:
        texts[0] += RARE
    return [
        {"from": "human", "messages": {"mid": f"m{number}", "item": {"text": text}}, "ts": number}
        for number, text in enumerate(texts)
    ]


def any_searched(chance: random.Random, number: int, messages: int) -> Conversation:
    turns = storage.encode_json(any_transcript(chance, messages))
    return any_conversation(chance, number)._replace(agent="support", turns=turns)


def fill_long(workspace: NewWorkspace, conversations: list[Conversation]) -> None:
    """Store conversations whose transcripts are stored in chunks."""
    for conversation in conversations:
        with storage.unit_of_work():
            state = State(conversation.metadata, conversation.turns)
            row = store.create(workspace.workspace_id, conversation.agent, conversation.metadata["ID"], state)
            row.created = conversation.created
            store._set_metadata(row, conversation.metadata)


def matching_messages(conversation: Conversation, text: str) -> list[Document]:
    """Return the messages that the model expects a search to show."""
    flat = [{**turn["messages"], "from": turn["from"], "ts": turn["ts"]} for turn in json.loads(conversation.turns)]
    return [message for message in flat if text.casefold() in message["item"]["text"].casefold()][: -20 - 1 : -1]


def matching_conversations(conversations: list[Conversation], query: dict[str, Any], after: str) -> list[Document]:
    since, until = query.get("from", 0), query.get("to", START + 2 * YEAR)
    return [
        {**one.document, "messages": messages}
        for one in sorted(conversations, key=lambda conversation: conversation.created, reverse=True)
        if since <= one.second < until
        and one.created < (after or "~")
        and (messages := matching_messages(one, query["q"]))
    ]


def pages(api: Api, conversations: list[Conversation], query: dict[str, Any], after: str) -> Iterator[Any]:
    """Yield the pages of a search; assert each page's contract and cost limits."""
    cursor = {"cursor": after}
    while True:
        moto_tables.drop_history()  # moto keeps a copy of each item that a query reads
        api.get("/v2/clients")  # the credential and the key are cached, as in a warm process
        with metered() as used:
            answer = api.get(f"{PATH}?{urlencode({**query, **cursor})}").json
        assert used.requests["GetItem"] <= 1
        assert used.requests["Query"] <= 1
        # The search sends one request per 20 conversations, plus one for each conversation larger than 96 KB.
        assert used.requests["BatchGetItem"] <= 10 + 4_000_000 // 96_000 + 1
        # An eventually consistent read costs one unit per 8 KB. A request reads the index and at most 4 MB of
        # transcripts, plus the rest of 20 rows and of the last transcript. Rounding up costs half a unit per row.
        assert used.reads <= (201 * 1.3 + 4_000 + 20 * 96 + 1_000) / 8 + search.MAX_EXAMINED / 2 + 5
        end = answer.get("nextCursor")
        examined = [
            one
            for one in conversations
            if (end or ids.id_at(query.get("from", 0) * 1000, 0)) <= one.created < (cursor["cursor"] or "~")
            and one.second < query.get("to", START + 2 * YEAR)
        ]
        assert len(examined) <= search.MAX_EXAMINED
        last = min(examined, key=lambda conversation: conversation.created, default=None)
        assert sum(len(one.turns) for one in examined if one is not last) <= search._MAX_BYTES
        assert answer["searchedUntil"] == (ids.timestamp_of(end) // 1000 if end else query.get("from", 0))
        assert answer["hasMore"] == bool(end)
        yield answer["data"]
        if not end:
            return
        cursor = {"cursor": end}


def compare(api: Api, conversations: list[Conversation], query: dict[str, Any], after: str, most: int) -> None:
    wanted = matching_conversations(conversations, query, after)
    found = [*islice(pages(api, conversations, query, after), most)]
    shown = [one for page in found for one in page]
    assert shown == (wanted[: len(shown)] if len(found) == most else wanted), (query, after)


def any_query(chance: random.Random) -> dict[str, Any]:
    moment = START + chance.randrange(YEAR)
    period = {"from": moment, "to": moment + chance.randrange(YEAR // 20)}
    names = chance.sample([*period], k=chance.choice([0, 1, 2]))
    text = chance.choice([*WORDS, RARE, "STRASSE", "nothing", "order refund"])
    return {"q": text, "limit": chance.choice([1, 20, 500])} | {name: period[name] for name in names}


@pytest.mark.usefixtures("agent_id")
def test_a_search_equals_the_model(api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits are small, so that each of them ends some pages."""
    monkeypatch.setattr(search, "MAX_EXAMINED", 7)
    monkeypatch.setattr(search, "_MAX_BYTES", 2_000)
    chance = random.Random(1)
    conversations = [any_searched(chance, number, messages=5) for number in range(FEW)]
    fill(workspace, conversations)
    for _ in range(6):
        query = any_query(chance)
        for after in ("", chance.choice(conversations).created):
            compare(api, conversations, query, after, most=1_000)


@pytest.mark.usefixtures("agent_id")
def test_a_slow_search_ends_early(api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(2)
    conversations = [any_searched(chance, number, messages=2) for number in range(4)]
    fill(workspace, conversations)
    monkeypatch.setattr(storage, "seconds_left", lambda: search._MIN_SECONDS_LEFT - 1)
    assert len([*pages(api, conversations, {"q": "nothing"}, "")]) == len(conversations)


@whole
@pytest.mark.long
@pytest.mark.usefixtures("agent_id")
def test_a_search_in_20000_conversations_equals_the_model(api: Api, workspace: NewWorkspace) -> None:
    """A search for the rare text reads every page. Twelve conversations are stored in chunks."""
    chance = random.Random(2)
    conversations = [any_searched(chance, number, messages=chance.randrange(1, 9)) for number in range(MANY)]
    long = [any_searched(chance, MANY + number, messages=chance.randrange(2_000, 8_000)) for number in range(LONG)]
    fill_long(workspace, long)  # stored first, because each transaction makes moto copy every item and its history
    fill(workspace, conversations)
    conversations += long
    compare(api, conversations, {"q": RARE, "limit": 100}, "", most=1_000)
    for _ in range(5):
        query = any_query(chance)
        for after in ("", chance.choice(conversations).created):
            compare(api, conversations, query, after, most=5)
