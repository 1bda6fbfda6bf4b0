"""Organisations over HTTP, and their stored rows (§2.10, §4.2)."""

from typing import Any

import pytest

from chalicelib.organisations import store
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import canonical, refused, stored
from tests.conftest import StopClock
from tests.contract.member_table import document
from tests.direct_writes import before_each_commit
from tests.selection import one_of_each

NOW = 1_790_000_000


def save(api: Api, **members: Any) -> None:
    answer = api.post("/v2/orgs/acme", {"name": "Acme", **members})
    # `tests/organisations/test_unknown_ids.py` tests the warnings about unknown ids.
    assert answer.json.keys() <= {"success", "message", "warnings"}
    assert (answer.json["success"], answer.json["message"]) == (True, "Organization updated successfully"), answer.text


def stored_organisation(workspace: NewWorkspace) -> Any:
    return store.read(workspace.workspace_id, "acme").open()


def test_an_organisation_is_created_and_read(workspace: NewWorkspace, api: Api, stop_clock: StopClock) -> None:
    stop_clock(NOW)
    save(api, widgetIDs=["support"], preferredLanguage="de", dashboardLayout="vertical")
    answer = api.get("/v2/orgs/acme")

    given = {"name": "Acme", "widgetIDs": ["support"], "preferredLanguage": "de", "dashboardLayout": "vertical"}
    assert answer.json["message"] == "Organization retrieved successfully"
    assert answer.data == {"ID": "acme", "userId": workspace.workspace_id, "lastModified": NOW, **given}
    assert stored_organisation(workspace) == {**given, "lastModified": NOW}


def test_an_edit_merges_and_null_clears(workspace: NewWorkspace, api: Api) -> None:
    save(api, adminIDs=["a", "b"], canSelfEdit=True, preferredLanguage="de")
    save(api, adminIDs=["c"], preferredLanguage=None)
    after = stored_organisation(workspace)
    assert (after["adminIDs"], after["canSelfEdit"], "preferredLanguage" in after) == (["c"], True, False)


@pytest.mark.parametrize(
    ("known", "body"),
    [(False, {}), (True, {"name": None}), (False, {"name": 5}), (True, {"canSelfEdit": True})],
    ids=["created without", "null", "a number", "changed without"],
)
def test_a_name_is_required_on_every_write(known: bool, body: Any, api: Api) -> None:
    if known:
        save(api)
    api.get("/v2/clients")
    before = stored()
    refused(api.post("/v2/orgs/acme", body), 400, "name")
    assert stored() == before


def test_a_language_code_of_two_letters_is_accepted(workspace: NewWorkspace, api: Api) -> None:
    save(api, preferredLanguage="zz")
    assert stored_organisation(workspace)["preferredLanguage"] == "zz"


def test_any_other_language_code_is_refused(api: Api) -> None:
    for language in ("", "d", "deu", "de-DE", "DE", "d1", "dé", "de\n", " de", 5):
        refused(api.post("/v2/orgs/acme", {"name": "Acme", "preferredLanguage": language}), 400, "preferredLanguage")


def test_an_organisation_has_a_time_zone(workspace: NewWorkspace, api: Api) -> None:
    save(api, timezone="Asia/Kolkata")
    assert stored_organisation(workspace)["timezone"] == "Asia/Kolkata"
    for zone in ("", "Mars/Base", 5):
        refused(api.post("/v2/orgs/acme", {"name": "Acme", "timezone": zone}), 400, "timezone")


@pytest.mark.parametrize("layout", ["vertical", "horizontal"])
def test_both_layouts_are_accepted(layout: str, workspace: NewWorkspace, api: Api) -> None:
    save(api, dashboardLayout=layout)
    assert stored_organisation(workspace)["dashboardLayout"] == layout


@one_of_each(lambda layout: type(layout))
@pytest.mark.parametrize("layout", ["", "Vertical", "diagonal", 1])
def test_any_other_layout_is_refused(layout: Any, api: Api) -> None:
    message = refused(api.post("/v2/orgs/acme", {"name": "Acme", "dashboardLayout": layout}), 400, "dashboardLayout")
    assert message == "dashboardLayout must be 'vertical' or 'horizontal'."


# lastModified


@pytest.mark.parametrize("last_modified", [0, 5, 1.5, NOW + 100])
def test_a_sent_time_of_the_last_change_is_stored(
    last_modified: float, workspace: NewWorkspace, api: Api, stop_clock: StopClock
) -> None:
    stop_clock(NOW)
    save(api, lastModified=last_modified)
    assert canonical(stored_organisation(workspace)["lastModified"]) == canonical(last_modified)
    assert canonical(api.get("/v2/orgs/acme").data["lastModified"]) == canonical(last_modified)


@pytest.mark.parametrize("left_out", [{}, {"lastModified": None}], ids=["left out", "null"])
def test_the_time_of_the_last_change_defaults_to_now(
    left_out: Any, workspace: NewWorkspace, api: Api, stop_clock: StopClock
) -> None:
    stop_clock(NOW)
    save(api, lastModified=5)
    save(api, canSelfEdit=True, **left_out)
    assert stored_organisation(workspace)["lastModified"] == NOW


def test_changing_a_read_record_updates_its_time(workspace: NewWorkspace, api: Api, stop_clock: StopClock) -> None:
    save(api, lastModified=5)
    stop_clock(NOW)
    save(api, **{**api.get("/v2/orgs/acme").data, "name": "New"})
    assert stored_organisation(workspace) == {"name": "New", "lastModified": NOW}


# Lossless round trips without unnecessary writes


def test_every_member_is_stored_and_returned_unchanged(workspace: NewWorkspace, api: Api) -> None:
    sent = document("organisation", whole=False)
    save(api, **sent)
    expected = {name: value for name, value in sent.items() if name not in ("ID", "userId")}
    assert canonical(stored_organisation(workspace)) == canonical(expected)
    shown = api.get("/v2/orgs/acme").data
    assert canonical(shown) == canonical({**expected, "ID": "acme", "userId": workspace.workspace_id})


@pytest.mark.parametrize("left_out", [True, False], ids=["without its time", "whole"])
def test_saving_an_unchanged_organisation_writes_nothing(left_out: bool, api: Api, stop_clock: StopClock) -> None:
    stop_clock(NOW)
    save(api, widgetIDs=["support"])
    shown, before = api.get("/v2/orgs/acme").data, stored()
    stop_clock(NOW + 100)
    save(api, **{name: value for name, value in shown.items() if not (left_out and name == "lastModified")})
    assert stored() == before


def test_read_only_members_are_accepted_and_ignored(workspace: NewWorkspace, api: Api) -> None:
    save(api, ID="other", userId="other")
    assert stored_organisation(workspace).keys() == {"name", "lastModified"}
    refused(api.get("/v2/orgs/other"), 404)


def test_a_change_is_applied_to_the_write_that_came_first(
    workspace: NewWorkspace, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(api)
    theirs = iter([{"canSelfEdit": True}])
    before_each_commit(monkeypatch, lambda: [save(api, **change) for change in theirs])
    save(api, adminIDs=["ours"])
    assert stored_organisation(workspace).items() >= {"canSelfEdit": True, "adminIDs": ["ours"]}.items()


# Unknown, or in another workspace


def test_an_unknown_organisation_is_not_found(api: Api) -> None:
    assert refused(api.get("/v2/orgs/unknown"), 404) == "There is no such organisation."


def test_another_workspace_s_organisation_is_not_found_and_not_edited(
    workspace: NewWorkspace, api: Api, other_workspace: NewWorkspace
) -> None:
    save(api)
    other = Api(other_workspace.workspace_key)
    refused(other.get("/v2/orgs/acme"), 404)
    save(other, name="Theirs")
    assert stored_organisation(workspace)["name"] == "Acme"
