"""Lists and searches of agents match a brute-force model, and each page's cost is limited."""

import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib import ids, storage
from chalicelib.agents import listing, rows, store
from chalicelib.storage import Document
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import refused
from tests.capacity import metered
from tests.listed_pages import flatten
from tests.listed_pages import read_pages as list_pages

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


def created(agent: Document, agent_id: str) -> tuple[int, str]:
    return agent["createdAtUNIX"], agent_id


def matching_ids(agents: dict[str, Document], query: dict[str, Any], size: int) -> list[str]:
    """Return the ids that a search finds in each window of `size` agents, which were changed one after the other."""
    by_change = sorted(agents, key=lambda agent_id: -agents[agent_id]["lastModified"])
    windows = [by_change[start : start + size] for start in range(0, len(agents), size)]
    return [agent_id for window in windows for agent_id in matches_of(agents, query, window)]


def matches_of(agents: dict[str, Document], query: dict[str, Any], by_change: list[str]) -> list[str]:
    def matches(agent: Document) -> bool:
        text = query.get("search", "").casefold()
        has_text = any(text in agent.get(name, "")[:200].casefold() for name in ("title", "description"))
        starred = query.get("starredOnly") != "true" or agent.get("starred", False)
        deployed = "deployed" not in query or agent.get("deployed", False) == (query["deployed"] == "true")
        return starred and deployed and (has_text or not text)

    orders = {
        "oldest": by_change[::-1],
        "firstCreated": sorted(by_change, key=lambda agent_id: created(agents[agent_id], agent_id)),
        "lastCreated": sorted(by_change, key=lambda agent_id: created(agents[agent_id], agent_id), reverse=True),
        "alphabetical": sorted(
            by_change, key=lambda agent_id: (agents[agent_id].get("title", "")[:200].casefold(), agent_id)
        ),
    }
    return [agent_id for agent_id in orders.get(query.get("sortBy", ""), by_change) if matches(agents[agent_id])]


def read_pages(api: Api, query: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the pages of a search; assert each page's contract and cost limits."""
    page, cursor, limit = 1, {}, min(query["limit"], 100)
    while True:
        with metered() as used:
            answer = api.get(f"/v3/agents/search?{urlencode({**query, **cursor, 'page': page})}").json
        records = {one["id"] for one in (*answer["agents"], *answer["starredAgents"])}
        assert used.requests["Query"] <= 2
        assert used.requests["BatchGetItem"] == -(-len(records) // 20)
        # Reading entries of at most 1.3 KB costs one unit per 8 KB. Each listed agent of at most 4 KB costs half a
        # unit.
        assert used.reads <= listing.MAX_SEARCHED * 1.3 / 8 + 0.5 * len(records) + 2
        assert (answer["page"], answer["limit"]) == (page, limit)
        assert max(len(answer["agents"]), len(answer["starredAgents"])) <= limit
        yield answer
        if not answer["hasMore"]:
            assert "nextCursor" not in answer
            return
        page += 1
        if "nextCursor" in answer:
            beyond = api.get(f"/v3/agents/search?{urlencode({**query, **cursor, 'page': page})}")
            refused(beyond, 400, "page")
            page, cursor = 1, {"cursor": answer["nextCursor"]}


def any_query(chance: random.Random, limits: tuple[int, ...]) -> dict[str, Any]:
    choices = {
        "search": chance.choice(["SUPPORT", "strasse", "ANSWERS", "ö", "hidden", "nothing", "a", ""]),
        "starredOnly": chance.choice(["true", "false"]),
        "deployed": chance.choice(["true", "false"]),
        "sortBy": chance.choice([*listing.ORDERS]),
    }
    names = chance.sample([*choices], k=chance.choice([0, 1, 1, 2, 3]))
    return {name: choices[name] for name in names} | {"limit": chance.choice(limits)}


def compare(api: Api, agents: dict[str, Document], seed: int, limits: tuple[int, ...]) -> None:
    chance, size = random.Random(seed), listing.MAX_SEARCHED
    for _ in range(12):
        query = any_query(chance, limits)
        answers = [*read_pages(api, query)]
        listed = [one for answer in answers for one in answer["agents"]]
        starred = [one["id"] for answer in answers for one in answer["starredAgents"]]
        assert [one["id"] for one in listed] == matching_ids(agents, query, size), query
        assert starred == matching_ids(agents, {**query, "starredOnly": "true"}, size), query
        assert all(
            one == {"id": one["id"], "ID": one["id"], "ownerID": one["ownerID"], **agents[one["id"]]} for one in listed
        )
        totals = [(answer.get("total"), answer.get("totalStarred")) for answer in answers]
        exact = (len(listed), len(starred)) if len(agents) <= size else (None, None)
        assert totals == [exact] * len(answers), query


@pytest.mark.usefixtures("pass_time")
@pytest.mark.parametrize("size", [30, 79, 80])
def test_filters_orders_and_pages_equal_the_model(
    size: int, api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of examined agents is small, so that it ends some pages."""
    monkeypatch.setattr(listing, "MAX_SEARCHED", size)
    agents = any_agents(1, 80)
    fill(workspace, agents)
    api.get("/v3/tokens")
    compare(api, agents, seed=1, limits=(1, 7, 20, 100, 500))


@pytest.mark.long
@pytest.mark.usefixtures("pass_time")
def test_filters_orders_and_pages_of_1500_agents_equal_the_model(api: Api, workspace: NewWorkspace) -> None:
    agents = any_agents(2, 1_500)
    fill(workspace, agents)
    api.get("/v3/tokens")
    compare(api, agents, seed=2, limits=(100, 500))


@pytest.mark.usefixtures("pass_time")
def test_a_list_has_each_agent_once_ordered_by_id(api: Api, workspace: NewWorkspace) -> None:
    agents = any_agents(4, 25)
    fill(workspace, agents)
    assert [one["id"] for one in flatten(list_pages(api, "/v3/agents", 7))] == sorted(agents)


@pytest.mark.parametrize("path", ["/v3/agents?limit=3", "/v3/agents/search?limit=3&search=refunds"])
def test_a_list_reads_no_record_that_it_does_not_show(path: str, api: Api, workspace: NewWorkspace) -> None:
    chance = random.Random(3)
    given = {"title": "Refunds", "createdAtUNIX": START, "lastModified": START}
    large = {**given, "vg_systemPrompt": chance.randbytes(10_000).hex()}  # 1.5 units
    fill(workspace, {f"agent-{number:02}": {**large, "lastModified": START + number} for number in range(40)})
    api.get("/v3/tokens")
    with metered() as used:
        answer = api.get(path).json
    assert len(answer.get("agents") or answer["data"]) == 3
    assert used.requests == {"Query": 1, "BatchGetItem": 1}
    assert used.reads <= 3 * 1.5 + 3


def test_an_agent_that_does_not_fit_in_a_response_has_only_its_summary(api: Api, workspace: NewWorkspace) -> None:
    text = "x" * 1_500_000
    given = {"title": "T", "lang": text}
    fill(workspace, {f"a{n}": {**given, "starred": n > 2, "lastModified": START + n} for n in range(5)})
    answer = api.get("/v3/agents/search").json
    assert [one["id"] for one in answer["agents"]] == ["a4", "a3", "a2", "a1", "a0"]
    assert ["lang" in one for one in answer["agents"]] == [True, False, False, False, False]
    assert answer["starredAgents"] == answer["agents"][:2]
    ids = {"ID": "a0", "id": "a0", "ownerID": workspace.workspace_id}
    times = {"createdAtUNIX": 0, "lastModified": START}
    assert answer["agents"][-1] == {**ids, **times, "title": "T", "starred": False}


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize(
    "path", ["/v3/agents?limit=2", "/v3/agents/search?limit=2", "/v3/agents/search?limit=2&sortBy=oldest"]
)
def test_an_agent_that_is_deleted_while_it_is_listed_is_left_out(
    path: str, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "dcba":
        assert api.post(f"/v2/agents/{name}", {"title": name}).status == 200
    real = storage.find_many

    def delete_first(keys: Any) -> Any:
        monkeypatch.setattr(storage, "find_many", real)
        assert api.delete("/v3/agents/a").status == 200
        assert api.delete("/v3/agents/d").status == 200
        return real(keys)

    monkeypatch.setattr(storage, "find_many", delete_first)
    answer = api.get(path).json
    assert [one["id"] for one in answer.get("agents") or answer["data"]] in (["b"], ["b", "c"], ["c"])


@pytest.mark.usefixtures("ticking")
def test_each_change_moves_an_agent_to_the_beginning(api: Api) -> None:
    for name in "ab":
        api.post(f"/v2/agents/{name}", {"title": name})
    for name, change in (("a", {"title": "A"}), ("b", {"lang": "nl"}), ("a", {"lang": "de"})):
        assert api.post(f"/v2/agents/{name}", change).status == 200
        assert api.get("/v3/agents/search").json["agents"][0]["id"] == name


@pytest.mark.parametrize("cursor", ["agent-1", "%23", "W" * 2_000])
def test_a_cursor_of_another_list_is_refused(cursor: str, api: Api) -> None:
    refused(api.get(f"/v3/agents/search?cursor={cursor}"), 400, "cursor")


def test_only_the_caller_s_workspace_is_searched(
    api: Api, agent_id: str, workspace: NewWorkspace, other_workspace: NewWorkspace
) -> None:
    assert api.get(f"/v3/agents/search?workspaceId={workspace.workspace_id}").json["total"] == 1
    for other in (other_workspace.workspace_id, "unknown"):
        message = refused(api.get(f"/v3/agents/search?workspaceId={other}"), 403)
        assert message == "workspaceId must be the workspace of the credential; omit this parameter."


def test_the_id_of_a_new_agent_is_not_the_word_search(api: Api) -> None:
    """`GET /v3/agents/{agent_id}` could not read this agent. Every other word can be an id."""
    rule = "agent_id must not be search, because GET /v3/agents/search is another route."
    assert refused(api.post("/v2/agents/search", {}), 400, "agent_id") == rule
    for word in ("import-template", "Search", "export", "usage"):
        assert api.post(f"/v2/agents/{word}", {}).status == 200
        assert api.get(f"/v3/agents/{word}").data["id"] == word
    refused(api.patch("/v3/agents/search", {"agent": {}}), 404)
