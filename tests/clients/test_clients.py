"""Clients over HTTP, their stored rows, and the rows that claim their emails (§2.9, §4.2)."""

import random
from base64 import b64encode
from typing import Any

import pytest

from chalicelib import storage
from chalicelib.clients import store
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import canonical, refused, stored
from tests.contract.member_table import document
from tests.direct_writes import before_each_commit

READ_ONLY = ("ID", "ownerID", "orgUsers")


@pytest.fixture
def other_api(other_workspace: NewWorkspace) -> Api:
    """Return an API client for another workspace."""
    return Api(other_workspace.workspace_key)


def noise(length: int) -> str:
    """Return incompressible text."""
    return b64encode(random.Random(length).randbytes(length)).decode()[:length]


def save(api: Api, client_id: str, **members: Any) -> None:
    answer = api.post(f"/v2/clients/{client_id}", members)
    # `tests/organisations/test_unknown_ids.py` tests the warnings about unknown ids.
    assert answer.json.keys() <= {"success", "message", "warnings"}
    assert (answer.json["success"], answer.json["message"]) == (True, "Client updated successfully"), answer.text


def read(api: Api, client_id: str) -> Any:
    return api.get(f"/v2/clients/{client_id}").data


def stored_client(workspace: NewWorkspace, client_id: str) -> Any:
    return store.read(workspace.workspace_id, client_id).open()


def owners(*of: NewWorkspace) -> list[str]:
    """Return each email's owner from the stored claims."""
    ids = {workspace.workspace_id for workspace in of}
    claims = [item for item in stored()["cams-clients"] if "owner" in item]
    return sorted(claim["owner"]["S"] for claim in claims if claim["workspace"]["S"].split("#")[0] in ids)


# Create, edit, read


def test_a_client_is_created_and_read(workspace: NewWorkspace, api: Api) -> None:
    save(api, "ann", name="Ann", email="Ann@x.test", canAccess=["/overview"])
    answer = api.get("/v2/clients/ann")

    given = {"name": "Ann", "email": "Ann@x.test", "canAccess": ["/overview"]}
    assert answer.json["message"] == "Client retrieved successfully"
    assert answer.data == {"ID": "ann", "ownerID": workspace.workspace_id, "orgUsers": [], **given}
    assert stored_client(workspace, "ann") == given


def test_a_client_can_be_created_without_any_member(workspace: NewWorkspace, api: Api) -> None:
    save(api, "ann")
    assert read(api, "ann") == {"ID": "ann", "ownerID": workspace.workspace_id, "orgUsers": []}
    assert stored_client(workspace, "ann") == {}


def test_an_edit_merges_and_null_clears(workspace: NewWorkspace, api: Api) -> None:
    save(api, "ann", name="Ann", orgId="o", notificationsSettings={"notifyThrough": "email", "notifyIf": "all"})
    save(api, "ann", name="Anna", orgId=None, notificationsSettings={"notifyIf": "none"})
    after = {"name": "Anna", "notificationsSettings": {"notifyThrough": "email", "notifyIf": "none"}}
    assert stored_client(workspace, "ann") == after
    assert read(api, "ann").items() >= after.items()


def test_a_client_has_a_language_and_a_time_zone(workspace: NewWorkspace, api: Api) -> None:
    save(api, "ann", preferredLanguage="de", timezone="America/Argentina/Buenos_Aires")
    assert (read(api, "ann")["preferredLanguage"], read(api, "ann")["timezone"]) == (
        "de", "America/Argentina/Buenos_Aires",
    )  # fmt: skip
    save(api, "ann", preferredLanguage=None, timezone=None)
    assert not {"preferredLanguage", "timezone"} & stored_client(workspace, "ann").keys()


@pytest.mark.parametrize("zone", ["", "Mars/Base", "America", "../UTC", "UTC\0", "Europe/Amsterdam ", 5])
def test_any_other_time_zone_is_refused(zone: Any, api: Api) -> None:
    message = refused(api.post("/v2/clients/ann", {"timezone": zone}), 400, "timezone")
    assert message.startswith("timezone must be") and str(zone or "Mars") not in message
    refused(api.post("/v3/clients", {"client": {"timezone": zone}}), 400, "client.timezone")


def test_a_read_returns_the_password(api: Api) -> None:
    save(api, "ann", dashboardPassword="correct horse")
    assert read(api, "ann")["dashboardPassword"] == "correct horse"
    assert [client["dashboardPassword"] for client in api.get("/v2/clients").data] == ["correct horse"]


def test_read_only_members_are_accepted_and_ignored(workspace: NewWorkspace, api: Api) -> None:
    save(api, "ann", ID="bob", ownerID="me", orgUsers=[1], name="Ann")
    assert read(api, "ann") == {"ID": "ann", "ownerID": workspace.workspace_id, "orgUsers": [], "name": "Ann"}
    assert stored_client(workspace, "ann") == {"name": "Ann"}
    refused(api.get("/v2/clients/bob"), 404)


@pytest.mark.parametrize("whole", [True, False], ids=["whole numbers", "fractions"])
def test_every_member_is_stored_and_returned_unchanged(whole: bool, workspace: NewWorkspace, api: Api) -> None:
    sent = document("client", whole=whole)
    save(api, "ann", **sent)
    expected = {name: value for name, value in sent.items() if name not in READ_ONLY}
    assert canonical(stored_client(workspace, "ann")) == canonical(expected)
    shown = read(api, "ann")
    assert canonical({name: shown[name] for name in expected}) == canonical(expected)


def test_saving_an_unchanged_client_writes_nothing(api: Api) -> None:
    save(api, "ann", **document("client", whole=True))
    shown, before = read(api, "ann"), stored()
    save(api, "ann", **shown)
    assert stored() == before


def test_an_unknown_client_is_not_found(api: Api) -> None:
    assert refused(api.get("/v2/clients/unknown"), 404) == "There is no such client."


def test_another_workspace_s_client_is_not_found_and_not_edited(
    workspace: NewWorkspace, api: Api, other_api: Api
) -> None:
    save(api, "ann", name="Ann")
    refused(other_api.get("/v2/clients/ann"), 404)
    save(other_api, "ann", name="Theirs")
    assert stored_client(workspace, "ann") == {"name": "Ann"}
    assert [client["name"] for client in other_api.get("/v2/clients").data] == ["Theirs"]


def test_a_change_is_applied_to_the_write_that_came_first(
    workspace: NewWorkspace, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(api, "ann")
    theirs = iter([{"name": "theirs"}])
    before_each_commit(monkeypatch, lambda: [save(api, "ann", **change) for change in theirs])
    save(api, "ann", orgId="ours")
    assert stored_client(workspace, "ann") == {"name": "theirs", "orgId": "ours"}


def test_a_too_large_client_is_refused_and_not_stored(api: Api) -> None:
    save(api, "ann", name="Ann")
    before = stored()
    refused(api.post("/v2/clients/ann", {"email": "a@x.test", "squarePhotoURL": noise(600_000)}), 413)
    assert stored() == before


# List


def test_the_list_has_every_client_ordered_by_id(workspace: NewWorkspace, api: Api) -> None:
    """The clients do not fit in one query response, which is limited to 1 MB."""
    ids = [f"c{number:03}" for number in range(310)]
    for client_id in reversed(ids):
        with storage.unit_of_work():
            store.save(store.new(workspace.workspace_id, client_id), {}, {"name": noise(5_000)})
    save(api, ids[7], email="a@x.test")
    answer = api.get("/v2/clients")
    assert answer.json["message"] == "Clients retrieved successfully"
    assert [client["ID"] for client in answer.data] == ids


def test_the_list_returns_the_same_records_as_a_read(api: Api) -> None:
    save(api, "ann", name="Ann", email="ann@x.test")
    assert api.get("/v2/clients").data == [read(api, "ann")]


def test_the_list_of_a_workspace_without_clients_is_empty(api: Api) -> None:
    assert api.get("/v2/clients").data == []


# An email belongs to only one client in a workspace


@pytest.mark.parametrize(("taker", "email"), [("new", "ann@x.test"), ("bob", "ANN@X.TEST"), ("new", " ann@x.test ")])
def test_a_taken_email_is_refused_and_changes_nothing(taker: str, email: str, api: Api) -> None:
    save(api, "ann", email="ann@x.test")
    save(api, "bob", name="Bob", email="bob@x.test")
    before = stored()
    assert refused(api.post(f"/v2/clients/{taker}", {"name": "x", "email": email}), 409, code="EMAIL_TAKEN") == (
        "email belongs to another client of this workspace; use a different email."
    )
    assert stored() == before


@pytest.mark.parametrize(
    "released",
    [
        pytest.param({"email": None}, id="cleared"),
        pytest.param({"email": ""}, id="emptied"),
        pytest.param({"email": "other@x.test"}, id="changed"),
    ],
)
def test_a_released_email_can_be_taken(released: Any, api: Api) -> None:
    save(api, "ann", email="a@x.test")
    save(api, "ann", **released)
    save(api, "bob", email="A@x.test")
    assert read(api, "bob")["email"] == "A@x.test"
    refused(api.post("/v2/clients/ann", {"email": "a@x.test"}), 409, code="EMAIL_TAKEN")


def test_two_clients_can_swap_emails_through_a_third_email(workspace: NewWorkspace, api: Api) -> None:
    save(api, "ann", email="a@x.test")
    save(api, "bob", email="b@x.test")
    for client_id, email in (("ann", "c@x.test"), ("bob", "a@x.test"), ("ann", "b@x.test")):
        save(api, client_id, email=email)
    assert owners(workspace) == ["ann", "bob"]
    assert [client["email"] for client in api.get("/v2/clients").data] == ["b@x.test", "a@x.test"]


def test_a_client_may_change_the_case_of_its_email(workspace: NewWorkspace, api: Api) -> None:
    save(api, "ann", email="ann@x.test")
    save(api, "ann", email="Ann@X.test", name="Ann")
    assert read(api, "ann")["email"] == "Ann@X.test"
    assert owners(workspace) == ["ann"]


def test_several_clients_may_have_no_email(workspace: NewWorkspace, api: Api) -> None:
    for client_id, email in (("a", None), ("b", None), ("c", ""), ("d", ""), ("e", "  "), ("f", " ")):
        save(api, client_id, email=email)
    assert len(api.get("/v2/clients").data) == 6
    assert owners(workspace) == []


def test_two_workspaces_may_have_clients_with_the_same_email(
    workspace: NewWorkspace, other_workspace: NewWorkspace, api: Api, other_api: Api
) -> None:
    for one in (api, other_api):
        save(one, "ann", email="ann@x.test")
    assert [read(one, "ann")["email"] for one in (api, other_api)] == ["ann@x.test"] * 2
    assert owners(workspace, other_workspace) == ["ann", "ann"]


def test_one_of_two_clients_that_take_an_email_concurrently_is_refused(
    workspace: NewWorkspace, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(api, "ann", name="Ann")
    save(api, "bob", name="Bob")
    theirs = iter([{"email": "both@x.test"}])
    before_each_commit(monkeypatch, lambda: [save(api, "bob", **change) for change in theirs])
    refused(api.post("/v2/clients/ann", {"email": "both@x.test"}), 409, code="EMAIL_TAKEN")
    assert "email" not in read(api, "ann")
    assert owners(workspace) == ["bob"]


def test_a_new_email_is_applied_to_the_write_that_came_first(
    workspace: NewWorkspace, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(api, "ann", email="old@x.test")
    theirs = iter([{"name": "theirs", "email": "theirs@x.test"}])
    before_each_commit(monkeypatch, lambda: [save(api, "ann", **change) for change in theirs])
    save(api, "ann", email="new@x.test")
    assert stored_client(workspace, "ann") == {"name": "theirs", "email": "new@x.test"}
    for free in ("old@x.test", "theirs@x.test"):
        save(api, "bob", email=free)
    assert owners(workspace) == ["ann", "bob"]
