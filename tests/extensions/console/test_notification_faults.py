"""Crashes, SES errors, corrupt records and concurrent processes neither lose an email nor send it twice at once."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from chalicelib import clock, storage
from chalicelib.extensions.console.notifications import allowance, handoff_notices, inbox
from chalicelib.extensions.console.queue import Notify
from chalicelib.queues.messages import pack
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.extensions.console.mailing import Crash, Mailing, request_person, take_over, text_of
from tests.selection import whole

# The index, among all calls for one notification, of the call that sends the email.
SEND = 10


@contextmanager
def crashing(at: int, after: bool) -> Iterator[list[str]]:
    """Crash before or after an SDK call, counted from 0; yield the list of calls."""
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


def calls_of_a_notification(mailing: Mailing) -> list[str]:
    """Return the SDK calls between a request for a person and the email."""
    with crashing(-1, after=False) as calls:
        mailing.run(handoff_notices.DELAY_SECONDS)
    return calls


@whole
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(SEND + 2))
def test_a_crash_loses_no_mail_and_sends_none_twice_at_once(
    at: int, after: bool, mailing: Mailing, workspace_api: Api
) -> None:
    request_person(workspace_api, "ann")
    mailing.feed(*mailing.records())
    with crashing(at, after) as calls:
        mailing.run(handoff_notices.DELAY_SECONDS)
    assert mailing.failures == 1, calls
    mailing.run(3_600)
    # If it is unknown whether an email was sent, the service sends it again after the interval if the conversation
    # still waits.
    is_unknown = (at, after) == (SEND, True) or (at, after) == (SEND + 1, False)
    assert len(mailing.mails) == (2 if is_unknown else 1), calls
    times = mailing.sent_at
    assert all(later - earlier >= 300_000 for earlier, later in pairwise(times))


@whole
def test_the_sweep_of_crashes_is_complete(mailing: Mailing, workspace_api: Api) -> None:
    request_person(workspace_api, "ann")
    mailing.feed(*mailing.records())
    calls = calls_of_a_notification(mailing)
    assert calls.index("SendRawEmail") == SEND
    assert calls[SEND - 1 :] == ["PutItem", "SendRawEmail", "PutItem"]


def test_after_a_mail_of_unknown_outcome_nothing_follows_if_all_are_taken_over(
    mailing: Mailing, workspace_api: Api
) -> None:
    request_person(workspace_api, "ann")
    mailing.feed(*mailing.records())
    with crashing(SEND, after=True) as calls:
        mailing.run(handoff_notices.DELAY_SECONDS)
    assert calls[-1] == "SendRawEmail"
    take_over(workspace_api, "ann")
    mailing.run(3_600)
    assert len(mailing.mails) == 1


@pytest.mark.parametrize(("code", "failures"), [("MessageRejected", 0), ("Throttling", 1)])
def test_a_mail_that_ses_does_not_take(
    code: str, failures: int, mailing: Mailing, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = BaseClient._make_api_call

    def refuse(client: BaseClient, operation: str, parameters: Any) -> Any:
        if operation == "SendRawEmail":
            raise ClientError({"Error": {"Code": code, "Message": ""}}, operation)
        return call(client, operation, parameters)

    request_person(workspace_api, "ann")
    mailing.feed(*mailing.records())
    with monkeypatch.context() as patch:
        patch.setattr(BaseClient, "_make_api_call", refuse)
        mailing.run(handoff_notices.DELAY_SECONDS)
    assert mailing.failures == failures
    mailing.run(900)
    assert len(mailing.mails) == failures


def test_an_outage_of_ses_does_not_use_up_the_mails_of_the_day(
    mailing: Mailing, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowance, "MAX_MAILS", 1)
    ses = storage.sdk_client("ses", attempts=1)
    ses.delete_identity(Identity="notifications@cams.test")
    request_person(workspace_api, "ann")
    mailing.happen(1_800)
    assert (mailing.mails, mailing.failures > 2) == ([], True)
    ses.verify_email_identity(EmailAddress="notifications@cams.test")
    mailing.run(900)
    assert len(mailing.mails) == 1


def test_while_the_sender_is_not_verified_mails_wait(mailing: Mailing, workspace_api: Api) -> None:
    ses = storage.sdk_client("ses", attempts=1)
    ses.delete_identity(Identity="notifications@cams.test")
    request_person(workspace_api, "ann")
    mailing.happen()
    assert (mailing.mails, mailing.failures) == ([], 1)
    ses.verify_email_identity(EmailAddress="notifications@cams.test")
    mailing.run(900)
    assert len(mailing.mails) == 1


def test_a_conversation_that_cannot_be_read_holds_up_no_mail(
    mailing: Mailing, workspace: NewWorkspace, workspace_api: Api
) -> None:
    for name in ("ann", "bob"):
        request_person(workspace_api, name)
    mailing.feed(*mailing.records())
    key = {"conversation": storage.join_key(workspace.workspace_id, "support", "bob"), "item": "conversation"}
    storage.sdk_client("dynamodb").update_item(
        TableName="cams-conversations",
        Key={name: {"S": value} for name, value in key.items()},
        UpdateExpression="SET summary = :damaged",
        ExpressionAttributeValues={":damaged": {"B": b"\x02damaged"}},
    )
    mailing.run(handoff_notices.DELAY_SECONDS)
    assert mailing.failures == 0
    assert re.findall(r"/convos/support/(\w+)", text_of(mailing.mails[0])) == ["ann"]


def test_of_two_processes_at_the_same_mail_one_sends_it(
    mailing: Mailing, workspace: NewWorkspace, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_person(workspace_api, "ann")
    mailing.run(handoff_notices.DELAY_SECONDS)
    text = pack(Notify(workspace.workspace_id, "bo", clock.milliseconds() - 8_000))
    find_waiting, others = inbox.find_waiting, [text]

    def overtaken(*arguments: Any) -> Any:
        """Run the other process between the first process's reads and its claim."""
        if others:
            mailing.invoke(others.pop())
        return find_waiting(*arguments)

    monkeypatch.setattr(inbox, "find_waiting", overtaken)
    assert mailing.invoke(text) == {"batchItemFailures": []}
    assert len(mailing.mails) == 1
    mailing.run(900)
    assert len(mailing.mails) == 1
