"""The search for waiting conversations: requests for other agents hide no conversation, and each search ends."""

import re
from typing import Any

import pytest

from chalicelib import clock
from chalicelib.extensions.console.notifications import handoff_notices, inbox
from chalicelib.extensions.console.queue import Notify
from chalicelib.queues.messages import pack
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.capacity import metered
from tests.conftest import PassTime
from tests.extensions.console.mailing import Mailing, request_person, take_over, text_of


def flood(workspace_api: Api, monkeypatch: pytest.MonkeyPatch, pass_time: PassTime) -> None:
    """Let Ann request a person, followed by more visitors of another organisation than one request examines."""
    monkeypatch.setattr(inbox, "_PORTION", 2)
    monkeypatch.setattr("chalicelib.conversations.filtered_lists.MAX_EXAMINED", 4)
    request_person(workspace_api, "ann")
    pass_time(1)
    for number in range(11):
        request_person(workspace_api, f"visitor{number}", agent="other")


def test_many_other_conversations_that_wait_hide_none(
    mailing: Mailing, workspace_api: Api, monkeypatch: pytest.MonkeyPatch, pass_time: PassTime
) -> None:
    flood(workspace_api, monkeypatch, pass_time)
    mailing.happen()
    assert len(mailing.mails) == 1


@pytest.fixture
def flooded(mailing: Mailing, workspace_api: Api, monkeypatch: pytest.MonkeyPatch, pass_time: PassTime) -> Mailing:
    """Let Ann request a person, followed by more visitors of another organisation than one search examines."""
    monkeypatch.setattr(inbox, "_MAX_EXAMINED", 4)
    flood(workspace_api, monkeypatch, pass_time)
    return mailing


def test_a_flood_at_the_agents_of_others_loses_no_request(flooded: Mailing, workspace_api: Api) -> None:
    flooded.happen()
    assert "/convos/support/ann" in text_of(flooded.mails[0])
    flooded.run(3_600)
    assert len(flooded.mails) == 1


def test_a_request_during_a_continued_search_is_in_the_next_mail(flooded: Mailing, workspace_api: Api) -> None:
    flooded.happen(handoff_notices.DELAY_SECONDS - 1)
    find_waiting, others = inbox.find_waiting, ["bob"]

    def with_another_request(*arguments: Any) -> Any:
        waiting = find_waiting(*arguments)
        if others:
            request_person(workspace_api, others.pop())
            flooded.feed(*flooded.records())
        return waiting

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inbox, "find_waiting", with_another_request)
        flooded.run(3_600)
    assert [re.findall(r"/convos/support/(\w+)", text_of(one)) for one in flooded.mails] == [["ann"], ["bob"]]
    assert flooded.sent_at[1] - flooded.sent_at[0] >= 300_000


def test_a_search_ends_where_the_last_mail_began(mailing: Mailing, workspace: NewWorkspace, workspace_api: Api) -> None:
    for number in range(22):
        request_person(workspace_api, f"visitor{number}")
    mailing.happen(600)
    mailing.invoke(pack(Notify(workspace.workspace_id, "bo", clock.milliseconds() - 8_000)))
    assert (len(mailing.mails), mailing.queued) == (1, [])


def test_a_search_ends_an_hour_before_the_request(
    flooded: Mailing, workspace: NewWorkspace, workspace_api: Api
) -> None:
    take_over(workspace_api, "ann")
    flooded.happen()
    later = clock.milliseconds() + 3_700_000
    with metered() as meter:
        flooded.invoke(pack(Notify(workspace.workspace_id, "bo", later)))
    assert (flooded.mails, flooded.queued, meter.requests["Query"]) == ([], [], 2)
