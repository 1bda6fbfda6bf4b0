"""The operators' pages for erasures and the workspace."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote

import boto3
import pytest

from chalicelib.extensions import has
from chalicelib.extensions.console.presentation.template_filters import short_id
from chalicelib.extensions.console.settings_pages import erasure_preview
from tests import extensions
from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import HOSTILE, PASSWORD
from tests.moto_tables import snapshot
from tests.queues.messages import take

extensions.require("erasures")

from chalicelib.extensions.erasures import functions, receipt
from chalicelib.extensions.erasures.extension import QUEUE


def rows(text: str) -> list[list[str]]:
    """Return the texts of the cells in each row of a page's tables."""
    plain = [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", text, re.S)
    ]
    return [[html.unescape(re.sub("<[^>]*>", "", cell)).strip() for cell in row] for row in plain][1:]


def test_an_erasure_ends_with_a_receipt(operator: Browser, workspace_api: Api, pass_time: PassTime) -> None:
    workspace_api.post("/v3/leads", {"lead": {"agentId": "support", "email": "ann@a.test"}})
    workspace_api.post("/agents/support/interact/ann/state", {"metadata": {"userEmail": "ann@a.test"}})
    form = operator.submit(operator.open("/settings/erasures"), "/settings/erasures", {"email": " Ann@a.test "})
    wrong = operator.submit(form, "/settings/erasures", {"action": "erase", "reference": "for ann@a.test"})
    assert (wrong.status, 'id="wrong-reference"' in wrong.text) == (400, True)
    fields = {"action": "erase", "reference": HOSTILE}
    page = operator.submit(form, "/settings/erasures", fields)
    assert html.escape(HOSTILE) in page.text.replace("&#34;", "&quot;").replace("&#39;", "&#x27;")
    assert "This page reloads every 10 seconds." in page.text and page.headers["refresh"] == "10"
    assert {*re.findall('"figure">([^<]*)<', page.text)} == {"0"} and "Deleted so far" in page.text
    (erasure_id,) = re.findall(r"<code[^>]*>([^<]+)</code>", page.text)
    again = f"/settings/erasures/{erasure_id}"
    assert operator.open(f"{again}/receipt").status == 404
    assert operator.submit(form, "/settings/erasures", fields).text == page.text
    listed = operator.open("/settings/erasures").text
    assert [(row[0], *row[2:4]) for row in rows(listed)] == [
        (f"{HOSTILE} Receipt id {short_id(erasure_id)}", "Running", "0 so far")
    ]
    assert again in listed and f"{again}/receipt" not in listed and "ann@a.test" not in listed
    for _ in range(3):
        pass_time(90)
        functions.erase({"Records": take(QUEUE)}, None)
    complete = operator.open(again)
    assert "The erasure is complete." in complete.text and "refresh" not in complete.headers
    listed = operator.open("/settings/erasures").text
    assert [row[2:4] for row in rows(listed)] == [
        ["Complete", "2 Conversations: 1, Leads: 1"]
    ] and f"{again}/receipt" in listed
    file = operator.open(f"{again}/receipt")
    (name,) = re.findall(
        '^attachment; filename="erasure-receipt-([A-Za-z0-9-]+)[.]json"$', file.headers["content-disposition"]
    )
    assert name == "img-src-x-onerror-alert-1"  # of the hostile reference
    signed = json.loads(file.text)
    assert (signed["counts"]["leads"], bool(signed["signature"])) == (1, True)
    assert workspace_api.get("/v3/leads").data == []


@pytest.mark.skipif(not (shutil.which("openssl") and shutil.which("jq")), reason="needs openssl and jq")
def test_the_commands_on_the_page_verify_the_receipt(
    operator: Browser, workspace_api: Api, pass_time: PassTime, tmp_path: Path
) -> None:
    erasure_id = workspace_api.post("/v3/erasures", {"erasure": {"userID": "ann", "reference": "Request 7"}}).data["id"]
    for _ in range(3):
        pass_time(90)
        functions.erase({"Records": take(QUEUE)}, None)
    page = operator.open(f"/settings/erasures/{erasure_id}").text
    read_key, verify = map(html.unescape, re.findall('<pre class="code"[^>]*>([^<]*)</pre>', page))
    assert f"--key-id {receipt.key_alias()} " in read_key and read_key.endswith("> receipts.der")
    (tmp_path / "receipts.der").write_bytes(boto3.client("kms").get_public_key(KeyId=receipt.key_alias())["PublicKey"])
    signed = operator.open(f"/settings/erasures/{erasure_id}/receipt").text
    outputs = []
    for text in (signed, signed.replace("-", "+")):
        (tmp_path / "erasure-receipt-Request-7.json").write_text(text)
        ran = subprocess.run(["bash", "-c", verify], cwd=tmp_path, capture_output=True, text=True, check=False)
        outputs.append(ran.stdout)
    assert outputs[0] == "Verified OK\n" != outputs[1]


def test_an_erasure_without_a_reference_is_named_by_its_time(operator: Browser, workspace_api: Api) -> None:
    erasure_id = workspace_api.post("/v3/erasures", {"erasure": {"userID": "ann"}}).data["id"]
    listed = operator.open("/settings/erasures").text
    ((name, *_),) = rows(listed)
    assert re.fullmatch(f"Erasure of .* UTC Receipt id {short_id(erasure_id)}", name)
    assert '<time datetime="' in listed and 'data-as="ago"' in listed


def test_a_link_fills_in_the_person_to_erase(operator: Browser) -> None:
    page = operator.open(f"/settings/erasures?userID=ann&email=ann%40a.test&phone={quote(HOSTILE)}").text
    fields = re.findall(r'name="(userID|email|phone)" type="text" value="([^"]*)"', page)
    assert [html.unescape(value) for _, value in fields] == ["ann@a.test", HOSTILE, "ann"]
    assert page.count("<strong>or</strong>") == 2 and 'id="preview"' in page


def test_an_erasure_without_matches_is_no_red_button(operator: Browser) -> None:
    form = operator.open("/settings/erasures")
    empty = operator.submit(form, "/settings/erasures", {"email": "nobody@a.test"})
    assert "<h2>Nothing was found</h2>" in empty.text and "These records match" not in empty.text
    assert '<summary class="button second">Erase anyway…</summary>' in empty.text


def test_an_erasure_without_matches_promises_no_number(
    operator: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure_preview, "_MAX_LEADS", 1)
    workspace_api.post("/v3/leads", {"lead": {"agentId": "support", "email": "eve@a.test"}})
    page = operator.open("/settings/erasures?email=ann%40a.test").text
    assert "leads: none found, and all events" in page and "at least 0" not in page


@pytest.mark.parametrize(
    ("person", "matches"),
    [
        ({"userID": "ann"}, ["Ann", "Ann 2", "Lead 1"]), ({"userID": "ANN"}, []), ({"phone": "+31"}, []),
        ({"email": "Ann@A.test"}, ["Ann 2", "Lead 1"]), ({"phone": "+31 6"}, ["Ann", "Lead 2"]),
        ({"email": "nn@a.test"}, []),
        ({"phone": "+31 6", "email": "ann@a.test"}, ["Ann", "Ann 2", "Lead 1", "Lead 2"]),
    ],
)  # fmt: skip
def test_an_erasure_is_previewed_before_it_starts(
    operator: Browser, workspace_api: Api, person: dict[str, str], matches: list[str]
) -> None:
    conversations: dict[str, dict[str, str]] = {
        "ann": {"userName": "Ann", "userPhone": "+31 6"},
        "ann-2": {"userName": "Ann 2", "userID": "ann", "userEmail": "ann@a.test"},
        "eve": {"userName": "Eve", "userEmail": "eve@a.test"},
    }
    for conversation_id, metadata in conversations.items():
        workspace_api.post(f"/agents/support/interact/{conversation_id}/state", {"metadata": metadata})
    for lead in (
        {"name": "Lead 1", "email": "ANN@a.test", "userID": "ann"}, {"name": "Lead 2", "phone": "+31 6"},
        {"name": "ann"},
    ):  # fmt: skip
        workspace_api.post("/v3/leads", {"lead": {"agentId": "support", **lead}})
    before = snapshot()
    page = operator.submit(operator.open("/settings/erasures"), "/settings/erasures", {"action": "find", **person})
    listed = re.findall(r'<li><a href="[^"]*/(?:convos|leads)/support/[^"]*">([^<]*)</a>', page.text)
    assert (page.status, sorted(listed)) == (200, matches)
    of_conversations, of_leads = (sum(name.startswith(kind) for name in matches) for kind in ("Ann", "Lead"))
    assert f"Conversations: {of_conversations}, leads: {of_leads}, and all events" in page.text
    assert snapshot() == before


def test_the_preview_names_agents_and_says_what_it_does_not_show(
    operator: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for org_id, agent_id in (("acme", "support"), ("hotel", "other")):
        workspace_api.post(f"/v2/orgs/{org_id}", {"name": org_id.title(), "widgetIDs": [agent_id]})
        workspace_api.post(f"/agents/{agent_id}/interact/{org_id}/state", {"metadata": {"userEmail": "ann@a.test"}})
    for number in range(52):
        workspace_api.post(
            "/v3/leads", {"lead": {"agentId": "support", "email": "ann@a.test", "name": f"Ann {number}"}}
        )
    page = operator.open("/settings/erasures?email=ann%40a.test").text
    for title in ("Support · Acme", "Other · Hotel"):
        assert f'<div class="hint">{title}</div>' in page
    assert len(re.findall('<li><a href="[^"]*/leads/', page)) == 50 and "<summary>45 more</summary>" in page
    assert "2 more are not shown." in page and "leads: 52, and all events" in page
    monkeypatch.setattr(erasure_preview, "_MAX_LEADS", 50)
    assert "leads: at least 50, and all events" in operator.open("/settings/erasures?email=ann%40a.test").text


def test_an_erasure_needs_a_person(operator: Browser) -> None:
    form = operator.open("/settings/erasures")
    page = operator.submit(form, "/settings/erasures", {"email": " ", "phone": ""})
    assert (page.status, "Enter an email, a phone number or a visitor id.</p>" in page.text) == (400, True)
    assert 'id="wrong-email"' in page.text
    preview = operator.submit(form, "/settings/erasures", {"phone": HOSTILE * 100})
    long = operator.submit(preview, "/settings/erasures", {"action": "erase"})
    assert (long.status, 'id="wrong-phone"' in long.text, "<img" in long.text) == (400, True, False)


def test_the_workspace_is_renamed_and_keeps_conversations_for_a_time(operator: Browser, workspace_api: Api) -> None:
    path = "/settings/workspace"
    page = operator.open(path)
    assert "older conversations are permanently deleted" in page.text and ">Cancel</a>" in page.text
    question = operator.submit(page, path, {"name": HOSTILE, "retentionDays": "90.0"})
    assert (question.status, 'name="confirm" type="checkbox"' in question.text, "<img" in question.text) == (
        400,
        True,
        False,
    )
    saved = operator.submit(question, path, {"name": HOSTILE, "retentionDays": "90", "confirm": "on"})
    assert "Saved." in saved.text
    stored = workspace_api.get("/v3/workspace").data
    assert (stored["name"], stored["retentionDays"]) == (HOSTILE, 90)
    stale = operator.submit(page, path, {"name": "Other", "retentionDays": ""})
    assert (stale.status, "<img" in stale.text) == (412, False)
    operator.submit(operator.open(path), path, {"name": "Other", "retentionDays": ""})
    assert "retentionDays" not in workspace_api.get("/v3/workspace").data


@pytest.mark.parametrize(
    ("name", "days", "field"), [("", "", "name"), ("x", "0", "retentionDays"), ("x", "soon", "retentionDays")]
)
def test_an_invalid_workspace_is_shown_again(name: str, days: str, field: str, operator: Browser) -> None:
    path = "/settings/workspace"
    page = operator.submit(operator.open(path), path, {"name": name, "retentionDays": days})
    assert (page.status, f'id="wrong-{field}"' in page.text) == (400, True)


def test_pages_of_a_visitor_lead_to_the_form_with_the_values(operator: Browser, workspace_api: Api) -> None:
    def links(browser: Browser, path: str) -> list[str]:
        address = r'href="/console/[^/]*(/settings/erasures[^"]*)">(?:<svg.*?</svg>)?Erase this visitor<'
        return [html.unescape(link) for link in re.findall(address, browser.open(path).text)]

    metadata = {"userEmail": "a'&<b>@a.test", "userPhone": "+31 6", "userName": "Ann"}
    workspace_api.post("/agents/support/interact/ann/state", {"metadata": metadata})
    workspace_api.post("/agents/support/interact/eve/state", {"metadata": {"userName": "Eve", "userEmail": "x" * 201}})
    lead = {"agentId": "support", "userID": "ann-1", "email": "ann@a.test"}
    lead_id = workspace_api.post("/v3/leads", {"lead": lead}).data["id"]
    (of_conversation,) = links(operator, "/convos/support/ann")
    (of_lead,) = links(operator, f"/leads/support/{lead_id}")
    for link, values in (
        (of_conversation, ["a&#39;&amp;&lt;b&gt;@a.test", "+31 6", ""]),
        (of_lead, ["ann@a.test", "", "ann-1"]),
        (f"/settings/erasures?userID={'x' * 201}&phone=1", ["", "1", ""]),
    ):
        page = operator.open(link).text
        assert re.findall(r'<input id="(?:userID|email|phone)"[^>]* value="([^"]*)"', page) == values
    assert links(operator, "/convos/support/eve") == []
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    client = operator.another()
    client.start_session(email="bo@acme.test", password=PASSWORD)
    assert links(client, "/convos/support/ann") == links(client, f"/leads/support/{lead_id}") == []


def test_the_workspace_page_explains_how_long_records_are_kept(operator: Browser, workspace_api: Api) -> None:
    workspace = workspace_api.get("/v3/workspace").data
    page = operator.open("/settings/workspace").text
    never, kept = "Never deleted automatically", "Until their agent is deleted. Its usage remains for 400 days"
    assert rows(page) == [
        ["Conversations An agent can have its own number of days.", never],
        ["Agents, leads, organisations and people", never], ["Deliveries of webhooks", "30 days"],
        *([["Audit log and versions", "400 days"]] if has("history") else []),
        *([["Counts in analytics and usage", kept]] if has("reports") else []),
        ["Erasure receipts", never],
    ]  # fmt: skip
    assert f'data-copied="Copied">{workspace["id"]}</code>' in page and "<dd>At most 50</dd>" in page
    assert f'<dt>Created</dt><dd><time datetime="{workspace["createdAt"]}"' in page
    assert 'placeholder="No limit"' in page and "Related pages" not in page
    workspace_api.patch("/v3/workspace", {"workspace": {"retentionDays": 1_095}})
    kept = rows(operator.open("/settings/workspace").text)
    assert kept[0][1:] == ["1,095 days after the last change"]
