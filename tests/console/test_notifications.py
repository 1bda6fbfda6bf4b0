"""Mails to people whose conversations wait: who gets one, when, and what is in it."""

import json
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from chalicelib import clock, storage
from chalicelib.console import sessions
from chalicelib.console.notifications import allowance, inbox, mail, people
from chalicelib.conversations import requested
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests import moto_tables
from tests.api import Api
from tests.capacity import metered
from tests.conftest import PassTime
from tests.console.browser import Browser
from tests.console.conftest import PASSWORD
from tests.console.notified import (
    CONSOLE,
    Crash,
    Notified,
    notice_rows,
    request_person,
    settings,
    take_over,
    text_of,
)
from tests.selection import whole

BO = "bo@acme.test"
# The position of the mail in the calls of a notification.
SEND = 10


@pytest.fixture
def notified(workspace_api: Api, monkeypatch: pytest.MonkeyPatch, pass_time: PassTime) -> Notified:
    """The functions, with a client who wants mails."""
    assert workspace_api.post("/v2/clients/bo", settings()).status == 200
    return Notified(monkeypatch, pass_time)


# ---- when ------------------------------------------------------------------------------------------


def test_a_request_for_a_person_is_one_mail(notified: Notified, workspace: NewWorkspace, workspace_api: Api) -> None:
    made = workspace_api.post("/v3/agents/support/convos", {"conversation": {"title": "A broken lamp"}})
    request_person(workspace_api, made.data["id"], userName="Ann")
    notified.happen()
    (mail,) = notified.mails
    assert notified.recipients == [BO]
    assert mail["Subject"] == "A conversation waits for a person"
    assert mail["To"] == f"Bo de Vries <{BO}>"
    assert mail["From"] == "CAMS <notifications@cams.test>"
    link = f"{CONSOLE}/{workspace.workspace_id}/convos/support/{made.data['id']}"
    for kind in ("plain", "html"):
        for expected in ("Ann", "A broken lamp", "Support", link):
            assert expected in text_of(mail, kind)
    notified.run(900)
    assert len(notified.mails) == 1
    assert set(notified.groups) == {workspace.workspace_id}


def test_other_changes_are_no_mail(notified: Notified, workspace_api: Api) -> None:
    take_over(workspace_api, "ann")
    workspace_api.post("/agents/support/interact/bob/state", {"turns": []})
    notified.happen(900)
    assert (notified.mails, notified.groups) == ([], [])


def test_twenty_requests_in_five_minutes_are_a_mail_and_a_digest(notified: Notified, workspace_api: Api) -> None:
    for number in range(20):
        request_person(workspace_api, f"visitor{number}")
        notified.happen(14)
    assert len(notified.mails) == 1
    notified.run(320)
    first, digest = notified.mails
    assert (first["Subject"], digest["Subject"]) == (
        "A conversation waits for a person",
        "20 conversations wait for a person",
    )
    assert notified.sent_at[1] - notified.sent_at[0] >= 300_000
    notified.run(3_600)
    assert len(notified.mails) == 2
    assert notified.queued == []


def test_a_digest_lists_at_most_twenty_newest_first(
    notified: Notified, workspace: NewWorkspace, workspace_api: Api, pass_time: PassTime
) -> None:
    for number in range(23):
        request_person(workspace_api, f"visitor{number:02}")
        pass_time(1)
    notified.happen()
    listed = re.findall(r"/convos/support/(visitor\d\d)", text_of(notified.mails[0]))
    assert listed == [f"visitor{number:02}" for number in reversed(range(3, 23))]
    assert notified.mails[0]["Subject"] == "20+ conversations wait for a person"
    for kind in ("plain", "html"):
        assert f"{CONSOLE}/{workspace.workspace_id}/convos?inbox=true" in text_of(notified.mails[0], kind)


def test_conversations_taken_over_before_the_digest_are_no_mail(notified: Notified, workspace_api: Api) -> None:
    request_person(workspace_api, "ann")
    notified.happen()
    request_person(workspace_api, "bob")
    notified.happen(60)
    take_over(workspace_api, "ann")
    take_over(workspace_api, "bob")
    notified.happen(900)
    assert len(notified.mails) == 1
    assert notified.queued == []


def test_a_conversation_taken_over_at_once_is_no_mail(notified: Notified, workspace_api: Api) -> None:
    request_person(workspace_api, "ann")
    take_over(workspace_api, "ann")
    notified.happen(900)
    assert notified.mails == []
    assert notice_rows() == []


def test_what_an_earlier_mail_listed_makes_no_other_mail(notified: Notified, workspace_api: Api) -> None:
    request_person(workspace_api, "ann")
    notified.happen(400)
    request_person(workspace_api, "bob")
    take_over(workspace_api, "bob")
    notified.happen(900)
    assert len(notified.mails) == 1


@pytest.mark.parametrize("seed", range(5))
def test_repeated_and_bisected_batches_are_one_mail(seed: int, notified: Notified, workspace_api: Api) -> None:
    for number in range(8):
        request_person(workspace_api, f"visitor{number}")
    records, order = notified.records(), random.Random(seed)
    notified.feed(*records)
    notified.run(order.randrange(5, 20))
    for _ in range(6):
        first, last = sorted(order.sample(range(len(records) + 1), 2))
        notified.feed(*records[first:last])
        notified.run(order.choice((0, 7, 100, 400)))
    notified.run(900)
    assert len(notified.mails) == 1


# ---- who -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("through", "condition", "count"),
    [
        ("email", "all", 1),
        ("email", None, 1),
        ("email", "assigned", 0),
        ("email", "", 0),
        ("sms", "all", 0),
        (None, "all", 0),
        (None, None, 0),
    ],
)
def test_the_settings_decide(
    through: str | None, condition: str | None, count: int, notified: Notified, workspace_api: Api
) -> None:
    workspace_api.post("/v2/clients/bo", settings(through, condition))
    request_person(workspace_api, "ann")
    notified.happen()
    assert len(notified.mails) == count


def test_a_client_without_settings_gets_no_mail(notified: Notified, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"notificationsSettings": None})
    request_person(workspace_api, "ann")
    notified.happen()
    assert notified.mails == []


@pytest.mark.parametrize(
    "change",
    [
        {"orgId": "unknown"},
        {"orgId": None},
        {"orgId": "no # identifier"},
        {"email": None},
        {"email": "bo@acme.test, eve@evil.test"},
        {"email": "bo@acme.test\nBcc: eve@evil.test"},
        {"email": "Bo <bo@acme.test>"},
        {"email": "bø@acme.test"},
        {"email": "bo..smit@acme.test"},
        {"email": ".bo@acme.test"},
        {"email": "=?utf-8?q?bo?=@acme.test"},
        {"email": f"{'b' * 65}@acme.test"},
        {"canAccess": []},
        {"canAccess": ["/leads"]},
    ],
    ids=lambda one: json.dumps(one),
)
def test_who_sees_nothing_or_has_no_address_gets_no_mail(
    change: dict[str, Any], notified: Notified, workspace_api: Api
) -> None:
    assert workspace_api.post("/v2/clients/bo", change).status == 200
    request_person(workspace_api, "ann")
    notified.happen()
    assert (notified.mails, notified.failures) == ([], 0)


def test_who_may_open_only_the_overview_is_led_there(
    notified: Notified, workspace: NewWorkspace, workspace_api: Api
) -> None:
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/overview"]})
    request_person(workspace_api, "ann")
    notified.happen()
    text = text_of(notified.mails[0])
    assert f"{CONSOLE}/{workspace.workspace_id}/overview" in text
    assert "/convos/" not in text


def test_only_people_of_the_organisation_of_the_agent_get_a_mail(
    notified: Notified, workspace_api: Api, other_workspace: NewWorkspace
) -> None:
    workspace_api.post("/v2/orgs/rival", {"name": "Rival", "widgetIDs": ["other"]})
    workspace_api.post("/v2/clients/lee", {"orgId": "rival", "email": "lee@rival.test", **settings()})
    workspace_api.post("/v2/clients/kim", {"orgId": "acme", "email": "kim@acme.test", **settings()})
    foreign = Api(other_workspace.workspace_key)
    foreign.post("/v2/agents/support", {"title": "Foreign"})
    foreign.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support"]})
    foreign.post("/v2/clients/bo", {"orgId": "acme", "email": "foreign@other.test", **settings()})
    request_person(workspace_api, "ann")
    notified.happen()
    assert len(notified.groups) == 3  # that of the stream, and one for each
    assert sorted(notified.recipients) == [BO, "kim@acme.test"]
    request_person(workspace_api, "bob", agent="other")
    notified.happen(400)
    assert notified.recipients[2:] == ["lee@rival.test"]
    assert "/convos/other/bob" in text_of(notified.mails[2])
    assert "ann" not in text_of(notified.mails[2])


def test_a_mail_lists_only_conversations_of_the_persons_agents(notified: Notified, workspace_api: Api) -> None:
    request_person(workspace_api, "bob", agent="other")
    request_person(workspace_api, "ann")
    notified.happen()
    assert re.findall(r"/convos/\w+/\w+", text_of(notified.mails[0])) == ["/convos/support/ann"]


def test_many_other_conversations_that_wait_hide_none(
    notified: Notified, workspace_api: Api, monkeypatch: pytest.MonkeyPatch, pass_time: PassTime
) -> None:
    monkeypatch.setattr(inbox, "_PORTION", 2)
    monkeypatch.setattr("chalicelib.conversations.browse.MAX_EXAMINED", 4)
    request_person(workspace_api, "ann")
    pass_time(1)
    for number in range(11):
        request_person(workspace_api, f"visitor{number}", agent="other")
    notified.happen()
    assert len(notified.mails) == 1


@pytest.fixture
def flooded(notified: Notified, workspace_api: Api, monkeypatch: pytest.MonkeyPatch, pass_time: PassTime) -> Notified:
    """Ann has requested a person, then more visitors of another organisation than a search examines."""
    monkeypatch.setattr(inbox, "_PORTION", 2)
    monkeypatch.setattr(inbox, "_MAX_EXAMINED", 4)
    monkeypatch.setattr("chalicelib.conversations.browse.MAX_EXAMINED", 4)
    request_person(workspace_api, "ann")
    pass_time(1)
    for number in range(11):
        request_person(workspace_api, f"visitor{number}", agent="other")
    return notified


def test_a_flood_at_the_agents_of_others_loses_no_request(flooded: Notified, workspace_api: Api) -> None:
    flooded.happen()
    assert "/convos/support/ann" in text_of(flooded.mails[0])
    flooded.run(3_600)
    assert len(flooded.mails) == 1


def test_a_request_during_a_continued_search_is_in_the_next_mail(flooded: Notified, workspace_api: Api) -> None:
    flooded.happen(requested.DELAY_SECONDS - 1)
    find_waiting, others = inbox.find_waiting, ["bob"]

    def with_another_request(*arguments: Any) -> Any:
        found = find_waiting(*arguments)
        if others:
            request_person(workspace_api, others.pop())
            flooded.feed(*flooded.records())
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inbox, "find_waiting", with_another_request)
        flooded.run(3_600)
    assert [re.findall(r"/convos/support/(\w+)", text_of(one)) for one in flooded.mails] == [["ann"], ["bob"]]
    assert flooded.sent_at[1] - flooded.sent_at[0] >= 300_000


def test_a_search_ends_where_the_last_mail_began(
    notified: Notified, workspace: NewWorkspace, workspace_api: Api
) -> None:
    for number in range(22):
        request_person(workspace_api, f"visitor{number}")
    notified.happen(600)
    notified.invoke(json.dumps(["notify", workspace.workspace_id, "bo", clock.milliseconds() - 8_000]))
    assert (len(notified.mails), notified.queued) == (1, [])


def test_a_search_ends_an_hour_before_the_request(
    flooded: Notified, workspace: NewWorkspace, workspace_api: Api
) -> None:
    take_over(workspace_api, "ann")
    flooded.happen()
    later = clock.milliseconds() + 3_700_000
    with metered() as meter:
        flooded.invoke(json.dumps(["notify", workspace.workspace_id, "bo", later]))
    assert (flooded.mails, flooded.queued, meter.requests["Query"]) == ([], [], 2)


def test_all_clients_of_a_large_workspace_are_found(
    notified: Notified, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people, "PORTION", 2)
    for number in range(7):
        client = {"orgId": "acme", "email": f"{number}@acme.test", **settings()}
        workspace_api.post(f"/v2/clients/client{number}", client)
    request_person(workspace_api, "ann")
    notified.happen()
    assert sorted(notified.recipients) == sorted([BO, *(f"{number}@acme.test" for number in range(7))])


@pytest.mark.parametrize("end", ["client", "suspended", "sender"])
def test_who_is_gone_gets_no_mail(
    end: str, notified: Notified, workspace: NewWorkspace, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_person(workspace_api, "ann")
    if end == "client":
        workspace_api.delete("/v3/clients/bo")
    elif end == "suspended":
        workspaces.change_status(workspace.workspace_id, (None,), workspaces.SUSPENDED)
    else:
        monkeypatch.delenv("CAMS_MAIL_SENDER")
    notified.happen()
    assert (notified.mails, notified.failures) == ([], 0)
    assert notified.groups == ([] if end == "sender" else notified.groups)


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
    path: str, change: dict[str, Any], notified: Notified, workspace_api: Api
) -> None:
    workspace_api.post("/v2/orgs/rival", {"name": "Rival", "widgetIDs": ["other"]})
    request_person(workspace_api, "ann")
    notified.happen()
    request_person(workspace_api, "bob")
    notified.happen(60)
    assert len(notified.queued) == 1
    workspace_api.post(path, change)
    notified.run(900)
    assert (len(notified.mails), notified.queued) == (1, [])


# ---- faults ----------------------------------------------------------------------------------------


@contextmanager
def crashing(at: int, after: bool) -> Iterator[list[str]]:
    """End the process at a call of the SDK, counted from 0, before or after it; the list has the calls."""
    calls: list[str] = []
    call = BaseClient._make_api_call

    def crash(client: BaseClient, operation: str, parameters: Any) -> Any:
        calls.append(operation)
        is_here = len(calls) == at + 1
        if is_here and not after:
            raise Crash
        answer = call(client, operation, parameters)
        if is_here:
            raise Crash
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseClient, "_make_api_call", crash)
        yield calls


def calls_of_a_notification(notified: Notified) -> list[str]:
    """The calls between a request and its mail."""
    with crashing(-1, after=False) as calls:
        notified.run(requested.DELAY_SECONDS)
    return calls


@whole
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(SEND + 2))
def test_a_crash_loses_no_mail_and_sends_none_twice_at_once(
    at: int, after: bool, notified: Notified, workspace_api: Api
) -> None:
    request_person(workspace_api, "ann")
    notified.feed(*notified.records())
    with crashing(at, after) as calls:
        notified.run(requested.DELAY_SECONDS)
    assert notified.failures == 1, calls
    notified.run(3_600)
    # A mail that may not have left is sent again after the interval, if the conversation still waits.
    is_unknown = (at, after) == (SEND, True) or (at, after) == (SEND + 1, False)
    assert len(notified.mails) == (2 if is_unknown else 1), calls
    times = notified.sent_at
    assert all(later - earlier >= 300_000 for earlier, later in pairwise(times))


@whole
def test_the_sweep_of_crashes_is_complete(notified: Notified, workspace_api: Api) -> None:
    request_person(workspace_api, "ann")
    notified.feed(*notified.records())
    calls = calls_of_a_notification(notified)
    assert calls.index("SendRawEmail") == SEND
    assert calls[SEND - 1 :] == ["PutItem", "SendRawEmail", "PutItem"]


def test_after_a_mail_of_unknown_outcome_nothing_follows_if_all_are_taken_over(
    notified: Notified, workspace_api: Api
) -> None:
    request_person(workspace_api, "ann")
    notified.feed(*notified.records())
    with crashing(SEND, after=True) as calls:
        notified.run(requested.DELAY_SECONDS)
    assert calls[-1] == "SendRawEmail"
    take_over(workspace_api, "ann")
    notified.run(3_600)
    assert len(notified.mails) == 1


@pytest.mark.parametrize(("code", "failures"), [("MessageRejected", 0), ("Throttling", 1)])
def test_a_mail_that_ses_does_not_take(
    code: str, failures: int, notified: Notified, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = BaseClient._make_api_call

    def refuse(client: BaseClient, operation: str, parameters: Any) -> Any:
        if operation == "SendRawEmail":
            raise ClientError({"Error": {"Code": code, "Message": ""}}, operation)
        return call(client, operation, parameters)

    request_person(workspace_api, "ann")
    notified.feed(*notified.records())
    with monkeypatch.context() as patch:
        patch.setattr(BaseClient, "_make_api_call", refuse)
        notified.run(requested.DELAY_SECONDS)
    assert notified.failures == failures
    notified.run(900)
    assert len(notified.mails) == failures


def test_while_the_sender_is_not_verified_mails_wait(notified: Notified, workspace_api: Api) -> None:
    ses = storage.sdk_client("ses", attempts=1)
    ses.delete_identity(Identity="notifications@cams.test")
    request_person(workspace_api, "ann")
    notified.happen()
    assert (notified.mails, notified.failures) == ([], 1)
    ses.verify_email_identity(EmailAddress="notifications@cams.test")
    notified.run(900)
    assert len(notified.mails) == 1


# What a page says about mails that do not come.
PROBLEMS = {
    "The last mail was refused": {},
    "complete email address": {"email": "bø@acme.test"},
    "neither Conversations nor Overview": {"canAccess": ["/leads", "/settings"]},
}


def problem_of(page: str) -> list[str]:
    """The text at the field of the notifications."""
    return re.findall('<p class="error" id="wrong-notify">(.*)</p>', page)


@pytest.mark.parametrize("expected", PROBLEMS)
def test_pages_say_why_no_mail_comes(
    expected: str, notified: Notified, workspace_api: Api, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    browser.sign_in(BO, PASSWORD)
    paths = ("/account", "/settings/orgs/acme/clients/bo")
    assert [problem_of(browser.open(path).text) for path in paths] == [[], []]
    workspace_api.post("/v2/clients/bo", PROBLEMS[expected])
    request_person(workspace_api, "ann")
    with monkeypatch.context() as patch:
        patch.setattr("chalicelib.console.notifications.mail.send", refuse)
        notified.happen()
    sessions.clear_cache()
    for path in paths:
        (problem,) = problem_of(browser.open(path).text)
        assert expected in problem
    is_named = "Mails go to" in browser.open("/account").text
    assert is_named == (expected == "The last mail was refused")
    workspace_api.post("/v2/clients/bo", settings(None, None))
    sessions.clear_cache()
    assert [problem_of(browser.open(path).text) for path in paths] == [[], []]


def refuse(*_: Any) -> None:
    raise mail.Refused


def test_the_next_mail_ends_the_refusal(
    notified: Notified, workspace_api: Api, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("chalicelib.console.notifications.mail.send", refuse)
        request_person(workspace_api, "ann")
        notified.happen(400)
    request_person(workspace_api, "bob")
    notified.happen()
    browser.sign_in(BO, PASSWORD)
    assert (len(notified.mails), problem_of(browser.open("/account").text)) == (1, [])


def test_a_stage_without_mail_says_so(workspace_api: Api, browser: Browser) -> None:
    workspace_api.post("/v2/clients/bo", settings())
    browser.sign_in(BO, PASSWORD)
    assert "does not send mails yet" in problem_of(browser.open("/account").text)[0]


def test_a_workspace_sends_a_limited_number_of_mails_a_day(
    notified: Notified, workspace: NewWorkspace, workspace_api: Api, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowance, "MAX_MAILS", 2)
    for person in ("ann", "bob", "cem"):
        request_person(workspace_api, person)
        notified.happen(400)
    assert (len(notified.mails), notified.failures, notified.queued) == (2, 0, [])
    browser.sign_in(BO, PASSWORD)
    assert "all its mails of today" in problem_of(browser.open("/account").text)[0]
    notified.run(24 * 60 * 60)
    request_person(workspace_api, "dan")
    notified.happen()
    assert all(f"/convos/support/{one}" in text_of(notified.mails[-1]) for one in ("cem", "dan"))
    sessions.clear_cache()
    assert problem_of(browser.open("/account").text) == []
    days = [row for row in moto_tables.items()["cams-workspaces"] if "mails" in row]
    assert len(days) == 2 and all("expires_at" in row for row in days)


def test_a_conversation_that_cannot_be_read_holds_up_no_mail(
    notified: Notified, workspace: NewWorkspace, workspace_api: Api
) -> None:
    for name in ("ann", "bob"):
        request_person(workspace_api, name)
    notified.feed(*notified.records())
    key = {"conversation": storage.key(workspace.workspace_id, "support", "bob"), "item": "conversation"}
    storage.sdk_client("dynamodb").update_item(
        TableName="cams-conversations",
        Key={name: {"S": value} for name, value in key.items()},
        UpdateExpression="SET summary = :damaged",
        ExpressionAttributeValues={":damaged": {"B": b"\x02damaged"}},
    )
    notified.run(requested.DELAY_SECONDS)
    assert notified.failures == 0
    assert re.findall(r"/convos/support/(\w+)", text_of(notified.mails[0])) == ["ann"]


def test_of_two_processes_at_the_same_mail_one_sends_it(
    notified: Notified, workspace: NewWorkspace, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_person(workspace_api, "ann")
    notified.run(requested.DELAY_SECONDS)
    text = json.dumps(["notify", workspace.workspace_id, "bo", clock.milliseconds() - 8_000])
    find_waiting, others = inbox.find_waiting, [text]

    def overtaken(*arguments: Any) -> Any:
        """The other process runs between the reads of the first one and its claim."""
        if others:
            notified.invoke(others.pop())
        return find_waiting(*arguments)

    monkeypatch.setattr(inbox, "find_waiting", overtaken)
    assert notified.invoke(text) == {"batchItemFailures": []}
    assert len(notified.mails) == 1
    notified.run(900)
    assert len(notified.mails) == 1


# ---- what ------------------------------------------------------------------------------------------

HOSTILE = 'Ann\r\nBcc: eve@evil.test\r\n\r\n<img src=x onerror=alert(1)> "é" \u2028\u202e'


@pytest.mark.parametrize("hostile", [HOSTILE, HOSTILE + "x" * 300], ids=["short", "long"])
def test_hostile_names_stay_text_on_one_line(hostile: str, notified: Notified, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"name": hostile})
    workspace_api.post("/v2/agents/support", {"title": hostile})
    made = workspace_api.post("/v3/agents/support/convos", {"conversation": {"title": hostile}})
    request_person(workspace_api, made.data["id"], userName=hostile, userEmail=hostile)
    notified.happen()
    (mail,) = notified.mails
    assert notified.recipients == [BO]
    assert mail["Bcc"] is None
    assert sorted(mail.keys()) == sorted(
        (
            *("Subject", "From", "To", "List-Unsubscribe", "List-Unsubscribe-Post", "Auto-Submitted"),
            *("MIME-Version", "Content-Type"),
        )
    )
    assert mail["To"].addresses[0].addr_spec == BO
    html = text_of(mail, "html")
    assert "<img" not in html and "&lt;img" in html
    plain = text_of(mail)
    assert "\u202e" not in plain + html
    shown = [line for line in plain.splitlines() if line.startswith("Ann")]
    assert len(shown) == 3 and max(map(len, shown)) < 130


def test_the_mail_is_in_the_language_of_the_organisation(notified: Notified, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "preferredLanguage": "nl"})
    request_person(workspace_api, "ann")
    notified.happen()
    (mail,) = notified.mails
    assert mail["Subject"] == "Een gesprek wacht op een medewerker"
    assert "Afmelden" in text_of(mail) and '<html lang="nl">' in text_of(mail, "html")


def test_the_mail_has_no_secret(notified: Notified, workspace: NewWorkspace, workspace_api: Api) -> None:
    agent_key = workspace_api.get("/v2/agents/support").json["SECRET_API_KEY"]
    request_person(workspace_api, "ann")
    notified.happen()
    raw = str(notified.mails[0])
    for secret in (agent_key, PASSWORD, workspace.workspace_key, workspace.access_token, workspace.workspace_secret):
        assert secret not in raw


def test_the_row_of_a_person_has_nothing_personal_and_expires(notified: Notified, workspace_api: Api) -> None:
    request_person(workspace_api, "ann", userName="Ann")
    notified.happen()
    (row,) = notice_rows()
    assert row.keys() == {"workspace", "item", "listed_at", "is_sent", "expires_at", "version_tag"}
    assert 0 < int(row["expires_at"]["N"]) - int(row["listed_at"]["N"]) // 1000 <= 24 * 60 * 60


# ---- costs -----------------------------------------------------------------------------------------


def test_a_batch_without_requests_costs_nothing_more(
    notified: Notified, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace_api.post("/agents/support/interact/ann/state", {"turns": []})
    records = notified.records()
    with metered() as quiet:
        notified.feed(*records)
    request_person(workspace_api, "bob")
    records = notified.records()
    with metered() as asking:
        notified.feed(*records)
    assert asking.requests == quiet.requests
    assert len(notified.queued) == 1


def test_a_mail_costs_eleven_requests_and_three_writes(notified: Notified, workspace_api: Api) -> None:
    request_person(workspace_api, "ann")
    notified.feed(*notified.records())
    with metered() as meter:
        notified.run(requested.DELAY_SECONDS)
    assert len(notified.mails) == 1
    assert (dict(meter.requests), meter.reads, meter.writes) == (
        {"Query": 2, "BatchGetItem": 3, "GetItem": 3, "PutItem": 2, "UpdateItem": 1},
        7.0,
        3,
    )


def test_the_link_of_a_mail_arrives_signed_in(notified: Notified, workspace_api: Api, browser: Browser) -> None:
    request_person(workspace_api, "ann", userName="Ann")
    notified.happen()
    (path,) = re.findall(r"/convos/support/ann", text_of(notified.mails[0]))
    browser.sign_in(BO, PASSWORD)
    cookie, browser.cookie = browser.cookie, ""  # a strict cookie does not come with a link from elsewhere
    assert "refresh" in browser.open(path, **{"Sec-Fetch-Site": "cross-site"}).text
    browser.cookie = cookie
    assert "Ann" in browser.open(path, **{"Sec-Fetch-Site": "same-origin"}).text
