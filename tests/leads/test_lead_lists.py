"""Lists and exports of leads, for all agents or for one agent."""

import csv
import io
import json
from typing import Any
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

from chalicelib import clock, storage
from chalicelib.http import files, pages
from chalicelib.leads.store import LeadRow
from infra.operator.commands import cams
from tests.api import Api
from tests.assertions import refused
from tests.builders import lead_body
from tests.engine_requests import counted
from tests.listed_pages import flatten, read_export, read_pages

LEADS = {"b": 3, "a": 2, "c": 0, "z": 1}
HOUR = 3600
START = 1_790_000_000
EXPORT = "/v3/leads/export"


@pytest.fixture
def leads(api: Api, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Create one lead per hour, alternating between the agents; return the lead names by agent, newest first."""
    now = [START]
    monkeypatch.setattr(clock, "milliseconds", lambda: now[0] * 1000)
    ids: dict[str, list[str]] = {agent_id: [] for agent_id in sorted(LEADS)}
    for agent_id in LEADS:
        api.post(f"/v2/agents/{agent_id}", {"title": f"Agent {agent_id.upper()}"})
    for number in range(max(LEADS.values())):
        for agent_id in [one for one, count in LEADS.items() if count > number]:
            now[0] += HOUR
            name = f"{agent_id}{number}"
            members = {"name": name, "email": f"{name}@X.test", "phone": "+31 20 55"}
            assert api.post("/v3/leads", lead_body(agent_id, **members)).status == 200
            ids[agent_id].insert(0, name)
    return ids


def found_leads(api: Api, limit: int = 2, **query: Any) -> list[str]:
    """Return the lead names on all pages."""
    return [one["name"] for one in flatten(read_pages(api, f"/v3/leads?{urlencode(query)}", limit))]


NEWEST_FIRST = ["b2", "a1", "b1", "z0", "a0", "b0"]


@pytest.mark.parametrize("limit", [2, 100])
def test_the_leads_of_all_agents_are_listed_newest_first(limit: int, leads: dict[str, list[str]], api: Api) -> None:
    assert found_leads(api, limit) == NEWEST_FIRST


@pytest.mark.parametrize("query", ["", "?limit=2", "?agentId=b", "?from=1&to=1900000000"])
def test_a_page_of_leads_is_one_query(query: str, leads: dict[str, list[str]], api: Api) -> None:
    with counted() as requests:
        assert api.get(f"/v3/leads{query}").status == 200
    assert requests["Query"] == 1


def test_a_numbered_page_has_the_total_unless_there_are_more_leads_than_a_request_examines(
    leads: dict[str, list[str]], api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, names in ((1, NEWEST_FIRST[:4]), (2, NEWEST_FIRST[4:]), (3, [])):
        page = api.get(f"/v3/leads?limit=4&page={number}").json
        assert [one["name"] for one in page["data"]] == names
        assert (page["page"], page["total"], page["totalPages"], page["hasMore"]) == (number, 6, 2, number == 1)
    assert api.get("/v3/leads?page=1&searchTerm=unknown").json["totalPages"] == 0
    monkeypatch.setattr(pages, "MAX_EXAMINED", 5)
    page = api.get("/v3/leads?limit=4&page=1").json
    assert (page["hasMore"], "nextCursor" in page) == (True, False)
    refused(api.get("/v3/leads?limit=4&page=3"), 400, "page")
    page = api.get("/v3/leads?limit=4&page=2").json
    assert ([one["name"] for one in page["data"]], page["hasMore"]) == (NEWEST_FIRST[4:5], True)
    rest = api.get(f"/v3/leads?page=1&cursor={page['nextCursor']}").json
    assert ([one["name"] for one in rest["data"]], rest["hasMore"]) == (NEWEST_FIRST[5:], False)
    assert {"total", "totalPages"}.isdisjoint({*page, *rest})


def test_a_numbered_page_that_does_not_fit_in_a_response_is_refused(api: Api) -> None:
    api.post("/v2/agents/support", {})
    for _ in range(4):
        assert api.post("/v3/leads", lead_body(name='"\n' * 300_000)).status == 200
    assert refused(api.get("/v3/leads?page=1"), 413) == "The response is too large; request it in pages with limit."
    assert api.get("/v3/leads?page=1&limit=1").json["total"] == 4


def test_unknown_members_of_a_lead_are_kept_hidden_from_scopes_and_rejected_on_request(api: Api, agent_id: str) -> None:
    sent = lead_body(name="Ann", company="Acme")
    answer = api.post("/v3/leads", sent)
    assert answer.data["company"] == "Acme"
    assert [one["path"] for one in answer.json["warnings"]] == ["lead.company"]
    path = f"/v3/leads/{answer.data['id']}"
    scoped = Api(api.post("/v3/tokens", {"token": {"name": "t", "scopes": ["leads:write"]}}).data["token"])
    assert "company" not in scoped.get(path).data
    assert scoped.patch(path, {"lead": {"name": "Bo"}}).data["name"] == "Bo"
    assert api.get(path).data["company"] == "Acme"
    strict = {**api._headers, "Content-Type": "application/json", "Prefer": "handling=strict"}
    for method, target in (("POST", "/v3/leads"), ("PATCH", path)):
        refused(api.call(method, target, sent, strict), 400, "lead.company")


def test_leads_are_found_by_agent_time_and_text(leads: dict[str, list[str]], api: Api) -> None:
    assert found_leads(api, agentId="b") == leads["b"]
    assert found_leads(api, agentId="unknown") == []
    assert found_leads(api, searchTerm="B1@x") == ["b1"]
    assert found_leads(api, searchTerm="agent z") == ["z0"]
    assert found_leads(api, searchTerm="55", agentId="a") == ["a1", "a0"]
    created = {one["name"]: one["createdAt"] // 1000 for one in api.get("/v3/leads").data}
    assert sorted(created, key=lambda name: created[name]) == ["b0", "a0", "z0", "b1", "a1", "b2"]
    since, until = created["a0"], created["a1"]
    expected = ["b1", "z0", "a0"]  # `from` is inclusive, `to` is exclusive
    assert found_leads(api, **{"from": since, "to": until}) == expected
    assert found_leads(api, **{"from": since, "to": until, "agentId": "b"}) == ["b1"]
    assert found_leads(api, **{"from": until, "to": since}) == []


def test_the_leads_of_one_agent_are_listed_alike_by_both_routes(leads: dict[str, list[str]], api: Api) -> None:
    assert api.get("/v3/leads?agentId=b").data == api.get("/v3/agents/b/leads").data


def test_a_cursor_survives_the_deletion_of_its_lead_and_its_agent(leads: dict[str, list[str]], api: Api) -> None:
    first = api.get("/v3/leads?limit=3").json
    (*_, last) = first["data"]
    assert last["name"] == "b1"
    api.delete(f"/v3/leads/{last['id']}")
    path = f"/v3/leads?cursor={first['nextCursor']}"
    assert [one["name"] for one in api.get(path).data] == ["z0", "a0", "b0"]
    api.delete("/v3/agents/b")
    assert [one["name"] for one in api.get(path).data] == ["z0", "a0"]


def test_agents_without_leads_cost_nothing(api: Api) -> None:
    for number in range(45):
        api.post(f"/v2/agents/n{number:02}", {})
    api.post("/v3/leads", lead_body("n44", name="last"))
    with counted() as requests:
        assert [one["name"] for one in api.get("/v3/leads").data] == ["last"]
    assert requests["Query"] == 1


def test_a_changed_lead_keeps_its_place(leads: dict[str, list[str]], api: Api) -> None:
    oldest = api.get("/v3/leads").data[-1]
    assert api.patch(f"/v3/leads/{oldest['id']}", {"lead": {"name": "new"}}).status == 200
    assert found_leads(api) == [*NEWEST_FIRST[:-1], "new"]


def test_leads_of_an_earlier_version_are_listed_once_they_are_indexed(leads: dict[str, list[str]], api: Api) -> None:
    """Saving a lead writes its index entry. The command `index` writes the entries for all other leads."""
    before = api.get("/v3/leads").data
    for row in [*storage.scan(LeadRow, LeadRow.lead_id.exists())]:
        row.workspace = row.captured = None
        storage.save_many([row])
    assert found_leads(api) == []
    assert found_leads(api, agentId="b") == leads["b"]
    api.patch(f"/v3/leads/{before[0]['id']}", {"lead": {"name": "saved"}})
    assert found_leads(api) == ["saved"]
    assert CliRunner().invoke(cams, ["index"]).output == "Indexed 5 leads and 0 waiting conversations.\n"
    assert api.get("/v3/leads").data == [{**before[0], "name": "saved"}, *before[1:]]
    assert CliRunner().invoke(cams, ["index"]).output == "Indexed 0 leads and 0 waiting conversations.\n"


@pytest.mark.parametrize("cursor", ["x", "0" * 25 + "u", "0" * 26 + "support", "~" * 30])
def test_a_cursor_of_leads_is_a_ulid(cursor: str, api: Api) -> None:
    message = refused(api.get(f"/v3/leads?cursor={cursor}"), 400, "cursor")
    assert message == "cursor must be the nextCursor of an earlier response."


@pytest.mark.parametrize(
    ("query", "limit"),
    [({}, 1), ({"agentId": "b"}, 2), ({"searchTerm": "0@x"}, 100), ({"from": 1, "to": START + 3 * HOUR}, 2)],
)
def test_an_export_has_the_listed_leads_once(
    limit: int, query: dict[str, Any], leads: dict[str, list[str]], api: Api
) -> None:
    expected = flatten(read_pages(api, f"/v3/leads?{urlencode(query)}", 100))
    texts = read_export(api, EXPORT, "ndjson", limit=limit, **query)
    assert [json.loads(line) for line in "".join(texts).splitlines()] == expected
    assert max(text.count("\n") for text in texts) <= limit
    (*rows,) = csv.DictReader(io.StringIO("".join(read_export(api, EXPORT, "csv", limit=limit, **query)), newline=""))
    assert [(row["id"], row["name"], row["agentName"]) for row in rows] == [
        (one["id"], one["name"], one["agentName"]) for one in expected
    ]


def test_an_export_as_csv_runs_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "milliseconds", lambda: START * 1000)
    api.post("/v2/agents/support", {"title": "=title()"})
    given = {"name": '=HYPERLINK("x")', "email": "@sum, a\nb", "phone": "+31 (20) 551"}
    made = api.post("/v3/leads", lead_body(**given)).data
    (text,) = read_export(api, EXPORT, "csv")
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert row == {
        "id": made["id"],
        "agentId": "support",
        "agentName": "'=title()",
        "name": '\'=HYPERLINK("x")',
        "email": "'@sum, a\nb",
        "phone": "'+31 (20) 551",
        "channel": "web-chat",
        "createdAt": clock.iso(START),
    }


def test_a_page_of_an_export_fits_a_response(api: Api) -> None:
    api.post("/v2/agents/support", {})
    for _ in range(4):
        assert api.post("/v3/leads", lead_body(name='"\n' * 300_000)).status == 200
    for form in files.MEDIA:
        texts = read_export(api, EXPORT, form)
        assert len(texts) > 1
        assert all(len(json.dumps(text)) < 6_000_000 for text in texts)
