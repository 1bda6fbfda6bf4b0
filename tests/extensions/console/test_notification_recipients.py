"""Who receives an email about a waiting conversation depends on settings, address, organisation and rights."""

import json
import re
from typing import Any

import pytest

from chalicelib.extensions.console.notifications import preferences, recipients
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.extensions.console.mailing import BO, CONSOLE, Mailing, request_person, settings, text_of


@pytest.mark.parametrize(
    ("through", "condition", "is_notified"),
    [
        ("email", "all", True),
        ("email", None, True),
        ("email", "assigned", False),
        ("email", "", False),
        ("sms", "all", False),
        (None, "all", False),
        (None, None, False),
    ],
)
def test_the_settings_decide(through: str | None, condition: str | None, is_notified: bool) -> None:
    assert preferences.by_email(settings(through, condition)) == is_notified


def test_a_client_without_settings_gets_no_mail(mailing: Mailing, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"notificationsSettings": None})
    request_person(workspace_api, "ann")
    mailing.happen()
    assert mailing.mails == []


@pytest.mark.parametrize(
    "change",
    [
        {"orgId": "unknown"},
        {"orgId": None},
        {"orgId": "no # identifier"},
        {"email": None},
        {"email": "bo@acme.test, eve@evil.test"},
        {"canAccess": []},
        {"canAccess": ["/leads"]},
    ],
    ids=lambda value: json.dumps(value),
)
def test_who_sees_nothing_or_has_no_address_gets_no_mail(
    change: dict[str, Any], mailing: Mailing, workspace_api: Api
) -> None:
    assert workspace_api.post("/v2/clients/bo", change).status == 200
    request_person(workspace_api, "ann")
    mailing.happen()
    assert (mailing.mails, mailing.failures) == ([], 0)


def test_only_a_plain_address_is_an_address() -> None:
    refused = (
        *("bo@acme.test, eve@evil.test", "bo@acme.test\nBcc: eve@evil.test", "Bo <bo@acme.test>", "bø@acme.test"),
        *("bo..smit@acme.test", ".bo@acme.test", "=?utf-8?q?bo?=@acme.test", f"{'b' * 65}@acme.test", "", "bo@acme"),
    )
    assert [one for one in (*refused, "bo.smit+x@acme.test") if recipients._ADDRESS.fullmatch(one)] == [
        "bo.smit+x@acme.test"
    ]


def test_who_may_open_only_the_overview_is_led_there(
    mailing: Mailing, workspace: NewWorkspace, workspace_api: Api
) -> None:
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/overview"]})
    request_person(workspace_api, "ann")
    mailing.happen()
    text = text_of(mailing.mails[0])
    assert f"{CONSOLE}/{workspace.workspace_id}/overview" in text
    assert "/convos/" not in text


def test_only_people_of_the_organisation_of_the_agent_get_a_mail(
    mailing: Mailing, workspace_api: Api, other_workspace: NewWorkspace
) -> None:
    workspace_api.post("/v2/orgs/rival", {"name": "Rival", "widgetIDs": ["other"]})
    workspace_api.post("/v2/clients/lee", {"orgId": "rival", "email": "lee@rival.test", **settings()})
    workspace_api.post("/v2/clients/kim", {"orgId": "acme", "email": "kim@acme.test", **settings()})
    foreign = Api(other_workspace.workspace_key)
    foreign.post("/v2/agents/support", {"title": "Foreign"})
    foreign.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support"]})
    foreign.post("/v2/clients/bo", {"orgId": "acme", "email": "foreign@other.test", **settings()})
    request_person(workspace_api, "ann")
    mailing.happen()
    assert len(mailing.groups) == 3  # the message from the stream, and a message for each recipient
    assert sorted(mailing.recipients) == [BO, "kim@acme.test"]
    request_person(workspace_api, "bob", agent="other")
    mailing.happen(400)
    assert mailing.recipients[2:] == ["lee@rival.test"]
    assert "/convos/other/bob" in text_of(mailing.mails[2])
    assert "ann" not in text_of(mailing.mails[2])


def test_a_mail_lists_only_conversations_of_the_persons_agents(mailing: Mailing, workspace_api: Api) -> None:
    request_person(workspace_api, "bob", agent="other")
    request_person(workspace_api, "ann")
    mailing.happen()
    assert re.findall(r"/convos/\w+/\w+", text_of(mailing.mails[0])) == ["/convos/support/ann"]


def test_all_clients_of_a_large_workspace_are_found(
    mailing: Mailing, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipients, "PORTION", 2)
    for number in range(7):
        client = {"orgId": "acme", "email": f"{number}@acme.test", **settings()}
        workspace_api.post(f"/v2/clients/client{number}", client)
    request_person(workspace_api, "ann")
    mailing.happen()
    assert sorted(mailing.recipients) == sorted([BO, *(f"{number}@acme.test" for number in range(7))])


@pytest.mark.parametrize("end", ["client", "suspended", "sender"])
def test_who_is_gone_gets_no_mail(
    end: str,
    mailing: Mailing,
    workspace: NewWorkspace,
    workspace_api: Api,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request_person(workspace_api, "ann")
    if end == "client":
        workspace_api.delete("/v3/clients/bo")
    elif end == "suspended":
        workspaces.change_status(workspace.workspace_id, (None,), workspaces.SUSPENDED)
    else:
        monkeypatch.delenv("CAMS_MAIL_SENDER")
    mailing.happen()
    assert (mailing.mails, mailing.failures) == ([], 0)
    assert mailing.groups == ([] if end == "sender" else mailing.groups)


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["other"]}),
        ("/v2/clients/bo", {"orgId": "rival"}),
        ("/v2/clients/bo", {"canAccess": ["/leads"]}),
        ("/v2/clients/bo", settings(None, None)),
    ],
    ids=json.dumps,
)
def test_who_lost_the_right_before_the_digest_gets_none(
    path: str, change: dict[str, Any], mailing: Mailing, workspace_api: Api
) -> None:
    workspace_api.post("/v2/orgs/rival", {"name": "Rival", "widgetIDs": ["other"]})
    request_person(workspace_api, "ann")
    mailing.happen()
    request_person(workspace_api, "bob")
    mailing.happen(60)
    assert len(mailing.queued) == 1
    workspace_api.post(path, change)
    mailing.run(900)
    assert (len(mailing.mails), mailing.queued) == (1, [])
