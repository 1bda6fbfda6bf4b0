"""People correct leads in the console, and administrators delete them."""

import html
import re

import pytest

from chalicelib.extensions import has
from tests.api import Api
from tests.extensions.console.browser import Browser, csrf_field
from tests.extensions.console.conftest import HOSTILE, PASSWORD


@pytest.fixture
def path(workspace_api: Api) -> str:
    """Return the path of a lead's page."""
    lead = {"agentId": "support", "name": "Ann", "email": "ann@a.test", "custom": "kept"}
    return f"/leads/support/{workspace_api.post('/v3/leads', {'lead': lead}).data['id']}"


@pytest.fixture
def bo(browser: Browser, workspace_api: Api) -> Browser:
    """Return the browser of a person, who is signed in."""
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def test_a_lead_is_corrected(bo: Browser, path: str, workspace_api: Api) -> None:
    assert f'{path}"' in bo.open("/leads").text
    page = bo.open(path)
    fields = {"name": HOSTILE, "email": "", "phone": "123"}
    assert "Saved." in bo.submit(page, path, fields).text
    lead = workspace_api.get(f"/v3{path.replace('/support', '')}").data
    assert (lead["name"], lead["phone"], lead["custom"], "email" in lead) == (HOSTILE, "123", "kept", False)
    stale = bo.submit(page, path, {"name": "Other"})
    assert (stale.status, "<img" in stale.text) == (412, False)


def test_only_a_change_of_the_forms_own_fields_interrupts_a_correction(
    bo: Browser, path: str, workspace_api: Api
) -> None:
    page, lead_id = bo.open(path), path.rpartition("/")[2]
    bo.submit(page, path, {"status": "contacted"})
    assert bo.submit(page, path, {"name": "Ann", "email": "", "phone": ""}).status == 200
    assert workspace_api.get(f"/v3/leads/{lead_id}").data["name"] == "Ann"
    refused = bo.submit(page, path, {"name": "Anna", "email": "", "phone": ""})
    assert refused.status == 412 and "since you opened the page" in refused.text
    assert workspace_api.get(f"/v3/leads/{lead_id}").data["name"] == "Ann"


def test_a_corrected_email_is_an_address(bo: Browser, path: str, workspace_api: Api) -> None:
    page = bo.open(path)
    # A browser would refuse to send a form whose unchanged email is another text, such as "not given".
    field = page.text.partition('<input id="email"')[2].partition(">")[0]
    assert 'type="text"' in field and 'inputmode="email"' in field
    for email in ("ann@@a", "ann@a", "a b@c.test", "ann@a..test"):
        refused = bo.submit(page, path, {"email": email})
        assert (refused.status, 'id="wrong-email">Enter a complete email' in refused.text) == (400, True)
    assert "Saved." in bo.submit(page, path, {"email": "o'ann+1@mail.a.test"}).text
    workspace_api.patch(f"/v3{path.replace('/support', '')}", {"lead": {"email": "not given"}})
    assert "Saved." in bo.submit(bo.open(path), path, {"name": "Anna", "email": "not given"}).text


def test_only_administrators_delete_a_lead(bo: Browser, path: str, workspace_api: Api) -> None:
    page = bo.open(path)
    assert 'value="delete"' not in page.text
    assert bo.submit(page, path, {"action": "delete"}).status == 403
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    bo.start_session(email="bo@acme.test", password=PASSWORD)
    page = bo.open(path)
    assert "permanently" in page.text
    for _ in range(2):
        assert "The lead has been deleted." in bo.submit(page, path, {"action": "delete"}).text
    assert workspace_api.get("/v3/leads").data == []


def test_a_list_of_leads_shows_the_number_and_the_next_action(bo: Browser, workspace_api: Api) -> None:
    assert "There are no leads yet." in bo.open("/leads").text
    workspace_api.post("/v3/leads", {"lead": {"agentId": "support", "name": "Ann"}})
    assert ">1 lead <" in bo.open("/leads").text
    assert f'<a class="button second" href="{bo.home}/leads">Clear filters</a>' in bo.open("/leads?q=other").text


def test_a_waiting_lead_offers_a_reply_and_shows_what_is_known_of_the_visitor(bo: Browser, workspace_api: Api) -> None:
    known = {"state": "requested_chat", "capturedVariables": {"country": "NL", "page": HOSTILE}}
    workspace_api.post("/agents/support/interact/ann/state", {"metadata": {"userName": "Ann"}})
    workspace_api.patch("/v3/agents/support/convos/ann", {"conversation": known})
    lead = workspace_api.post("/v3/leads", {"lead": {"agentId": "support", "convoId": "ann"}}).data
    page = bo.open(f"/leads/support/{lead['id']}").text
    assert re.findall(r'<a class="button" href="[^"]*(/convos[^"]*)">([^<]*)', page) == [
        ("/convos/support/ann", "Reply")
    ]
    assert "<dt>Country</dt><dd>Netherlands</dd>" in page and "<img" not in page
    head = page.partition('class="card lead"')[2].partition('class="main-aside"')[0]
    assert re.findall("<summary[^>]*>([^<]*)", head) == ["Edit"]
    workspace_api.patch("/v3/agents/support/convos/ann", {"conversation": {"state": "ended_chat"}})
    assert ">Open conversation</a>" in bo.open(f"/leads/support/{lead['id']}").text


def test_each_day_filter_of_the_leads_can_be_removed(bo: Browser) -> None:
    page = bo.open("/leads?from=2026-01-01&to=2026-01-31&q=ann").text
    chips = re.findall(r'<a class="chip" href="([^"]*)"[^>]*><span>([^<]*)', page)
    assert [(html.unescape(link).removeprefix(bo.home), text) for link, text in chips] == [
        ("/leads?to=2026-01-31&q=ann", "From: 1 Jan 2026"),
        ("/leads?from=2026-01-01&q=ann", "To: 31 Jan 2026"),
    ]
    assert '<details class="drop" open>' in bo.open("/leads?from=yesterday").text


def test_a_lead_of_another_agent_is_not_found(bo: Browser, path: str, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support", "other"]})
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    bo.start_session(email="bo@acme.test", password=PASSWORD)
    other = path.replace("support", "other")
    form = csrf_field(bo.open(path))
    before = workspace_api.get("/v3/leads").data
    assert [bo.post(other, {**form, "name": "x"}).status, bo.open(other).status] == [404, 404]
    bo.post(other, {**form, "action": "delete"})
    assert workspace_api.get("/v3/leads").data == before


def test_a_lead_leads_to_its_conversation(bo: Browser, workspace_api: Api) -> None:
    def links(**members: str) -> list[str]:
        lead = workspace_api.post("/v3/leads", {"lead": {"agentId": "support", **members}}).data
        pages = (bo.open(path).text for path in (f"/leads/support/{lead['id']}", "/leads"))
        return [html.unescape(one) for page in pages for one in re.findall(pattern, page)[:1]]

    pattern = r'href="[^"]*(/convos[/?][^"]*)"'
    workspace_api.post("/agents/support/interact/ann/state", {"metadata": {"userEmail": "ann@a.test"}})
    exact = "/convos/support/ann"
    assert (links(convoId="ann", email="ann@a.test"), bo.open(exact).status) == ([exact, exact], 200)
    for members in ({"userID": "ann"}, {"convoId": HOSTILE, "email": "ann@a.test"}):
        path, search = links(**members)
        assert path == exact and "&to=1" in search
        assert exact in bo.open(search).text
    searches = links(name="ann")
    assert len({*searches}) == 1 and len(searches) == 2 and exact in bo.open(searches[0]).text
    assert links()[:1] != [exact]


def test_a_lead_shows_what_was_said_and_the_persons_other_leads(bo: Browser, workspace_api: Api) -> None:
    def lead(**members: str) -> str:
        path = workspace_api.post("/v3/leads", {"lead": {"agentId": "support", **members}}).data["id"]
        return f"/leads/support/{path}"

    texts = [HOSTILE, "Second", "Third", "Fourth", "Fifth"]
    turns = [{"from": "human", "messages": [{"item": {"text": text}}]} for text in texts]
    workspace_api.post("/agents/support/interact/x1/state", {"turns": turns, "metadata": {"userEmail": "ann@a.test"}})
    other, longer, path = lead(email="ann@a.test"), lead(email="joann@a.test"), lead(name="Ann", email="ann@a.test")
    page = bo.open(path).text
    assert [text in page for text in texts[1:]] == [True] * 4
    assert (HOSTILE in page, "<img" in page, page.count(">ann@a.test<")) == (False, False, 1)
    others = page.partition("Other leads of")[2].partition("<details")[0]
    assert [f'{one}"' in others for one in (other, longer, path)] == [True, False, False]
    assert "is unknown" in bo.open(lead(email="bob@a.test")).text


def test_a_lead_shows_the_private_notes_and_what_the_others_asked(bo: Browser, workspace_api: Api) -> None:
    turns = [{"from": "human", "messages": [{"item": {"text": "Are dogs welcome?"}}]}]
    for convo_id in ("x1", "x2"):
        workspace_api.post(f"/agents/support/interact/{convo_id}/state", {"turns": turns})
    noted = f"Undated\n\nNoor, 2026-11-27 08:11:02 UTC:\n{HOSTILE}"
    workspace_api.patch("/v3/agents/support/convos/x1", {"conversation": {"notes": noted}})
    other, lead = (
        workspace_api.post("/v3/leads", {"lead": {"agentId": "support", "email": "a@b.test", "convoId": convo_id}})
        for convo_id in ("x2", "x1")
    )
    page = bo.open(f"/leads/support/{lead.data['id']}").text
    notes = page.partition("<h2>Private notes</h2>")[2].partition("</section>")[0]
    assert "Undated" in notes and "<bdi>Noor</bdi>" in notes and "onerror=alert" in notes and "<img" not in page
    others = page.partition("Other leads of")[2].partition("</ul>")[0]
    assert '<p class="hint">Are dogs welcome?</p>' in others
    at = f"/leads/support/{other.data['id']}"
    assert 'class="event note"' not in bo.open(at).text
    bo.submit(bo.open(at), "/convos/support/x2", {"action": "add_note", "note": "Call on Monday"})
    assert "<p>Call on Monday</p>" in bo.open(at).text


def test_a_lead_explains_what_is_deleted(operator: Browser, path: str) -> None:
    removal = operator.open(path).text.partition('class="card removal"')[2].partition("</section>")[0]
    assert re.findall('<p class="hint">([^<]*)', removal) == [
        "Deletes this lead only. Its conversation is kept.",
        *(["Deletes all conversations, leads and records of this visitor."] if has("erasures") else []),
    ]


def test_a_lead_hides_the_conversation_from_a_person_without_the_page(bo: Browser, workspace_api: Api) -> None:
    turns = [{"from": "human", "messages": [{"item": {"text": "Private words"}}]}]
    workspace_api.post("/agents/support/interact/x1/state", {"turns": turns})
    lead = workspace_api.post("/v3/leads", {"lead": {"agentId": "support", "convoId": "x1"}}).data["id"]
    assert "Private words" in bo.open(f"/leads/support/{lead}").text
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/leads"]})
    bo.start_session(email="bo@acme.test", password=PASSWORD)
    page = bo.open(f"/leads/support/{lead}")
    assert (page.status, "Private words" in page.text, "/convos" in page.text) == (200, False, False)


@pytest.mark.parametrize(
    ("member", "text", "address"),
    [
        ("email", "ann+1@mail.a.test", "mailto:ann+1@mail.a.test"),
        ("email", "ann@a.test?bcc=eve@b.test", None),
        ("email", "ann", None),
        ("phone", "+31 (0)6 12-34", "tel:+31061234"),
        ("phone", "12;ext=3", None),
        ("phone", HOSTILE, None),
    ],
)
def test_a_lead_links_an_email_and_a_phone_number(
    member: str, text: str, address: str | None, bo: Browser, workspace_api: Api
) -> None:
    lead = workspace_api.post("/v3/leads", {"lead": {"agentId": "support", member: text}}).data
    page = bo.open(f"/leads/support/{lead['id']}").text
    assert re.findall(r'<a href="((?:mailto|tel):[^"]*)">([^<]*)</a>', page) == ([(address, text)] if address else [])
    assert "<img" not in page and "<dl" in page
