"""Each email costs a fixed number of requests. Changes that cause no email cost nothing."""

import pytest

from chalicelib.extensions.console.notifications import handoff_notices
from tests.api import Api
from tests.capacity import metered
from tests.costs import check
from tests.extensions.console.mailing import Mailing, request_person


def test_a_batch_without_requests_costs_nothing_more(
    mailing: Mailing, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace_api.post("/agents/support/interact/ann/state", {"turns": []})
    records = mailing.records()
    with metered() as quiet:
        mailing.feed(*records)
    request_person(workspace_api, "bob")
    records = mailing.records()
    with metered() as asking:
        mailing.feed(*records)
    assert asking.requests == quiet.requests
    assert len(mailing.queued) == 1


def test_a_mail_has_its_documented_cost(mailing: Mailing, workspace_api: Api) -> None:
    request_person(workspace_api, "ann")
    mailing.feed(*mailing.records())
    with metered() as meter:
        mailing.run(handoff_notices.DELAY_SECONDS)
    assert len(mailing.mails) == 1
    check("email a person", meter)
