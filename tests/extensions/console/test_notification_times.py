"""The delay between a request for a person and its email, and the requests that share an email."""

import random
import re

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.console.mailing import (
    BO,
    CONSOLE,
    Mailing,
    notice_rows,
    request_person,
    take_over,
    text_of,
)


def test_a_request_for_a_person_is_one_mail(mailing: Mailing, workspace: NewWorkspace, workspace_api: Api) -> None:
    made = workspace_api.post("/v3/agents/support/convos", {"conversation": {"title": "A broken lamp"}})
    request_person(workspace_api, made.data["id"], userName="Ann")
    mailing.happen()
    (mail,) = mailing.mails
    assert mailing.recipients == [BO]
    assert mail["Subject"] == "A conversation is waiting for a person"
    assert mail["To"] == f"Bo de Vries <{BO}>"
    assert mail["From"] == "CAMS <notifications@cams.test>"
    link = f"{CONSOLE}/{workspace.workspace_id}/convos/support/{made.data['id']}"
    for kind in ("plain", "html"):
        for expected in ("Ann", "A broken lamp", "Support", link):
            assert expected in text_of(mail, kind)
    mailing.run(900)
    assert len(mailing.mails) == 1
    assert set(mailing.groups) == {workspace.workspace_id}


def test_other_changes_are_no_mail(mailing: Mailing, workspace_api: Api) -> None:
    take_over(workspace_api, "ann")
    workspace_api.post("/agents/support/interact/bob/state", {"turns": []})
    mailing.happen(900)
    assert (mailing.mails, mailing.groups) == ([], [])


def test_twenty_requests_in_five_minutes_are_a_mail_and_a_digest(mailing: Mailing, workspace_api: Api) -> None:
    for number in range(20):
        request_person(workspace_api, f"visitor{number}")
        mailing.happen(14)
    assert len(mailing.mails) == 1
    mailing.run(320)
    first, digest = mailing.mails
    assert (first["Subject"], digest["Subject"]) == (
        "A conversation is waiting for a person",
        "20 conversations are waiting for a person",
    )
    assert mailing.sent_at[1] - mailing.sent_at[0] >= 300_000
    mailing.run(3_600)
    assert len(mailing.mails) == 2
    assert mailing.queued == []


def test_a_digest_lists_the_twenty_longest_waits_and_counts_the_others(
    mailing: Mailing, workspace: NewWorkspace, workspace_api: Api, pass_time: PassTime
) -> None:
    for number in range(23):
        request_person(workspace_api, f"visitor{number:02}")
        pass_time(1)
    mailing.happen()
    listed = re.findall(r"/convos/support/(visitor\d\d)", text_of(mailing.mails[0]))
    assert listed == [f"visitor{number:02}" for number in range(20)]
    assert mailing.mails[0]["Subject"] == "23 conversations are waiting for a person"
    for kind in ("plain", "html"):
        assert f"{CONSOLE}/{workspace.workspace_id}/convos?inbox=true" in text_of(mailing.mails[0], kind)
        assert "Others that are waiting: 3" in text_of(mailing.mails[0], kind)


def test_conversations_taken_over_before_the_digest_are_no_mail(mailing: Mailing, workspace_api: Api) -> None:
    request_person(workspace_api, "ann")
    mailing.happen()
    request_person(workspace_api, "bob")
    mailing.happen(60)
    take_over(workspace_api, "ann")
    take_over(workspace_api, "bob")
    mailing.happen(900)
    assert len(mailing.mails) == 1
    assert mailing.queued == []


def test_a_conversation_taken_over_at_once_is_no_mail(mailing: Mailing, workspace_api: Api) -> None:
    request_person(workspace_api, "ann")
    take_over(workspace_api, "ann")
    mailing.happen(900)
    assert mailing.mails == []
    assert notice_rows() == []


def test_what_an_earlier_mail_listed_makes_no_other_mail(mailing: Mailing, workspace_api: Api) -> None:
    request_person(workspace_api, "ann")
    mailing.happen(400)
    request_person(workspace_api, "bob")
    take_over(workspace_api, "bob")
    mailing.happen(900)
    assert len(mailing.mails) == 1


@pytest.mark.parametrize("seed", range(2))
def test_repeated_and_bisected_batches_are_one_mail(seed: int, mailing: Mailing, workspace_api: Api) -> None:
    for number in range(8):
        request_person(workspace_api, f"visitor{number}")
    records, order = mailing.records(), random.Random(seed)
    mailing.feed(*records)
    mailing.run(order.randrange(5, 20))
    for _ in range(6):
        first, last = sorted(order.sample(range(len(records) + 1), 2))
        mailing.feed(*records[first:last])
        mailing.run(order.choice((0, 7, 100, 400)))
    mailing.run(900)
    assert len(mailing.mails) == 1
