"""Warnings about unknown ids in an organisation or a client."""

import json

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.engine_requests import counted


def warned(answer: Answer) -> list[str]:
    """Return the paths in the warnings of a successful response."""
    assert answer.status == 200, answer.text
    messages = {one["message"] for one in answer.json.get("warnings", ())}
    assert (
        not messages
        - {f"refers to no {kind} in this workspace; the value is stored as sent" for kind in KINDS}
        - {UNCHECKED}
    )
    return [one["path"] for one in answer.json.get("warnings", ())]


KINDS = ("agent", "client", "organisation")
UNCHECKED = "has more new ids than the 40 that a request looks up; the others were not checked"


@pytest.mark.parametrize("is_v2", [True, False], ids=["v2", "v3"])
def test_ids_of_an_organisation_that_name_nothing_are_warned_of(
    is_v2: bool, api: Api, other_workspace: NewWorkspace
) -> None:
    other = Api(other_workspace.workspace_key)
    for agent_id, owner in {"a": api, "deleted": api, "theirs": other}.items():
        owner.post(f"/v2/agents/{agent_id}", {})
    api.delete("/v3/agents/deleted")
    api.post("/v2/clients/ann", {})
    members = {
        "name": "Acme",
        "widgetIDs": ["a", "gone", "deleted", "theirs", "", "a", "gone", "not an id", "a#a", "x" * 2_000],
        "adminIDs": ["ann", "a"],
    }
    calls = (
        [("POST", "/v2/orgs/acme", members), ("PUT", "/v2/orgs", members)]
        if is_v2
        else [("POST", "/v3/orgs", {"organisation": members})]
    )
    for method, path, body in calls:
        prefix = "" if is_v2 else "organisation."
        answer = api.call(method, path, body)
        paths = [f"widgetIDs.{number}" for number in (1, 2, 3, 4, 6, 7, 8, 9)] + ["adminIDs.1"]
        assert warned(answer) == [f"{prefix}{one}" for one in paths]
        assert "gone" not in json.dumps(answer.json["warnings"])
    assert all(one["widgetIDs"] == members["widgetIDs"] for one in api.get("/v3/orgs").data)


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
    # The response contains 20 warnings about ids that were looked up, in the same order as in the body.
    assert warned(again) == [f"widgetIDs.{number}" for number in range(20)]
    api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": [f"a{number}" for number in range(40)]})
    for number in range(40):
        api.post(f"/v2/agents/a{number}", {})
    named = [f"a{number}" for number in range(40)]
    assert warned(api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": named})) == []
    assert warned(api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": [*named, "new"]})) == ["widgetIDs.40"]
