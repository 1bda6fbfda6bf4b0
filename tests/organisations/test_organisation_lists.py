"""Lists of organisations, lists of their agents and clients, and organisations whose ids are generated."""

import pytest

from chalicelib.http import pages
from chalicelib.ids import ULID
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import refused
from tests.engine_requests import counted
from tests.listed_pages import flatten, read_pages


def test_a_new_organisation_gets_an_id_and_is_listed(workspace: NewWorkspace, api: Api) -> None:
    answer = api.post("/v3/orgs", {"organisation": {"name": "Acme", "preferredLanguage": "de"}})
    assert answer.json["message"] == "Organization created successfully"
    made = answer.data
    assert ULID.fullmatch(made["ID"])
    assert (made["userId"], made["name"], made["preferredLanguage"]) == (workspace.workspace_id, "Acme", "de")
    read = api.get(f"/v2/orgs/{made['ID']}")
    assert (read.data, read.headers["etag"]) == (made, answer.headers["etag"])
    assert api.get("/v3/orgs").json == {
        "success": True,
        "message": "Organizations retrieved successfully",
        "hasMore": False,
        "data": [made],
    }


@pytest.mark.parametrize(("limit", "sizes"), [(2, [2, 2, 1]), (5, [5]), (101, [5])])
def test_organisations_are_listed_in_pages_ordered_by_id(limit: int, sizes: list[int], api: Api) -> None:
    for name in "dbeca":
        api.post(f"/v2/orgs/{name}", {"name": name})
    found = read_pages(api, "/v3/orgs", limit, "pageSize")
    assert [len(page) for page in found] == sizes
    assert [one["ID"] for one in flatten(found)] == [*"abcde"]


def test_a_list_opens_a_bounded_number_of_records(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        api.post(f"/v2/orgs/o{number}", {"name": "x" * 1_000})
    monkeypatch.setattr(pages, "MAX_EXAMINED", 4)
    assert [len(page) for page in read_pages(api, "/v3/orgs", 20, "pageSize")] == [4, 2]
    monkeypatch.setattr(pages, "MAX_OPENED", 2_500)
    assert [len(page) for page in read_pages(api, "/v3/orgs", 20, "pageSize")] == [3, 3]


def test_the_agents_of_an_organisation_are_those_that_exist(api: Api) -> None:
    for agent_id in ("b", "a", "c", "other"):
        api.post(f"/v2/agents/{agent_id}", {"title": agent_id})
    api.delete("/v3/agents/c")
    named = ["b", "gone", "a", "b", "c", "", "not an id", "a#b", "x" * 2_000]
    assert api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": named}).status == 200
    assert [[one["ID"] for one in page] for page in read_pages(api, "/v3/orgs/acme/agents", 1)] == [["a"], ["b"], []]
    listed = api.get("/v3/orgs/acme/agents").data
    assert listed == [one for one in api.get("/v3/agents").data if one["ID"] in "ab"]


def test_an_organisation_without_agents_lists_none_and_an_unknown_one_is_not_found(api: Api) -> None:
    api.post("/v2/orgs/acme", {"name": "Acme"})
    for kind in ("agents", "clients"):
        assert api.get(f"/v3/orgs/acme/{kind}").data == []
        assert refused(api.get(f"/v3/orgs/unknown/{kind}"), 404) == "There is no such organisation."


def test_a_request_looks_up_a_bounded_number_of_agents(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.post("/v2/agents/z", {})
    api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": [f"g{number:03}" for number in range(140)] + ["z"]})
    monkeypatch.setattr(pages, "MAX_EXAMINED", 60)
    with counted() as requests:
        found = read_pages(api, "/v3/orgs/acme/agents", 20)
    assert [len(page) for page in found] == [0, 0, 1]
    assert requests == {"GetItem": 3, "BatchGetItem": 3 + 3 + 2}


def test_a_page_of_agents_reads_no_more_than_it_shows(api: Api) -> None:
    for number in range(25):
        api.post(f"/v2/agents/a{number:02}", {})
    api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": [f"a{number:02}" for number in range(25)]})
    with counted() as requests:
        assert len(api.get("/v3/orgs/acme/agents?limit=20").data) == 20
    assert requests == {"GetItem": 1, "BatchGetItem": 1}


def test_the_clients_of_an_organisation_have_its_id(api: Api) -> None:
    api.post("/v2/orgs/acme", {"name": "Acme"})
    for client_id, organisation in {"a": "acme", "b": "other", "c": "acme", "d": None}.items():
        api.post(f"/v2/clients/{client_id}", {"orgId": organisation})
    assert [[one["ID"] for one in page] for page in read_pages(api, "/v3/orgs/acme/clients", 1)] == [["a"], ["c"], []]


@pytest.mark.parametrize(("scope", "kind"), [("agents:read", "agents"), ("clients:read", "clients")])
def test_the_scope_of_a_list_is_that_of_its_records(scope: str, kind: str, api: Api) -> None:
    api.post("/v2/orgs/acme", {"name": "Acme"})
    for given, status in ((scope, 200), ("organisations:read", 403)):
        token = api.post("/v3/tokens", {"token": {"name": "x", "scopes": [given]}}).data["token"]
        assert Api(token).get(f"/v3/orgs/acme/{kind}").status == status
