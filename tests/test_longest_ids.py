"""Ids of 128 characters of every kind work wherever an id is part of something else: links, cursors, mails."""

import html
import random
import re
import string
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

import pytest

from chalicelib.extensions.console.notifications import unsubscribe_token
from chalicelib.ids import IDENTIFIER
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Answer, Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.notified import Notified, request_person, settings, text_of

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
KINDS = "=+-@~:|,._9Az"


def longest(last: str) -> str:
    """An id of 128 characters of every kind, which compression makes no shorter; `last` distinguishes it."""
    return KINDS + "".join(random.Random(last).choices(string.ascii_letters + string.digits + KINDS, k=114)) + last


AGENT, OTHER, ORG, CLIENT, CONVERSATION = map(longest, "abcde")


@pytest.fixture
def longest_ids(workspace: NewWorkspace, api: Api) -> Api:
    """A workspace where all ids that a caller chooses are as long as they may be."""
    for agent in (AGENT, OTHER):
        assert api.post(f"/v2/agents/{agent}", {"title": "Support"}).status == 200
    assert api.post(f"/v2/orgs/{ORG}", {"name": "Acme", "widgetIDs": [AGENT, OTHER]}).status == 200
    for client in (CLIENT, longest("g")):
        body = {"orgId": ORG, "email": f"{client[-1]}@acme.test", "dashboardPassword": PASSWORD, **settings()}
        assert api.post(f"/v2/clients/{client}", {**body, "isOrgAdmin": True}).status == 200
    for number in (CONVERSATION, longest("f")):
        for agent in (AGENT, OTHER):
            turns = [{"from": "human", "messages": [{"mid": longest("m"), "item": {"text": "hello"}}]}]
            metadata = {"state": "requested_chat", "chatAssignedTo": CLIENT}
            body = {"turns": turns, "metadata": metadata}
            assert api.post(f"/agents/{agent}/interact/{number}/state", body).status == 200
            assert api.post("/v3/leads", {"lead": {"agentId": agent, "name": number}}).status == 200
    hook = api.post("/v3/webhooks", {"webhook": {"url": "https://hooks.test/x", "events": ["lead_captured"]}})
    api.post(f"/v3/webhooks/{hook.data['id']}/test")
    extensions.populate(workspace.workspace_id, {"agent_id": AGENT}, "Before")
    return api


def test_the_ids_have_every_kind_of_character() -> None:
    assert all(IDENTIFIER.fullmatch(one) and len(one) == 128 for one in (AGENT, OTHER, ORG, CLIENT, CONVERSATION))


LISTS = (
    "/v3/agents", "/v3/agents?sort=lastModified", "/v3/clients", "/v3/orgs",
    "/v3/convos?inbox=true", "/v3/leads", f"/v3/agents/{AGENT}/convos", f"/v3/agents/{AGENT}/leads",
    f"/v3/orgs/{ORG}/agents",
    f"/v3/orgs/{ORG}/clients", "/v3/usage", f"/v3/agents/{AGENT}/convos/{CONVERSATION}/messages",
    "/v2/clients", f"/v3/convos?inbox=true&assignedTo={CLIENT}",
)  # fmt: skip


@pytest.mark.parametrize("path", LISTS)
def test_a_cursor_with_such_an_id_continues_its_list(path: str, longest_ids: Api) -> None:
    quoted = path.replace("|", "%7C").replace("+", "%2B")
    whole = longest_ids.get(quoted)
    listed = [*follow(longest_ids, quoted)]
    assert whole.status == 200 and listed == whole.json["data"]


def follow(api: Api, path: str) -> Iterator[object]:
    """The records of all pages of one record."""
    joined, cursor = "&" if "?" in path else "?", ""
    for _ in range(20):
        answer = api.get(f"{path}{joined}limit=1{cursor}")
        assert answer.status == 200, answer.text
        yield from answer.json["data"]
        if "nextCursor" not in answer.json:
            return
        cursor = "&cursor=" + answer.json["nextCursor"].replace("+", "%2B").replace("|", "%7C")
    pytest.fail("The list does not end.")


@pytest.mark.parametrize("email", ["", f"{CLIENT[-1]}@acme.test"], ids=["operator", "client"])
def test_every_link_of_the_console_works(
    email: str, workspace: NewWorkspace, longest_ids: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Browser(workspace.workspace_id)
    signed_in = browser.sign_in(email, PASSWORD) if email else browser.post("", {"key": workspace.workspace_key})
    assert signed_in.status == 200
    paths, seen = ["/overview", "/account"], set[str]()
    while paths:
        path = paths.pop()
        if path not in seen and not path.startswith("/assets"):
            seen.add(path)
            answer = browser.open(path)
            assert answer.status == 200, path
            paths += [one.removeprefix(browser.home) for one in links(answer, f"{browser.home}{path}")]
    assert all(any(one in unquote(path) for path in seen) for one in (AGENT, OTHER, ORG, CLIENT, CONVERSATION))


def links(answer: Answer, here: str) -> list[str]:
    """The paths that a page of the console links to."""
    found = [html.unescape(one) for one in re.findall(r'<a [^>]*href="([^"]*)"', answer.text)]
    return [urlsplit(here).path + one if one.startswith("?") else one.partition("#")[0] for one in found]


def test_a_mail_links_to_the_conversation_and_ends_mails(
    longest_ids: Api, monkeypatch: pytest.MonkeyPatch, pass_time: PassTime
) -> None:
    notified = Notified(monkeypatch, pass_time)
    request_person(longest_ids, longest("h"), AGENT)
    notified.happen()
    assert len(notified.mails) == 2
    for mail, raw in zip(notified.mails, notified.raw_mails, strict=True):
        (shown,) = set(re.findall(r"https://cams\.test/prod(/console/\S*/unsubscribe/\S*)", text_of(mail)))
        (stop,) = re.findall(r"^List-Unsubscribe: <https://cams\.test/prod(/console/.*)>\r?$", raw, re.M)
        assert shown == stop
        assert Api().call("GET", stop, None, {}).status == 200
        assert Api().call("POST", stop, b"List-Unsubscribe=One-Click", FORM).status == 200
    for client in (CLIENT, longest("g")):
        assert longest_ids.get(f"/v2/clients/{client}").data["notificationsSettings"] == {
            "notifyThrough": None,
            "notifyIf": None,
        }


@pytest.mark.parametrize("length", [1, 59, 60, 61, 127, 128])
def test_the_link_to_end_mails_works_for_every_length(length: int, workspace: NewWorkspace, api: Api) -> None:
    client = longest("x")[-length:]
    assert api.post(f"/v2/clients/{client}", {"name": "Bo", **settings()}).status == 200
    token = unsubscribe_token.token(workspace.workspace_id, client)
    path = f"/console/{workspace.workspace_id}/unsubscribe/{token}"
    assert Api().call("POST", path, b"", FORM).status == 200
    assert api.get(f"/v2/clients/{client}").data["notificationsSettings"]["notifyThrough"] is None
