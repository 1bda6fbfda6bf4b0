"""A conversation's page lists the visitor's earlier conversations and leads."""

import re
from typing import Any

from chalicelib.extensions import has
from tests.api import Answer, Api
from tests.capacity import metered
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import HOSTILE, PASSWORD

PAGE = "/convos/support/now"


def converse(api: Api, convo_id: str, agent_id: str = "support", **metadata: Any) -> None:
    body = {
        "turns": [{"from": "human", "messages": [{"item": {"text": f"From {convo_id}"}}]}],
        "metadata": metadata,
    }
    assert api.post(f"/agents/{agent_id}/interact/{convo_id}/state", body).status == 200


def add_lead(api: Api, **members: str) -> str:
    return str(api.post("/v3/leads", {"lead": {"agentId": "support", **members}}).data["id"])


def listed(page: Answer, kind: str) -> list[str]:
    """Return the ids of the conversations or leads beside the transcript."""
    lists = "".join(re.findall(r'<ul class="past">(.*?)</ul>', page.text, re.DOTALL))
    return re.findall(f'href="[^"]*/{kind}/support/([^"]*)"', lists)


def test_a_page_lists_earlier_conversations_and_leads(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "by-mail", userEmail="Ann@a.test", state="ended_chat", userName=HOSTILE)
    converse(workspace_api, "by-id", userID="u1")
    converse(workspace_api, "other-person", userEmail="eve@a.test")
    converse(workspace_api, "other-agent", "other", userID="u1")
    converse(workspace_api, "now", userID="u1", userEmail="ann@a.test")
    converse(workspace_api, "later", userID="u1")
    add_lead(workspace_api, name="Eve", email="eve@a.test")
    leads = [
        add_lead(workspace_api, name=HOSTILE, convoId="now"),
        add_lead(workspace_api, email="ANN@a.test"),
    ]
    page = signed_in.open(PAGE)
    assert listed(page, "convos") == ["by-id", "by-mail"] and listed(page, "leads") == leads[::-1]
    assert "From by-mail" in page.text and "Ended" in page.text and "<img" not in page.text
    assert all(signed_in.open(f"/leads/support/{one}").status == 200 for one in leads)


def test_the_page_that_deletes_a_conversation_names_its_leads(operator: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "now", userID="u1")
    assert "delete a lead" not in operator.open(f"{PAGE}/delete").text
    lead = add_lead(workspace_api, name=HOSTILE, convoId="now")
    page = operator.open(f"{PAGE}/delete").text
    assert f'/leads/support/{lead}">' in page and "To delete a lead as well, open its page." in page
    assert ("/settings/erasures?userID=u1" in page) == has("erasures") and "<img" not in page
    form, _, choices = page.partition("</form>\n<section")
    assert "/leads/" not in form.partition("<form class=")[2] and choices.count("<li>") == 1 + has("erasures")


def test_a_list_has_at_most_five_entries(signed_in: Browser, workspace_api: Api) -> None:
    for number in range(7):
        converse(workspace_api, f"c{number}", userPhone="123")
        add_lead(workspace_api, phone="123")
    converse(workspace_api, "now", userPhone="123")
    page = signed_in.open(PAGE)
    assert listed(page, "convos") == ["c6", "c5", "c4", "c3", "c2"] and len(listed(page, "leads")) == 5
    assert page.text.count("Show all</a>") == 2


def test_an_unknown_visitor_costs_no_request(signed_in: Browser, workspace_api: Api) -> None:
    for convo_id, metadata in (("old", {}), ("now", {"userID": "now", "userEmail": " "}), ("known", {"userID": "u1"})):
        converse(workspace_api, convo_id, **metadata)
    signed_in.open(PAGE)
    requests = []
    for convo_id in ("old", "now", "known"):
        with metered() as meter:
            assert listed(signed_in.open(f"/convos/support/{convo_id}"), "convos") == []
        requests.append(meter.total)
    assert requests == [requests[0], requests[0], requests[0] + 2]


def test_leads_need_access_to_leads(browser: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "old", userID="u1")
    converse(workspace_api, "now", userID="u1")
    add_lead(workspace_api, userID="u1")
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/convos"]})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open(PAGE)
    assert listed(page, "convos") == ["old"] and "/leads" not in page.text


def test_a_conversation_leads_people_who_may_open_agents_to_its_agent(browser: Browser, workspace_api: Api) -> None:
    workspace_api.post("/agents/support/interact/ann/state", {"metadata": {"userName": "Ann"}})
    for pages, is_linked in ((None, True), (["/convos"], False)):
        workspace_api.post("/v2/clients/bo", {"canAccess": pages})
        browser.start_session(email="bo@acme.test", password=PASSWORD)
        page = browser.open("/convos/support/ann").text
        assert (f'<dt>Agent</dt><dd><a href="{browser.home}/agents/support">' in page) == is_linked
