"""No console page exceeds 1 MB, whatever its records and forms contain. Truncated texts can be downloaded.

The scripts together have at most 20 KB.
"""

import html
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.extensions.console.access import sessions
from chalicelib.extensions.console.presentation import rendering
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.rows import OPERATOR, OWN, ROWS, Route, Row, World, build, fields, send
from tests.fast_moto import restore_or_create
from tests.moto_tables import restore, snapshot
from tests.selection import first_case, one_of_each

MB = 1_000_000
# Maximum bytes of all scripts together, before compression.
MAX_SCRIPTS = 20 * 1024
# Maximum size of a Lambda response, as a JSON string.
LAMBDA = 6 * 1024 * 1024
# The characters that expand most when encoded as HTML, JSON or UTF-8.
GROWING = ("'", '"', "<", "é", "😀", "\n", "\x01", "a")
STATE = "/agents/support/interact/{}/state"
AGENT = "/console/{workspace}/agents/{agent_id}"
ORGANISATION = "/console/{workspace}/settings/orgs/{org_id}"
NESTED: Any = json.loads("[" * 150 + "1" + "]" * 150)


def test_the_scripts_together_have_at_most_20_kilobytes() -> None:
    sizes = {file.name: len(text.encode()) for file, text in rendering.assets().items() if file.suffix == ".js"}
    assert sizes and sum(sizes.values()) <= MAX_SCRIPTS, sizes


def huge(size: int, characters: str = "'") -> str:
    """Return a text that repeats these characters and has at most this many bytes."""
    return (characters * (size // len(characters.encode()) + 1))[: size // len(characters.encode())]


@pytest.fixture
def world(workspace: NewWorkspace, workspace_api: Api) -> World:
    """Create records of the maximum size that the API accepts."""
    return restore_or_create("large records", lambda: _create_records(workspace, workspace_api))[0]


def _create_records(workspace: NewWorkspace, api: Api) -> World:
    world = build(workspace, api)
    text = huge(250_000)
    unknown = {f"member{number}": huge(80_000) for number in range(8)}
    first = {"title": huge(9_000), "vg_systemPrompt": huge(50_000), "vg_initMessages": [huge(1_000)] * 3}
    agent = {**first, "description": text, **unknown, "nested": NESTED}
    assert api.patch("/v3/agents/support", {"agent": agent}).status == 200
    for _ in range(5):
        fields_of_tool = [{"key": huge(2_000), "name": "x"} for _ in range(90)]
        tool = {
            "name": text,
            "description": text,
            "serverUrl": f"https://{huge(60_000, 'a')}.test/",
            "fields": fields_of_tool,
        }
        api.post("/v3/agents/support/tools", {"tool": tool})
    metadata = {
        **{name: huge(5_000) for name in ("userName", "userEmail", "userPhone", "userBrowser", "userPlatform")},
        "state": huge(5_000),
        "chatAssignedTo": huge(5_000),
        "tags": [huge(20_000), *["'"] * 2_000],
    }
    for number in range(25):
        assert api.post(STATE.format(f"meta-{number}"), {"metadata": metadata}).status == 200, number
        api.post(
            "/v3/leads", {"lead": dict.fromkeys(("name", "email", "phone", "agentName"), text) | {"agentId": "support"}}
        )
    body = {"metadata": {**metadata, "state": "requested_chat", "userName": " "}}
    assert api.post(STATE.format("waits"), body).status == 200
    for number in range(100):
        api.post(f"/v2/clients/p{number}", {"orgId": "acme", "name": huge(5_000), "email": f"p{number}{huge(5_000)}"})
    api.post("/v2/clients/kim", {"name": text, "email": f"kim@{huge(5_000)}"})
    api.post("/v2/orgs/acme", {"name": text, "squarePhotoURL": text, "widgetIDs": ["support", *["x" * 128] * 9_000]})
    for _ in range(45):
        hook = {"url": f"https://hooks.test/{huge(2_000)}", "events": ["lead_captured"], "description": huge(1_000)}
        api.post("/v3/webhooks", {"webhook": hook})
    for _ in range(60):
        api.post("/v3/tokens", {"token": {"name": huge(200), "expiresInSeconds": 86_400}})
    return world


def conversations() -> Iterator[tuple[str, list[Any]]]:
    """Return large conversations that a visitor can write, by id."""
    for number, character in enumerate(GROWING):
        size = {"\x01": 300_000, '"': 950_000, "\n": 950_000, "é": 1_500_000, "😀": 1_500_000}.get(character, 1_950_000)
        yield f"one-{number}", [{"text": huge(size, character)}]
    yield "tiny", [{"text": "x"} for _ in range(15_000)]
    yield "nested", [{"data": NESTED} for _ in range(500)]
    yield "unknown", [{"data": huge(15_000)} for _ in range(100)]
    yield "choices", [{"payload": {"buttons": [{"name": "'"} for _ in range(3_000)]}} for _ in range(20)]
    yield (
        "card",
        [{"title": huge(190_000), "imageUrl": f"https://{huge(90_000)}", "url": f"https://{huge(90_000)}"}] * 5,
    )


def messages_of(items: list[Any], **members: Any) -> dict[str, Any]:
    messages = [{"mid": f"m'{n}", "type": huge(10), **members, "item": item} for n, item in enumerate(items)]
    return {"turns": [{"from": "bot", "messages": messages}]}


def check(answer: Answer, at: object) -> None:
    is_file = "attachment" in answer.headers.get("content-disposition", "")
    assert is_file or len(answer.text.encode()) <= MB, (at, len(answer.text.encode()))
    assert len(json.dumps({"body": answer.text, "headers": answer.headers})) < LAMBDA, at


def operator(workspace: NewWorkspace) -> Browser:
    browser = Browser(workspace.workspace_id)
    browser.start_session(key=workspace.workspace_key)
    return browser


@one_of_each(lambda name: name.partition("-")[0])
@pytest.mark.parametrize(("name", "items"), conversations(), ids=[name for name, _ in conversations()])
def test_a_conversation_opens_whatever_a_visitor_wrote(
    name: str, items: list[Any], workspace: NewWorkspace, workspace_api: Api
) -> None:
    assert workspace_api.post(STATE.format(name), messages_of(items)).status == 200
    browser = operator(workspace)
    page = browser.open(f"/convos/support/{name}")
    assert (page.status, "<article" in page.text) == (200, True)
    check(page, name)
    check(browser.open(f"/convos/support/{name}/live"), name)


def forms(world: World, at: Route, row: Row, owner: Browser) -> list[bytes | None]:
    """Forms that are too large, or that a page shows again because another save was first or a rule is violated."""
    if at[0] == "GET":
        return [None]
    form = fields(world, at[1], row, owner)
    kept = {name: form[name] for name in ("form", "action") if name in form}
    typed = [*row.typed, "rest"] if "agent" in at[1] else [*row.typed]
    most = 480_000 if at[1].endswith("{agent_id}") else 180_000
    echoed = {**form, **dict.fromkeys(typed, huge(most // 5 // max(len(typed), 1))), **kept}
    text = {**echoed, "action": "reply", "text": huge(30_000)}
    large = {**form, **dict.fromkeys(typed, huge(1_900_000 // max(len(typed), 1))), **kept}
    rest = {**echoed, "rest": json.dumps({huge(60): {huge(60): NESTED}, "nodes": 5})}
    sent = (echoed, {**echoed, "tag": "x"}, text, large, rest, {**rest, "tag": "x"})
    return [urlencode(one, safe="'").encode() for one in sent]


def test_no_page_exceeds_a_megabyte(world: World) -> None:
    sizes: dict[str, int] = {}
    statuses: set[int] = set()
    administrator, operator_browser = world.browser("ada@acme.test"), world.browser("")
    before = snapshot()
    for at, row in ROWS.items():
        owners = [*([administrator] if row.who != OPERATOR else []), *([operator_browser] if row.who != OWN else [])]
        for owner in owners:
            for body in forms(world, at, row, owner):
                answer = send(world, at, body, owner.cookie)
                statuses.add(answer.status)
                if "attachment" not in answer.headers.get("content-disposition", ""):
                    name = f"{at} {answer.status}"
                    sizes[name] = max(sizes.get(name, 0), len(answer.text.encode()))
                check(answer, at)
        if at[0] == "POST":
            restore(before)
            sessions.clear_cache()
    assert not {one for one in statuses if one >= 500}
    # The pages must reach their maximum size; otherwise, the records test nothing.
    assert sizes[f"{('GET', AGENT)} 200"] > 300_000
    assert sizes[f"{('POST', AGENT)} 412"] > 350_000
    assert sizes[f"{('GET', ORGANISATION)} 200"] > 200_000


def test_pages_of_large_records_stay_small(world: World, workspace: NewWorkspace) -> None:
    for browser in (operator(workspace), world.browser("ada@acme.test")):
        for path in ("/convos/support/meta-1", "/convos/support/waits", "/convos", "/convos?inbox=true", "/overview"):
            check(browser.open(path), path)


@first_case
@pytest.mark.parametrize("character", ["é", '"'])
def test_a_text_that_is_cut_can_be_downloaded(character: str, workspace: NewWorkspace, workspace_api: Api) -> None:
    text = huge(1_000_000, character)
    assert workspace_api.post(STATE.format("ann"), messages_of([{"text": text}])).status == 200
    browser = operator(workspace)
    page = browser.open("/convos/support/ann")
    assert text[:20_000].replace('"', "&#34;") in page.text and "Only part of this is shown." in page.text
    (link,) = re.findall(r'href="([^"]*/text\?message=[^"]*)"', page.text)
    assert link.startswith(browser.home)
    file = browser.open(link.removeprefix(browser.home))
    assert (file.status, file.text) == (200, text)
    assert file.headers["content-type"] == "text/plain; charset=utf-8"
    assert file.headers["x-content-type-options"] == "nosniff"
    assert file.headers["content-disposition"] == 'attachment; filename="message.txt"'
    check(file, character)


def test_a_file_of_a_message_has_all_of_it(workspace: NewWorkspace, workspace_api: Api) -> None:
    choices = [{"name": f"choice {number}"} for number in range(100)]
    card = {"payload": {"title": "t" * 300, "description": "d", "buttons": choices}}
    items: list[Any] = [card, {"data": huge(30_000)}]
    assert workspace_api.post(STATE.format("ann"), messages_of(items)).status == 200
    browser = operator(workspace)
    links = re.findall(r'href="([^"]*/text\?message=[^"]*)"', browser.open("/convos/support/ann").text)
    files = [browser.open(link.removeprefix(browser.home)).text for link in links]
    assert [json.loads(one) for one in files] == items
    assert browser.open("/convos/support/ann/text?message=unknown").status == 404


def test_a_record_that_is_cut_can_be_downloaded(world: World, workspace: NewWorkspace) -> None:
    browser = operator(workspace)
    for path, member in (
        ("/agents/support/text", "description"),
        ("/settings/orgs/acme/text", "name"),
        ("/settings/orgs/acme/clients/kim/text", "name"),
        ("/convos/support/meta-1/text", "userEmail"),
    ):
        assert f'href="{browser.home}{path}"' in browser.open(path.removesuffix("/text")).text
        file = browser.open(path)
        assert (file.status, len(json.loads(file.text)[member]) >= 5_000) == (200, True)
        assert PASSWORD not in file.text
        check(file, path)


def test_a_lead_that_is_cut_can_be_downloaded(world: World, workspace: NewWorkspace) -> None:
    browser = operator(workspace)
    link = re.findall(r'href="([^"]*/text)"', browser.open("/leads?agent=support").text)[0]
    file = browser.open(link.removeprefix(browser.home))
    assert json.loads(file.text)["email"] == huge(250_000)


def test_a_form_saves_no_part_of_a_text(world: World, workspace_api: Api) -> None:
    """Saving an unchanged form leaves the omitted parts of a text unchanged."""
    browser = world.browser("")
    paths = {"agents": "/agents/support", "orgs": "/settings/orgs/acme", "clients": "/settings/orgs/acme/clients/kim"}
    records = {"agents": "/v2/agents/support", "orgs": "/v2/orgs/acme", "clients": "/v2/clients/kim"}
    for name, path in paths.items():
        before = workspace_api.get(records[name]).json
        page = browser.open(path)
        answer = browser.submit(page, path, {**controls(page.text, path, browser.home), "name": "New"})
        assert answer.status == 200, answer.text[:300]
        after = workspace_api.get(records[name]).json
        changed = {one for one in flat(before) if flat(before)[one] != flat(after).get(one)}
        assert changed <= {"lastModified"}, name


def test_the_first_100_tags_have_a_button_unless_they_are_too_long(world: World, workspace: NewWorkspace) -> None:
    page = operator(workspace).open("/convos/support/meta-1").text
    assert (page.count('<li class="tag">'), page.count('name="untag"')) == (100, 99)


def flat(answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer.get("data", answer)
    return found


def controls(page: str, path: str, home: str) -> dict[str, str]:
    """Return the fields that a browser sends for an unchanged form."""
    form = re.search(rf'<form[^>]*action="{re.escape(home + path)}"[^>]*>(.*?)</form>', page, re.DOTALL)
    assert form
    areas = re.findall(r'<textarea[^>]*name="([^"]*)"[^>]*>\n(.*?)</textarea>', form[1], re.DOTALL)
    inputs = re.findall(
        r'<input id="[^"]*" name="([^"]*)" (?:type="(?:text|email)"|inputmode="decimal") value="([^"]*)"', form[1]
    )
    flags = re.findall(r'<input id="[^"]*" name="([^"]*)" type="checkbox" checked', form[1])
    selects = re.findall(r'<select id="[^"]*" name="([^"]*)".*?<option value="([^"]*)" selected>', form[1])
    return {**{name: html.unescape(text) for name, text in (*areas, *inputs, *selects)}, **dict.fromkeys(flags, "on")}
