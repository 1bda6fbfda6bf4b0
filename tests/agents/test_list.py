"""The agent list: filters, sort orders and pages match a brute-force model, and each page's cost is limited."""

import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib import ids, storage
from chalicelib.agents import listing, rows, store
from chalicelib.http import pages
from chalicelib.storage import Document
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import refused
from tests.capacity import metered

START = 1_780_000_000
TITLES = (None, "", "Support", "support", "SALES", "Straße", "strasse", "Ömer", "李", "\N{GRINNING FACE}", "a" * 300)
DESCRIPTIONS = (None, "Answers questions.", "ANSWERS orders", "x" * 250 + "hidden")


def any_agents(seed: int, number: int) -> dict[str, Document]:
    chance = random.Random(seed)
    documents = {}
    for position in range(number):
        created = START + chance.randrange(100)
        members = {
            "title": chance.choice(TITLES),
            "description": chance.choice(DESCRIPTIONS),
            "starred": chance.choice([None, True, False]),
            "deployed": chance.choice([None, True, False]),
            "createdAtUNIX": created,
            "lastModified": START + 100 + position,
        }
        agent_id = "".join(chance.choices("aBz09~@", k=6))
        documents[agent_id] = {name: value for name, value in members.items() if value is not None}
    return documents


def fill(workspace: NewWorkspace, agents: dict[str, Document]) -> None:
    """Store agents in the service's own layout, many rows per request."""
    made = []
    for agent_id, document in agents.items():
        key = rows.keys(workspace.workspace_id, agent_id)
        tag = ids.id_at(document["lastModified"] * 1_000, len(made))
        row = store.AgentRow(*key, workspace=workspace.workspace_id, agent_id=agent_id, version_tag=tag)
        row.seal(document)
        row.summary = storage.seal(row, "summary", store._summary(document))
        made.append(row)
    storage.save_many(made)


def matching_ids(agents: dict[str, Document], query: dict[str, Any]) -> list[str]:
    def matches(agent: Document) -> bool:
        text = query.get("q", "").casefold()
        found = any(text in agent.get(name, "")[:200].casefold() for name in ("title", "description"))
        flags = [agent.get(name, False) == (query[name] == "true") for name in ("starred", "deployed") if name in query]
        return all(flags) and (found or not text)

    order = sorted(agents)
    if "sort" in query:
        order = sorted(agents, key=lambda agent_id: -agents[agent_id]["lastModified"])
    return [agent_id for agent_id in order if matches(agents[agent_id])]


def read_pages(api: Api, query: dict[str, Any]) -> Iterator[list[Document]]:
    """Yield the pages of the list; assert each page's contract and cost limits."""
    cursor: dict[str, str] = {}
    while True:
        with metered() as used:
            answer = api.get(f"/v3/agents?{urlencode({**query, **cursor})}").json
        data = answer["data"]
        limit = min(query["limit"], 100)
        most = pages.MAX_EXAMINED / listing.PORTION + 1
        assert used.requests["Query"] <= most
        assert used.requests["BatchGetItem"] <= -(-len(data) // 20) + most
        # Reading entries of at most 1.3 KB costs one unit per 8 KB. Each listed agent of at most 4 KB costs half a
        # unit.
        assert used.reads <= pages.MAX_EXAMINED * 1.3 / 8 + 0.5 * len(data) + most
        assert len(data) <= limit
        assert answer["hasMore"] == ("nextCursor" in answer)
        yield data
        if not answer["hasMore"]:
            return
        cursor = {"cursor": answer["nextCursor"]}


def any_query(chance: random.Random, limits: tuple[int, ...]) -> dict[str, Any]:
    choices = {
        "q": chance.choice(["SUPPORT", "strasse", "ANSWERS", "ö", "hidden", "nothing", "a"]),
        "starred": chance.choice(["true", "false"]),
        "deployed": chance.choice(["true", "false"]),
        "sort": chance.choice([*listing.ORDERS]),
    }
    names = chance.sample([*choices], k=chance.choice([0, 1, 1, 2, 3]))
    return {name: choices[name] for name in names} | {"limit": chance.choice(limits)}


def compare(api: Api, agents: dict[str, Document], seed: int, limits: tuple[int, ...]) -> None:
    chance = random.Random(seed)
    for _ in range(12):
        query = any_query(chance, limits)
        found = [one for page in read_pages(api, query) for one in page]
        assert [one["id"] for one in found] == matching_ids(agents, query), query
        assert all(
            one == {"id": one["id"], "ID": one["id"], "ownerID": one["ownerID"], **agents[one["id"]]} for one in found
        )


@pytest.mark.usefixtures("pass_time")
def test_filters_orders_and_pages_equal_the_model(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits are small, so that each of them ends some pages."""
    monkeypatch.setattr(listing, "PORTION", 20)
    monkeypatch.setattr(pages, "MAX_EXAMINED", 60)
    agents = any_agents(1, 80)
    fill(workspace, agents)
    api.get("/v3/tokens")
    compare(api, agents, seed=1, limits=(1, 7, 20, 100, 500))


@pytest.mark.long
@pytest.mark.usefixtures("pass_time")
def test_filters_orders_and_pages_of_1000_agents_equal_the_model(api: Api, workspace: NewWorkspace) -> None:
    agents = any_agents(2, 1_000)
    fill(workspace, agents)
    api.get("/v3/tokens")
    compare(api, agents, seed=2, limits=(100, 500))


@pytest.mark.parametrize("query", ["limit=3&q=refunds", "limit=3", "limit=3&sort=lastModified"])
def test_a_list_reads_no_record_that_it_does_not_show(query: str, api: Api, workspace: NewWorkspace) -> None:
    chance = random.Random(3)
    given = {"title": "Refunds", "createdAtUNIX": START, "lastModified": START}
    large = {**given, "vg_systemPrompt": chance.randbytes(10_000).hex()}  # 1.5 units
    fill(workspace, {f"agent-{number:02}": {**large, "lastModified": START + number} for number in range(40)})
    api.get("/v3/tokens")
    with metered() as used:
        assert len(api.get(f"/v3/agents?{query}").data) == 3
    assert used.requests == {"Query": 1, "BatchGetItem": 1}
    assert used.reads <= 3 * 1.5 + 3


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("query", ["limit=2", "limit=2&starred=false", "limit=2&sort=lastModified"])
def test_an_agent_that_is_deleted_while_it_is_listed_is_left_out(
    query: str, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "dcba":
        api.post(f"/v2/agents/{name}", {"title": name})
    real = storage.find_many

    def delete_first(keys: Any) -> Any:
        monkeypatch.setattr(storage, "find_many", real)
        assert api.delete("/v3/agents/a").status == 200
        return real(keys)

    monkeypatch.setattr(storage, "find_many", delete_first)
    first = api.get(f"/v3/agents?{query}").json
    second = api.get(f"/v3/agents?{query}&cursor={first['nextCursor']}").json
    assert [one["id"] for one in first["data"] + second["data"]][:3] == ["b", "c", "d"]


@pytest.mark.usefixtures("ticking")
def test_a_sorted_list_continues_after_a_deleted_or_changed_agent(api: Api) -> None:
    """A changed agent moves to the beginning of the list. A client that reads later pages does not see it again."""
    for name in "dcba":
        api.post(f"/v2/agents/{name}", {"title": name})
    first = api.get("/v3/agents?sort=lastModified&limit=2").json
    api.post("/v2/agents/a", {"title": "z"})
    assert api.delete("/v3/agents/b").status == 200
    second = api.get(f"/v3/agents?sort=lastModified&cursor={first['nextCursor']}").json
    assert [one["id"] for one in first["data"]] == ["a", "b"]
    assert [one["id"] for one in second["data"]] == ["c", "d"]
    assert [one["id"] for one in api.get("/v3/agents?sort=lastModified").data] == ["a", "c", "d"]


@pytest.mark.usefixtures("ticking")
def test_each_change_moves_an_agent_to_the_beginning(api: Api) -> None:
    for name in "ab":
        api.post(f"/v2/agents/{name}", {"title": name})
    for name, change in (("a", {"title": "A"}), ("b", {"lang": "nl"}), ("a", {"lang": "de"})):
        assert api.post(f"/v2/agents/{name}", change).status == 200
        assert api.get("/v3/agents?sort=lastModified").data[0]["id"] == name


@pytest.mark.parametrize("cursor", ["agent-1", "%23", "W" * 2_000])
def test_a_cursor_of_another_order_is_refused(cursor: str, api: Api) -> None:
    refused(api.get(f"/v3/agents?sort=lastModified&cursor={cursor}"), 400, "cursor")
