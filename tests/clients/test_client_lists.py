"""Lists of clients, and clients whose ids are generated."""

from urllib.parse import urlencode

import pytest

from chalicelib.http import pages
from chalicelib.ids import ULID
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import refused, stored
from tests.listed_pages import flatten, read_pages


@pytest.mark.parametrize("is_put", [True, False], ids=["v2", "v3"])
def test_a_new_client_gets_an_id_and_owns_its_email(is_put: bool, workspace: NewWorkspace, api: Api) -> None:
    members = {"name": "Ann", "email": "ann@x.test", "ID": "ignored"}
    method, path, body = ("PUT", "/v2/clients", members) if is_put else ("POST", "/v3/clients", {"client": members})
    answer = api.call(method, path, body)
    assert answer.json["message"] == "Client created successfully"
    made = answer.data
    assert ULID.fullmatch(made["ID"])
    assert made == {**members, "ID": made["ID"], "ownerID": workspace.workspace_id, "orgUsers": []}
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

    def list_ids(**query: str) -> str:
        return "".join(one["ID"] for one in flatten(read_pages(api, f"/v3/clients?{urlencode(query)}", 2)))

    assert list_ids() == "abcd"
    assert (list_ids(q="änne"), list_ids(q="X.TEST"), list_ids(q="none")) == ("ab", "b", "")
    assert (list_ids(orgId="acme"), list_ids(orgId="ac"), list_ids(orgId="acme", q="bo")) == ("ac", "", "c")


def test_a_page_without_a_match_leads_on(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        api.post(f"/v2/clients/c{number}", {"name": "last" if number == 6 else "x"})
    monkeypatch.setattr(pages, "MAX_EXAMINED", 3)
    assert [[one["ID"] for one in page] for page in read_pages(api, "/v3/clients?q=last", 2)] == [[], [], ["c6"]]


def test_a_token_with_scopes_sees_no_password(api: Api) -> None:
    token = api.post("/v3/tokens", {"token": {"name": "x", "scopes": ["clients:write"]}}).data["token"]
    made = Api(token).post("/v3/clients", {"client": {"name": "Ann", "dashboardPassword": "the secret"}}).data
    (listed,) = Api(token).get("/v3/clients").data
    assert listed == made
    assert "dashboardPassword" not in made
    assert api.get("/v3/clients").data == [{**made, "dashboardPassword": "the secret"}]
