"""Lists and creation of organisations, clients and leads with generated ids, and what their records name."""

import csv
import io
import json
from typing import Any
from urllib.parse import urlencode, urljoin

import pytest
from click.testing import CliRunner

from chalicelib import clock, storage
from chalicelib.http import files, pages
from chalicelib.ids import ULID
from chalicelib.leads.store import LeadRow
from chalicelib.workspaces.store import NewWorkspace
from infra.operator.commands import cams
from tests.api import Answer, Api
from tests.assertions import refused, stored
from tests.builders import lead_body
from tests.engine_requests import counted


def walk(api: Api, path: str, limit: int) -> list[list[Any]]:
    """The pages of a bounded list, as `hasMore` and `nextCursor` lead."""
    found, cursor = [], ""
    while True:
        answer = api.get(f"{path}{'&' if '?' in path else '?'}limit={limit}{cursor}")
        found.append(answer.data)
        assert answer.json["hasMore"] is ("nextCursor" in answer.json)
        if not answer.json["hasMore"]:
            return found
        cursor = f"&cursor={answer.json['nextCursor']}"


def flat(found: list[list[Any]]) -> list[Any]:
    return [record for page in found for record in page]


# ---- organisations --------------------------------------------------------------------------------


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
    found = walk(api, "/v3/orgs", limit)
    assert [len(page) for page in found] == sizes
    assert [one["ID"] for one in flat(found)] == [*"abcde"]


def test_a_list_opens_a_bounded_number_of_records(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        api.post(f"/v2/orgs/o{number}", {"name": "x" * 1_000})
    monkeypatch.setattr(pages, "MAX_EXAMINED", 4)
    assert [len(page) for page in walk(api, "/v3/orgs", 20)] == [4, 2]
    monkeypatch.setattr(pages, "MAX_OPENED", 2_500)
    assert [len(page) for page in walk(api, "/v3/orgs", 20)] == [3, 3]


# ---- clients --------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_put", [True, False], ids=["v2", "v3"])
def test_a_new_client_gets_an_id_and_owns_its_email(is_put: bool, workspace: NewWorkspace, api: Api) -> None:
    given = {"name": "Ann", "email": "ann@x.test", "ID": "ignored"}
    method, path, body = ("PUT", "/v2/clients", given) if is_put else ("POST", "/v3/clients", {"client": given})
    answer = api.call(method, path, body)
    assert answer.json["message"] == "Client created successfully"
    made = answer.data
    assert ULID.fullmatch(made["ID"])
    assert made == {**given, "ID": made["ID"], "ownerID": workspace.workspace_id, "orgUsers": []}
    read = api.get(f"/v2/clients/{made['ID']}")
    assert (read.data, read.headers["etag"]) == (made, answer.headers["etag"])

    before = stored()
    refused(api.call(method, path, body), 409, code="EMAIL_TAKEN")
    assert stored() == before


def test_a_put_with_a_key_creates_one_client(api: Api) -> None:
    headers = {**api._headers, "Content-Type": "application/json", "Idempotency-Key": "once"}
    first, again = (api.call("PUT", "/v2/clients", {"name": "Ann"}, headers) for _ in range(2))
    assert (first.text, again.headers["idempotency-replayed"]) == (again.text, "true")
    assert [one["ID"] for one in api.get("/v3/clients").data] == [first.data["ID"]]


def test_clients_are_found_by_organisation_name_and_email(api: Api) -> None:
    for client_id, members in {
        "a": {"name": "Änne Example", "orgId": "acme"},
        "b": {"email": "ÄNNE@x.test", "orgId": "other", "dashboardPassword": "änne änne"},
        "c": {"name": "Bo", "orgId": "acme", "dashboardPassword": "änne änne"},
        "d": {},
    }.items():
        api.post(f"/v2/clients/{client_id}", members)

    def found(**query: str) -> str:
        return "".join(one["ID"] for one in flat(walk(api, f"/v3/clients?{urlencode(query)}", 2)))

    assert found() == "abcd"
    assert (found(q="änne"), found(q="X.TEST"), found(q="none")) == ("ab", "b", "")
    assert (found(orgId="acme"), found(orgId="ac"), found(orgId="acme", q="bo")) == ("ac", "", "c")


def test_a_page_without_a_match_leads_on(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        api.post(f"/v2/clients/c{number}", {"name": "last" if number == 6 else "x"})
    monkeypatch.setattr(pages, "MAX_EXAMINED", 3)
    assert [[one["ID"] for one in page] for page in walk(api, "/v3/clients?q=last", 2)] == [[], [], ["c6"]]


def test_a_token_with_scopes_sees_no_password(api: Api) -> None:
    token = api.post("/v3/tokens", {"token": {"name": "x", "scopes": ["clients:write"]}}).data["token"]
    made = Api(token).post("/v3/clients", {"client": {"name": "Ann", "dashboardPassword": "the secret"}}).data
    (listed,) = Api(token).get("/v3/clients").data
    assert listed == made
    assert "dashboardPassword" not in made
    assert api.get("/v3/clients").data == [{**made, "dashboardPassword": "the secret"}]


# ---- what belongs to an organisation --------------------------------------------------------------


def test_the_agents_of_an_organisation_are_those_that_exist(api: Api) -> None:
    for agent_id in ("b", "a", "c", "other"):
        api.post(f"/v2/agents/{agent_id}", {"title": agent_id})
    api.delete("/v3/agents/c")
    named = ["b", "gone", "a", "b", "c", "", "not an id", "a#b", "x" * 2_000]
    assert api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": named}).status == 200
    assert [[one["ID"] for one in page] for page in walk(api, "/v3/orgs/acme/agents", 1)] == [["a"], ["b"], []]
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
        found = walk(api, "/v3/orgs/acme/agents", 20)
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
    assert [[one["ID"] for one in page] for page in walk(api, "/v3/orgs/acme/clients", 1)] == [["a"], ["c"], []]


@pytest.mark.parametrize(("scope", "kind"), [("agents:read", "agents"), ("clients:read", "clients")])
def test_the_scope_of_a_list_is_that_of_its_records(scope: str, kind: str, api: Api) -> None:
    api.post("/v2/orgs/acme", {"name": "Acme"})
    for given, status in ((scope, 200), ("organisations:read", 403)):
        token = api.post("/v3/tokens", {"token": {"name": "x", "scopes": [given]}}).data["token"]
        assert Api(token).get(f"/v3/orgs/acme/{kind}").status == status


# ---- warnings -------------------------------------------------------------------------------------


def warned(answer: Answer) -> list[str]:
    """The paths of the warnings of an answer, which is a success."""
    assert answer.status == 200, answer.text
    messages = {one["message"] for one in answer.json.get("warnings", ())}
    assert not messages - {f"names no {kind} of this workspace; it is stored as sent" for kind in KINDS} - {UNCHECKED}
    return [one["path"] for one in answer.json.get("warnings", ())]


KINDS = ("agent", "client", "organisation")
UNCHECKED = "has more new ids than the 40 that a request looks up; the others may name nothing"


@pytest.mark.parametrize("is_v2", [True, False], ids=["v2", "v3"])
def test_ids_of_an_organisation_that_name_nothing_are_warned_of(
    is_v2: bool, api: Api, other_workspace: NewWorkspace
) -> None:
    other = Api(other_workspace.workspace_key)
    for agent_id, owner in {"a": api, "deleted": api, "theirs": other}.items():
        owner.post(f"/v2/agents/{agent_id}", {})
    api.delete("/v3/agents/deleted")
    api.post("/v2/clients/ann", {})
    given = {
        "name": "Acme",
        "widgetIDs": ["a", "gone", "deleted", "theirs", "", "a", "gone", "not an id", "a#a", "x" * 2_000],
        "adminIDs": ["ann", "a"],
    }
    calls = (
        [("POST", "/v2/orgs/acme", given), ("PUT", "/v2/orgs", given)]
        if is_v2
        else [("POST", "/v3/orgs", {"organisation": given})]
    )
    for method, path, body in calls:
        prefix = "" if is_v2 else "organisation."
        answer = api.call(method, path, body)
        paths = [f"widgetIDs.{number}" for number in (1, 2, 3, 4, 6, 7, 8, 9)] + ["adminIDs.1"]
        assert warned(answer) == [f"{prefix}{one}" for one in paths]
        assert "gone" not in json.dumps(answer.json["warnings"])
    assert all(one["widgetIDs"] == given["widgetIDs"] for one in api.get("/v3/orgs").data)


@pytest.mark.parametrize(("method", "path", "prefix"), [
    ("POST", "/v2/clients/ann", ""), ("PUT", "/v2/clients", ""), ("POST", "/v3/clients", "client."),
])  # fmt: skip
def test_an_organisation_of_a_client_that_does_not_exist_is_warned_of(
    method: str, path: str, prefix: str, api: Api
) -> None:
    api.post("/v2/orgs/acme", {"name": "Acme"})
    for organisation, expected in {"acme": [], "gone": [f"{prefix}orgId"], "": [f"{prefix}orgId"], None: []}.items():
        given = {"orgId": organisation}
        assert warned(api.call(method, path, {"client": given} if prefix else given)) == expected


def test_only_what_is_named_is_looked_up_and_once(api: Api) -> None:
    api.post("/v2/orgs/acme", {"name": "Acme"})
    many = [f"g{number}" for number in range(5_000)]
    for body, requests in (
        ({"name": "New"}, {"GetItem": 1, "PutItem": 1}),
        ({"name": "New", "widgetIDs": [], "adminIDs": None}, {"GetItem": 1, "PutItem": 1}),
        ({"name": "New", "widgetIDs": many, "adminIDs": many}, {"GetItem": 1, "BatchGetItem": 1, "PutItem": 1}),
        ({"name": "New", "widgetIDs": ["", "no id"]}, {"GetItem": 1, "PutItem": 1}),
    ):
        with counted() as found:
            assert api.post("/v2/orgs/acme", body).status == 200
        assert found == requests


def test_a_warning_says_that_not_all_new_ids_were_looked_up(api: Api) -> None:
    for number in range(40):
        api.post(f"/v2/agents/a{number}", {})
    named = [f"a{number}" for number in range(40)]
    body = {"name": "Acme", "widgetIDs": [*named, "none"], "adminIDs": ["nobody"]}
    answer = api.post("/v3/orgs", {"organisation": body})
    assert warned(answer) == ["organisation.widgetIDs", "organisation.adminIDs"]
    assert {one["message"] for one in answer.json["warnings"]} == {UNCHECKED}
    assert warned(api.post(f"/v2/orgs/{answer.data['ID']}", {"name": "Acme", "widgetIDs": named})) == []


def test_new_ids_are_looked_up_before_those_that_were_stored(api: Api) -> None:
    stored_before = [f"g{number}" for number in range(60)]
    first = api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": stored_before})
    assert warned(first) == ["widgetIDs", *(f"widgetIDs.{number}" for number in range(19))]
    api.post("/v2/agents/good", {})
    again = api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": [*stored_before, "good", "new"]})
    # 20 warnings of those that were looked up, in the order of the body.
    assert warned(again) == [f"widgetIDs.{number}" for number in range(20)]
    api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": [f"a{number}" for number in range(40)]})
    for number in range(40):
        api.post(f"/v2/agents/a{number}", {})
    named = [f"a{number}" for number in range(40)]
    assert warned(api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": named})) == []
    assert warned(api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": [*named, "new"]})) == ["widgetIDs.40"]


# ---- leads ----------------------------------------------------------------------------------------

LEADS = {"b": 3, "a": 2, "c": 0, "z": 1}
HOUR = 3600
START = 1_790_000_000


@pytest.fixture
def leads(api: Api, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The names of leads by agent, newest first: one each hour, of the agents in turn."""
    now = [START]
    monkeypatch.setattr(clock, "milliseconds", lambda: now[0] * 1000)
    found: dict[str, list[str]] = {agent_id: [] for agent_id in sorted(LEADS)}
    for agent_id in LEADS:
        api.post(f"/v2/agents/{agent_id}", {"title": f"Agent {agent_id.upper()}"})
    for number in range(max(LEADS.values())):
        for agent_id in [one for one, count in LEADS.items() if count > number]:
            now[0] += HOUR
            name = f"{agent_id}{number}"
            members = {"name": name, "email": f"{name}@X.test", "phone": "+31 20 55"}
            assert api.post("/v3/leads", lead_body(agent_id, **members)).status == 200
            found[agent_id].insert(0, name)
    return found


def found_leads(api: Api, limit: int = 2, **query: Any) -> list[str]:
    """The names of the leads in all pages."""
    return [one["name"] for one in flat(walk(api, f"/v3/leads?{urlencode(query)}", limit))]


NEWEST_FIRST = ["b2", "a1", "b1", "z0", "a0", "b0"]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_the_leads_of_all_agents_are_listed_newest_first(limit: int, leads: dict[str, list[str]], api: Api) -> None:
    assert found_leads(api, limit) == NEWEST_FIRST


@pytest.mark.parametrize("query", ["", "?limit=2", "?agentId=b", "?from=1&to=1900000000"])
def test_a_page_of_leads_is_one_query(query: str, leads: dict[str, list[str]], api: Api) -> None:
    with counted() as requests:
        assert api.get(f"/v3/leads{query}").status == 200
    assert requests["Query"] == 1


def test_leads_are_found_by_agent_time_and_text(leads: dict[str, list[str]], api: Api) -> None:
    assert found_leads(api, agentId="b") == leads["b"]
    assert found_leads(api, agentId="unknown") == []
    assert (found_leads(api, q="B1@x"), found_leads(api, q="agent z"), found_leads(api, q="55", agentId="a")) == (
        ["b1"], ["z0"], ["a1", "a0"],
    )  # fmt: skip
    created = {one["name"]: one["createdAt"] // 1000 for one in api.get("/v3/leads").data}
    assert sorted(created, key=lambda name: created[name]) == ["b0", "a0", "z0", "b1", "a1", "b2"]
    since, until = created["a0"], created["a1"]
    expected = ["b1", "z0", "a0"]  # from is included, to is not
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
    """A lead that is saved has its entry of the index; `leads index` writes those of all others."""
    before = api.get("/v3/leads").data
    for row in [*storage.scan(LeadRow, LeadRow.lead_id.exists())]:
        row.workspace = row.captured = None
        storage.save_many([row])
    assert found_leads(api) == []
    assert found_leads(api, agentId="b") == leads["b"]
    api.patch(f"/v3/leads/{before[0]['id']}", {"lead": {"name": "saved"}})
    assert found_leads(api) == ["saved"]
    assert CliRunner().invoke(cams, ["leads", "index"]).output == "Indexed 5 leads.\n"
    assert api.get("/v3/leads").data == [{**before[0], "name": "saved"}, *before[1:]]
    assert CliRunner().invoke(cams, ["leads", "index"]).output == "Indexed 0 leads.\n"


@pytest.mark.parametrize("cursor", ["x", "0" * 25 + "u", "0" * 26 + "support", "~" * 30])
def test_a_cursor_of_leads_is_a_ulid(cursor: str, api: Api) -> None:
    message = refused(api.get(f"/v3/leads?cursor={cursor}"), 400, "cursor")
    assert message == "cursor must be the nextCursor of an earlier response."


def exported(api: Api, form: str, **query: Any) -> list[str]:
    """The pages of an export, by its links."""
    address, texts = f"/v3/leads/export?{urlencode({'format': form, **query})}", []
    while True:
        answer = api.get(address)
        assert (answer.status, answer.headers["content-type"]) == (200, files.MEDIA[form])
        texts.append(answer.text)
        if "link" not in answer.headers:
            return texts
        target, _, parameters = answer.headers["link"].partition(">;")
        assert parameters.strip() == 'rel="next"'
        address = urljoin(address, target[1:])


@pytest.mark.parametrize("query", [{}, {"agentId": "b"}, {"q": "0@x"}, {"from": 1, "to": START + 3 * HOUR}], ids=str)
@pytest.mark.parametrize("limit", [1, 2, 100])
def test_an_export_has_the_listed_leads_once(
    limit: int, query: dict[str, Any], leads: dict[str, list[str]], api: Api
) -> None:
    expected = flat(walk(api, f"/v3/leads?{urlencode(query)}", 100))
    texts = exported(api, "ndjson", limit=limit, **query)
    assert [json.loads(line) for line in "".join(texts).splitlines()] == expected
    assert max(text.count("\n") for text in texts) <= limit
    (*rows,) = csv.DictReader(io.StringIO("".join(exported(api, "csv", limit=limit, **query)), newline=""))
    assert [(row["id"], row["name"], row["agentName"]) for row in rows] == [
        (one["id"], one["name"], one["agentName"]) for one in expected
    ]


def test_an_export_as_csv_runs_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "milliseconds", lambda: START * 1000)
    api.post("/v2/agents/support", {"title": "=title()"})
    given = {"name": '=HYPERLINK("x")', "email": "@sum, a\nb", "phone": "+31 (20) 551"}
    made = api.post("/v3/leads", lead_body(**given)).data
    (text,) = exported(api, "csv")
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
        texts = exported(api, form)
        assert len(texts) > 1
        assert all(len(json.dumps(text)) < 6_000_000 for text in texts)
