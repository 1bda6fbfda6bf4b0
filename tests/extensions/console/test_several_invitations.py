"""The form for a new person invites several people, with a result for each address."""

import re
from typing import Any

import pytest

from chalicelib import errors
from chalicelib.extensions.console import queue
from chalicelib.extensions.console.access import calls
from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.mailing import Mailing
from tests.extensions.console.test_invitations import NEW
from tests.moto_tables import items

SEVERAL = " cy@acme.test,dee@acme.test ;CY@acme.test\r\nBO@acme.test\r\nno address\r\n"
RESULTS = [
    ("CY@acme.test", "The invitation is on its way"),
    ("dee@acme.test", "The invitation is on its way"),
    ("BO@acme.test", "Has an account already"),
    ("no address", "Not a complete email address"),
]


def results_of(page: Answer) -> list[tuple[str, str]]:
    return re.findall('<th scope="row">([^<]*)</th><td[^>]*><em[^>]*>([^<]*)</em>', page.text)


def test_several_people_are_invited_with_one_form(operator: Browser, mailing: Mailing, workspace_api: Api) -> None:
    """A form that is sent twice has the same results."""
    workspace_api.post("/v2/clients/bo", {"email": "bo@acme.test"})
    page = operator.open(NEW)
    assert "At most 20 addresses." in page.text
    for _ in range(2):
        answer = operator.submit(page, "/new-client", {"email": SEVERAL, "isOrgAdmin": "on"})
        assert (answer.status, results_of(answer)) == (200, RESULTS)
    mailing.run(60)
    assert sorted(mailing.recipients) == ["CY@acme.test", "dee@acme.test"]
    people = [one for one in workspace_api.get("/v3/clients").data if one.get("email") in mailing.recipients]
    assert [(one["orgId"], one["isOrgAdmin"]) for one in people] == [("acme", True)] * 2


def refuse(patch: pytest.MonkeyPatch, email: str, error: errors.ApiError) -> None:
    """Let the operation that adds a person fail for one address."""
    send_once = calls.send_once

    def run(form_id: str, path: str, body: Any, *others: Any) -> Any:
        if body["client"]["email"] == email:
            raise error
        return send_once(form_id, path, body, *others)

    patch.setattr(calls, "send_once", run)


def test_a_failure_for_one_address_stops_no_other(
    operator: Browser, mailing: Mailing, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, "cy@acme.test", errors.Unavailable("The table accepts no writes."))
    answer = operator.submit(operator.open(NEW), "/new-client", {"email": "cy@acme.test, dee@acme.test"})
    assert [result for _, result in results_of(answer)] == ["Not added. Invite this person again.", RESULTS[0][1]]
    monkeypatch.setattr(queue, "send", fail_for_all)
    answer = operator.submit(operator.open(NEW), "/new-client", {"email": "eve@acme.test, fay@acme.test"})
    assert [result.partition(".")[0] for _, result in results_of(answer)] == ["Added, but not invited"] * 2


def test_what_is_refused_after_the_first_address_hides_no_result(
    operator: Browser, mailing: Mailing, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, "dee@acme.test", errors.Forbidden("You may not add people now."))
    answer = operator.submit(operator.open(NEW), "/new-client", {"email": "cy@acme.test, dee@acme.test"})
    assert [result for _, result in results_of(answer)] == [RESULTS[0][1], "Not added. Invite this person again."]
    mailing.run(60)
    assert mailing.recipients == ["cy@acme.test"]


@pytest.mark.parametrize("email", ["cy@acme.test,", " cy@acme.test\r\nCY@acme.test"])
def test_one_address_with_separators_invites_one_person(
    operator: Browser, mailing: Mailing, workspace_api: Api, email: str
) -> None:
    operator.submit(operator.open(NEW), "/new-client", {"email": email})
    mailing.run(60)
    assert [address.lower() for address in mailing.recipients] == ["cy@acme.test"]


def fail_for_all(*_: Any) -> None:
    raise errors.Unavailable("The queue accepts no messages.")


@pytest.mark.usefixtures("mailing")
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"email": ",".join(f"a{number}@acme.test" for number in range(21))}, "email"),
        ({"email": "cy@acme.test, dee@acme.test", "name": "Cy"}, "name"),
        ({"email": "cy@acme.test, dee@acme.test", "dashboardPassword": PASSWORD}, "dashboardPassword"),
    ],
)
def test_a_form_for_several_people_adds_no_one_if_it_is_wrong(
    operator: Browser, fields: dict[str, str], field: str
) -> None:
    page, before = operator.open(NEW), items()
    answer = operator.submit(page, "/new-client", fields)
    assert (answer.status, f'id="wrong-{field}"' in answer.text, items() == before) == (400, True, True)
    assert f">\n{fields['email']}</textarea>" in answer.text
