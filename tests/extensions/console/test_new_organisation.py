"""Operators create an organisation with its first person and its first agent in one form, of which no part is lost."""

import re
from typing import Any

import pytest

from chalicelib import errors, queues
from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.mailing import Mailing
from tests.moto_tables import items

NEW = "/settings/new-org"
WHOLE = {
    "name": "Boats", "person": "Ann", "email": "ann@boats.test", "isOrgAdmin": "on", "title": "Rental desk",
    "widgetIDs.other": "on",
}  # fmt: skip


def create(browser: Browser, page: Answer | None = None, **fields: str) -> Answer:
    """Submit the form for a new organisation."""
    return browser.submit(page or browser.open(NEW), "/new-org", {"name": "Boats", **fields})


def stored(api: Api) -> dict[str, list[Any]]:
    """Return the organisations, people and agents that the form may create, without their ids."""
    kinds = {"orgs": "name", "clients": "email", "agents": "title"}
    return {kind: sorted(one[name] for one in api.get(f"/v3/{kind}").data) for kind, name in kinds.items()}


def status_of(page: Answer, email: str) -> str:
    """Return a person's role and status in the list of people."""
    (row,) = [row for row in page.text.split("<tr>") if email in row]
    return " ".join(re.sub("<[^>]*>", " ", row).split())


def test_one_form_creates_an_organisation_with_a_person_and_an_agent(
    operator: Browser, mailing: Mailing, workspace_api: Api
) -> None:
    form, answers = operator.open(NEW), []
    for _ in range(2):
        answers.append(create(operator, form, **WHOLE))
        assert "The organisation has been created, and the invitation is on its way." in answers[-1].text
        assert "Administrator Invited" in status_of(answers[-1], "ann@boats.test")
    assert answers[0].status == answers[1].status == 200
    assert stored(workspace_api) == {
        "orgs": ["Acme Travel", "Boats"],
        "clients": ["ann@boats.test", "bo@acme.test"],
        "agents": ["Other", "Rental desk", "Support"],
    }
    (boats,) = [one for one in workspace_api.get("/v2/orgs").data if one["name"] == "Boats"]
    titles = [workspace_api.get(f"/v3/agents/{agent_id}").data["title"] for agent_id in boats["widgetIDs"]]
    assert titles == ["Other", "Rental desk"]
    mailing.run(60)
    assert mailing.recipients == ["ann@boats.test"]
    assert "Your access to Boats" in mailing.mails[0]["Subject"]


@pytest.mark.usefixtures("mailing")
@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({**WHOLE, "email": "bo@acme.test"}, "email", "Someone in the workspace already has this email."),
        ({**WHOLE, "email": "ann"}, "email", "require a complete email address"),
        ({"person": "Ann"}, "email", "Enter an email."),
        ({**WHOLE, "name": " "}, "name", "Enter a name."),
    ],
)
def test_an_error_is_shown_at_its_field_and_nothing_is_created(
    fields: dict[str, str], field: str, sentence: str, operator: Browser, workspace_api: Api
) -> None:
    page, before = operator.open(NEW), items()
    for _ in range(2):
        refused = create(operator, page, **fields)
        assert (refused.status // 100, items() == before) == (4, True)
        assert re.search(rf'id="wrong-{field}">[^<]*{sentence}', refused.text)
        assert all(f'value="{text}"' in refused.text for name, text in fields.items() if name in ("person", "title"))
    assert "The organisation has been created" in create(operator, refused, **WHOLE).text
    assert stored(workspace_api)["orgs"] == ["Acme Travel", "Boats"]


def test_an_invitation_that_cannot_be_sent_hides_nothing(
    operator: Browser, mailing: Mailing, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = operator.open(NEW)
    with monkeypatch.context() as patch:
        patch.setattr(queues, "send", refuse)
        page = create(operator, form, **WHOLE)
    assert "The organisation has been created, but the invitation could not be sent." in page.text
    assert "Send invitation" in status_of(page, "ann@boats.test")
    assert "the invitation is on its way" in create(operator, form, **WHOLE).text
    assert stored(workspace_api)["clients"] == ["ann@boats.test", "bo@acme.test"]
    mailing.run(60)
    assert mailing.recipients == ["ann@boats.test"]


def refuse(*_: Any, **__: Any) -> None:
    """Fail as the queue does."""
    raise errors.Unavailable("The queue accepts no messages.")


def test_a_stage_without_mail_asks_for_a_password(operator: Browser, workspace_api: Api) -> None:
    page = operator.open(NEW)
    assert "They sign in with this email and password." in page.text
    refused = create(operator, page, email="ann@boats.test")
    assert refused.status == 400 and 'id="wrong-dashboardPassword"' in refused.text
    page = create(operator, refused, email="ann@boats.test", dashboardPassword=PASSWORD)
    assert "The organisation has been created." in page.text
    assert "Member Active" in status_of(page, "ann@boats.test")
    (ann,) = [one for one in workspace_api.get("/v3/clients").data if one["email"] == "ann@boats.test"]
    assert "/settings" not in ann["canAccess"] and "/convos" in ann["canAccess"]
    assert operator.another().sign_in("ann@boats.test", PASSWORD).status == 200


def test_the_form_says_what_is_optional(operator: Browser) -> None:
    page = operator.open(NEW).text
    optional = re.findall(r'<h2>([\w ]+) <span class="hint">optional</span>', page)
    assert optional == ["First person", "Agents"]
    assert "People from all of them see its conversations." in page


def test_only_a_colleague_gets_the_only_agent_unasked(operator: Browser, workspace_api: Api) -> None:
    assert workspace_api.delete("/v3/agents/other").status == 200
    box = re.compile('name="([^"]*)" type="checkbox" checked')
    customer, colleague = (operator.open(f"{NEW}{query}") for query in ("", "?for=colleague"))
    assert (customer.status, box.findall(customer.text)) == (200, [])
    assert box.findall(colleague.text) == ["isOrgAdmin", "widgetIDs.support"]
    hint = "Your colleague sees the conversations of the agents that you select below."
    assert (hint in customer.text, hint in colleague.text) == (False, True)
    refused = operator.submit(colleague, "/new-org?for=colleague", {"name": "", "widgetIDs.support": "on"})
    assert (refused.status, hint in refused.text, box.findall(refused.text)) == (400, True, ["widgetIDs.support"])
