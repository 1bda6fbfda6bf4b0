"""Agent versions in the console; the history extension stores them."""

import re
from typing import Any

import pytest

from chalicelib.extensions.console.access import sessions
from chalicelib.extensions.console.agent_pages import record_differences
from chalicelib.extensions.console.presentation import differences, marked_lines, member_names, rendering
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.test_agents import AGENT, CANARY, LARGE, filled, read_agent, save
from tests.extensions.console.test_agents import signed_in as signed_in
from tests.followers import follow
from tests.moto_tables import snapshot
from tests.selection import one_of_each
from tests.webhooks.pipeline import Stream

extensions.require("history")
NUMBER = extensions.joined("CHOSEN")["number"]


@pytest.fixture
def version(workspace: NewWorkspace, workspace_api: Api) -> None:
    """Return a version of the agent."""
    extensions.populate(workspace.workspace_id, {"agent_id": "support"}, "Kept")


@pytest.mark.parametrize("number", ["x", "1.5", "0", "99999999999999999999"])
def test_an_unknown_version_is_not_found(number: str, signed_in: Browser) -> None:
    assert signed_in.open(f"{AGENT}/versions/{number}").status == 404


def test_a_version_is_compared_and_restored(signed_in: Browser, workspace_api: Api, version: None) -> None:
    workspace_api.patch(f"/v3{AGENT}", {"agent": {"title": "Support", "theme": "<dark>"}})
    save(signed_in, {"title": "Help"})
    listed = signed_in.open(f"{AGENT}/versions")
    assert f"{AGENT}/versions/{NUMBER}" in listed.text
    page = signed_in.open(f"{AGENT}/versions/{NUMBER}")
    assert "<h3>Title</h3>" in page.text and CANARY not in page.text
    assert re.search(r"<h1>Help · Version [^<]+</h1>", page.text)
    assert re.search(
        rf'Restore[^<]*</button><a class="button second" href="[^"]*{AGENT}/versions">Cancel</a>', page.text
    )
    workspace_api.patch(f"/v3{AGENT}", {"agent": {"description": "Meanwhile"}})
    stale = signed_in.submit(page, f"/versions/{NUMBER}", {})
    assert (stale.status, "<h3>Description</h3>" in stale.text) == (412, True)
    assert read_agent(workspace_api)["title"] == "Help"
    assert "Version 1 has been restored." in signed_in.submit(stale, f"/versions/{NUMBER}", {}).text
    assert read_agent(workspace_api)["title"] == "Kept before"


def test_the_pages_of_versions_have_one_name(signed_in: Browser, version: None) -> None:
    """The tab and the titles. The panel beside the agent's form does not repeat the tab."""
    page = signed_in.open(AGENT).text
    assert len(re.findall(rf'href="[^"]*{AGENT}/versions"[^>]*>(?:<svg.*?</svg>)?Versions</a>', page)) == 1
    listed, opened = (signed_in.open(f"{AGENT}/versions{below}").text for below in ("", f"/{NUMBER}"))
    assert "<title>Versions · " in listed and "<title>Version 1 · " in opened


def test_a_restored_version_names_the_version_that_it_restored(operator: Browser, workspace_api: Api) -> None:
    stream = Stream("agents")
    for title in ("First", "Second"):
        workspace_api.patch(f"/v3{AGENT}", {"agent": {"title": title}})
        follow("agents", stream.read("agents"))
    first = re.findall(r'/versions/(\d+)"', operator.open(f"{AGENT}/versions").text)[1]
    page = operator.open(f"{AGENT}/versions/{first}")
    position = re.search(r"<title>Version (\d)", page.text)[1]  # type: ignore[index]
    saved = operator.submit(page, f"/versions/{first}", {})
    assert f"Version {position} has been restored." in saved.text
    assert "<b>" not in operator.open(f"{AGENT}?saved=restored&version=<b>").text
    follow("agents", stream.read("agents"))
    listed = operator.open(f"{AGENT}/versions").text
    assert listed.count(f"Restored from version {position}<") == 1
    newest = re.findall(r'/versions/(\d+)"', listed)[0]
    opened = operator.open(f"{AGENT}/versions/{newest}").text
    assert re.search(rf'Restored from</dt><dd><a href="[^"]*/{first}">Version {position}</a>', opened)
    assert "</em> Restored the version from " in operator.open("/settings/audit").text
    assert f",restoredFrom: {first}; title: Second → First" in operator.open("/settings/audit.csv").text


def test_long_texts_are_compared_by_lines() -> None:
    """Texts of more than 200 lines are shown whole."""
    texts = [f"Line {number}." for number in range(12)]
    before, after = {"prompt": "\n".join(texts)}, {"prompt": "\n".join([*texts[:5], "New.", *texts[6:]])}
    (changed,) = differences.between(before, after)
    assert changed.lines == (
        "…", " Line 3.", " Line 4.", "-Line 5.", "+New.", " Line 6.", " Line 7."
    )  # fmt: skip
    long = "a\n" * 200
    for old, new, lines in (
        ("a", "b", ("-a", "+b")),
        ("a\n", "a", (" a", "-")),
        (f"{long}a", "b", (*["-a"] * 201, "+b")),
        ("", "a\nb", ("+a", "+b")),
        (4, None, ("-4", "+null")),
    ):
        (whole,) = differences.between({"prompt": old}, {"prompt": new})
        assert whole == ("prompt", lines, False, False)
    (added,) = differences.between({}, {"prompt": "a"})
    assert added.lines == ("+a",)


def marks(before: str, after: str) -> list[str]:
    """Return the changed lines of two texts, with brackets around the marked words."""
    (changed,) = differences.between({"title": before}, {"title": after})
    return [
        line.sign + "".join(f"[{part.text}]" if part.is_changed else part.text for part in line.parts)
        for line in marked_lines.marked_lines(changed, rendering.texts("en"))
    ]


def test_changed_words_are_marked_inside_a_line() -> None:
    assert marks("Be brief and warm.", "Be brief, warm.") == ["-Be brief[ and] warm.", "+Be brief[,] warm."]
    assert marks("Be brief.", "Be brief. Be warm.") == ["-Be brief.", "+Be brief.[ Be warm.]"]
    assert marks("Same\nOld one\nLast", "Same\nNew one\nLast") == [
        " Same", "-[Old] one", "+[New] one", " Last"
    ]  # fmt: skip
    assert marks("a b\nc d", "a x\ny z\na q") == ["-a [b]", "-c d", "+a [x]", "+y z", "+a q"]
    assert marks("", "Added") == ["+Added"]
    assert marks("1\n2\n3\nOld", "1\n2\n3\nNew")[0] == "…"  # the lines that are left out


def test_lists_of_texts_are_compared_as_lines() -> None:
    (changed,) = differences.between({"hello": ["Hi", "Ask me"]}, {"hello": ["Hi", "Ask us"]})
    assert changed.lines == (" Hi", "-Ask me", "+Ask us")
    first, last = {"id": "a"}, {"id": "b"}
    (order,) = differences.between({"nodes": [first, last]}, {"nodes": [last, first]})
    assert (order.path, order.lines) == ("nodes", ("+b", " a", "-b"))
    (changed,) = differences.between({"hello": ["a\nb"]}, {"hello": ["a", "b"]})
    assert changed.lines


def test_a_listed_version_shows_what_changed_first(signed_in: Browser, workspace_api: Api) -> None:
    """A line begins near its first change, four members are shown, the prompt first, and people have their names."""
    stream = Stream("agents")
    start = "You are the concierge of a large hotel at the harbour, and you are "
    workspace_api.post("/v2/clients/bo", {"name": "Bo Visser"})
    sessions.clear_cache()
    signed_in.start_session(email="bo@acme.test", password=PASSWORD)
    for prompt in ("brief.", "warm & brief."):
        save(signed_in, {"vg_systemPrompt": start + prompt})
        follow("agents", stream.read("agents"))
    workspace_api.patch(f"/v3{AGENT}", {"agent": {"lang": "nl", "title": "Help", "description": "x", "starred": True}})
    follow("agents", stream.read("agents"))
    many = {"lang": "en", "title": "Desk", "description": "y", "starred": False, "vg_systemPrompt": "Be <brief>."}
    workspace_api.patch(f"/v3{AGENT}", {"agent": many})
    follow("agents", stream.read("agents"))
    page = signed_in.open(f"{AGENT}/versions").text
    newest, four, second = page.partition("rows versions")[2].split("<li>")[1:4]
    assert "and 2 more" in newest and newest.count("<p><strong>") == 3
    assert '<div class="what"><p><strong>System prompt</strong>' in newest
    assert " more" not in four and four.count("<p><strong>") == 4 and "<ins>Dutch</ins>" in four
    assert "<del>… harbour, and you are brief.</del>" in second
    assert "<ins>… harbour, and you are <mark>warm &amp; </mark>brief.</ins>" in second and "Bo Visser" in second


def test_a_text_that_is_also_split_into_lines_keeps_its_equal_words_in_an_excerpt(
    signed_in: Browser, workspace_api: Api
) -> None:
    stream = Stream("agents")
    for prompt in (
        "You are the concierge of the hotel. Be brief.",
        "You are the concierge of the hotel.\nBe brief. Smile.",
    ):
        save(signed_in, {"vg_systemPrompt": prompt})
        follow("agents", stream.read("agents"))
    page = signed_in.open(f"{AGENT}/versions").text
    assert "brief.</del>" in page and "brief.<mark> Smile.</mark></ins>" in page


def test_flags_and_languages_are_compared_by_their_names() -> None:
    t = rendering.texts("nl")
    before, after = {"lang": "en", "starred": True, "title": "true"}, {"lang": "nl", "starred": False, "title": "en"}
    changes = differences.between(before, after)
    texts = [[member_names.value_text(line, one, t) for line in one.lines] for one in changes]
    assert texts == [["Engels", "Nederlands"], ["Ja", "Nee"], ["true", "en"]]
    assert [one.is_flag for one in differences.between({"starred": True}, {"starred": None})] == [False]


def test_a_removed_value_is_shown_as_empty(signed_in: Browser, workspace_api: Api, version: None) -> None:
    workspace_api.patch(f"/v3{AGENT}", {"agent": {"lang": "en", "starred": True}})
    page = signed_in.open(f"{AGENT}/versions/{NUMBER}").text
    empty, no = "<span>  <em>Becomes empty</em></span>", "<ins>+ <em>No</em></ins>"
    for name, value, after in (("Language", "English", empty), ("Starred", "Yes", no)):
        element = f"<h3>{name}</h3>\n<pre><del>- {value}</del>{after}</pre></div>"
        assert f'<div class="member">{element}' in page
    for prompt in ("Be brief.", None):
        workspace_api.patch(f"/v3{AGENT}", {"agent": {"vg_systemPrompt": prompt}})
        page = signed_in.open(f"{AGENT}/versions/{NUMBER}").text
        assert ("empties the system prompt" in page) == bool(prompt)
        buttons = re.findall(r"<button[^>]*>Restore[^<]*</button>", page)
        expected = '<button class="danger">Restore anyway' if prompt else "<button>Restore this version"
        assert buttons == [f"{expected}</button>"]


def test_a_restoration_names_members_without_a_field_and_keeps_saved_replies(
    signed_in: Browser, workspace_api: Api
) -> None:
    """The console cannot read members that the API does not know, but a restoration changes them, too."""
    stream, path = Stream("agents"), f"/v3{AGENT}"
    for members in ({"title": "A"}, {"title": "B", "savedReplies": ["Hi"], "own": 1}, {"savedReplies": ["Bye"]}):
        workspace_api.patch(path, {"agent": members})
        follow("agents", stream.read("agents"))
    listed = signed_in.open(f"{AGENT}/versions").text
    last, middle, first = list(dict.fromkeys(re.findall(r"/versions/(\d+)", listed)))[:3]
    assert listed.count("<strong>Saved replies</strong>") == 2 and "<code>own</code>" in listed
    page = signed_in.open(f"{AGENT}/versions/{last}").text
    assert re.findall(r"<h3>(.*?)</h3>", page) == ["Saved replies"] and "No setting changed" not in page
    page = signed_in.open(f"{AGENT}/versions/{last}?with={middle}").text
    assert re.findall(r"<h3>(.*?)</h3>", page) == ["Saved replies"] and "have the same settings" not in page
    page = signed_in.open(f"{AGENT}/versions/{last}?with={first}").text
    assert re.findall(r"<h3>(.*?)</h3>", page) == ["Title", "Saved replies", "<code>own</code>"]
    page = signed_in.open(f"{AGENT}/versions/{first}")
    changes, form = page.text.partition('id="restore"')[2].split("<form", 1)
    assert re.findall(r"<h3>(.*?)</h3>", changes) == ["Title", "<code>own</code>"]
    assert "Saved replies, keys, passwords and tools are kept." in form and "would be removed" in form
    assert "They replace all" in signed_in.open(f"{AGENT}/versions/{middle}").text
    signed_in.submit(page, f"/versions/{first}", {})
    agent = workspace_api.get(path).data
    assert (agent["title"], agent["savedReplies"], "own" in agent) == ("A", ["Bye"], False)
    page = signed_in.open(f"{AGENT}/versions/{middle}")
    signed_in.submit(page, f"/versions/{middle}", {"savedReplies": "on"})
    assert workspace_api.get(path).data["savedReplies"] == ["Hi"]


def test_any_two_versions_are_compared(signed_in: Browser, workspace_api: Api) -> None:
    stream = Stream("agents")
    for title in ("First", "Second", "Third"):
        workspace_api.patch(f"/v3{AGENT}", {"agent": {"title": title}})
        follow("agents", stream.read("agents"))
    third, second, first = re.findall(r'/versions/(\d+)"', signed_in.open(f"{AGENT}/versions").text)[:3]
    page = signed_in.open(f"{AGENT}/versions/{third}").text
    assert f'<option value="{first}">Version ' in page and f'value="{third}"' not in page
    assert "<del>- Second</del>" in page and "First" not in page
    page = signed_in.open(f"{AGENT}/versions/{third}?with={first}").text
    assert "<del>- First</del><ins>+ Third</ins>" in page and "Second" not in page
    assert re.search(r"<h2>Compared with Version \d</h2>", page) and f'value="{first}" selected>' in page
    assert "Both versions have the same settings." in signed_in.open(f"{AGENT}/versions/{second}?with={second}").text
    for number in ("x", "9"):
        assert signed_in.open(f"{AGENT}/versions/{third}?with={number}").status == 404


def test_versions_show_no_technical_members_or_keys_to_clients(
    signed_in: Browser, operator: Browser, workspace_api: Api
) -> None:
    stream = Stream("agents")
    technical = {"agentPlatform": "vg", "createdAtUNIX": 1}
    for members in ({"title": "Help"}, technical, {**technical, "agentPlatform": "other", "vg_temperature": 1}):
        workspace_api.patch(f"/v3{AGENT}", {"agent": members})
        follow("agents", stream.read("agents"))
    texts = [browser.open(f"{AGENT}/versions").text for browser in (signed_in, operator)]
    for text in texts:
        assert "Platform" not in text and "Creation date" not in text and "Saved without a change to a setting" in text
        unchanged, offers = text.count("Saved without"), text.count('class="restoring"')
        assert (
            offers == text.count('class="author"') - unchanged - 1
        )  # neither the current version nor an unchanged one
    assert ["first key" in text for text in texts] == [False, True]
    assert ["Operator of the service" in text for text in texts] == [True, False]
    number = re.findall(r'/versions/(\d+)"', texts[0])[0]
    page = signed_in.open(f"{AGENT}/versions/{number}").text
    assert re.findall(r"<h3>(.*?)</h3>", page) == ["Temperature"]


def test_differences_are_in_the_order_of_the_form_and_parameters_are_words() -> None:
    t = rendering.texts("en")
    before = {"title": "a", "description": "a", "vg_systemPrompt": "a", "theme": "a", "agentPlatform": "a"}
    changes = record_differences.between("agents", before, dict.fromkeys(before, "b"), t)
    assert [one.path for one in changes] == ["title", "description", "vg_systemPrompt", "theme"]
    arrival = {"id": "01a", "key": "arrival", "type": "string", "in": "query", "required": True}
    tool = {"name": "find", "serverUrl": "https://a.test", "method": "GET", "fields": [arrival]}
    changes = record_differences.between("tools", {}, tool, t)
    assert [one.path for one in changes] == ["name", "method", "serverUrl", "fields.arrival"]
    assert changes[-1].lines == ("+Type: Text", "+Place: Query", "+Required: Yes")
    changed = {**arrival, "required": False, "description": "A day.", "isEnv": True}
    nameless, twice = {"id": "01b", "key": None}, {"id": "01c", "key": "arrival", "type": "date"}
    (first, second, third) = record_differences.between(
        "tools", tool, {**tool, "fields": [changed, nameless, twice]}, t
    )
    assert (first.path, second.path, third.path) == ("fields.01b", "fields.01c", "fields.arrival")
    assert second.lines[0] == "+Type: date" and not third.is_json
    assert third.lines[2:] == ("-Required: Yes", "+Required: No", "+Description: A day.", "+isEnv: true")
    assert record_differences.between("tools", {"fields": []}, {}, t) == []
    until = {**arrival, "id": "01d", "key": "until"}
    (order,) = record_differences.between("tools", {"fields": [arrival, until]}, {"fields": [until, arrival]}, t)
    assert (order.path, order.lines) == ("fields", ("+until", " arrival", "-until"))
    (added,) = record_differences.between("tools", {"fields": [arrival]}, {"fields": [until, arrival]}, t)
    assert added.path == "fields.until"


def test_a_prompt_with_a_bracket_in_a_line_is_no_json() -> None:
    prompts = {"prompt": "Answer as JSON:\n{\n}"}, {"prompt": "Answer in JSON:\n{\n}"}
    assert [one.is_json for one in differences.between(*prompts)] == [False]
    assert [one.is_json for one in differences.between({}, {"nodes": [{"text": "a"}]})] == [True]


def tool_with_two_versions(api: Api, tool: dict[str, Any], new_name: str) -> str:
    """Create a tool and then rename it. Return its id."""
    stream = Stream("agents")
    tool_id: str = api.post("/v3/agents/support/tools", {"tool": tool}).data["id"]
    follow("agents", stream.read("agents"))
    api.patch(f"/v3/tools/{tool_id}", {"tool": {"name": new_name}})
    follow("agents", stream.read("agents"))
    return tool_id


def test_a_restoration_is_not_confirmed_if_only_the_order_has_changed(operator: Browser, workspace_api: Api) -> None:
    fields = [{"id": "01a", "key": "from", "type": "string"}, {"id": "01b", "key": "until", "type": "string"}]
    tool = {"name": "Find", "serverUrl": "https://tools.test/", "fields": fields}
    tool_id = tool_with_two_versions(workspace_api, tool, "Search")
    path = f"/agents/support/tools/{tool_id}/versions"
    first = re.findall(rf'{path}/(\d+)"', operator.open(path).text)[-1]
    page = operator.open(f"{path}/{first}")
    stored = workspace_api.get(f"/v3/tools/{tool_id}").data["fields"]
    workspace_api.patch(f"/v3/tools/{tool_id}", {"tool": {"name": "Find", "fields": stored[::-1]}})
    refused = operator.submit(page, f"/versions/{first}", {})
    assert (refused.status, "<h3>Parameters</h3>" in refused.text) == (412, True)
    assert "Version 1 has been restored." in operator.submit(refused, f"/versions/{first}", {}).text
    assert workspace_api.get(f"/v3/tools/{tool_id}").data["fields"] == stored


def test_members_have_the_labels_of_the_form() -> None:
    t = rendering.texts("en")
    names = member_names.member_names(["vg_systemPrompt", "theme", "limits.maxMonthlyCreditsUsage", "nodes.a.text"], t)
    assert names == (["System prompt", "Credits per month", "Nodes"], ["theme"], False)
    assert member_names.member_name("nodes.a.text", t) == ("Nodes", "a.text")
    many = member_names.member_names([f"{'x' * 200}{number}" for number in range(21)], t)
    assert (len(many.paths), many.has_more, max(map(len, many.paths)) < 110) == (20, True, True)


def test_changed_lines_are_marked_and_escaped(signed_in: Browser, workspace_api: Api) -> None:
    workspace_api.patch(f"/v3{AGENT}", {"agent": {"vg_systemPrompt": "Be brief.\n<b>Be warm.</b>"}})
    page = signed_in.open(AGENT)
    workspace_api.patch(f"/v3{AGENT}", {"agent": {"vg_systemPrompt": "Be brief.\nBe warm."}})
    conflict = signed_in.submit(page, AGENT, {**filled(page), "title": "Other"})
    assert "<del>- Be warm.</del>" in conflict.text and "<ins>+ &lt;b&gt;Be warm.&lt;/b&gt;</ins>" in conflict.text


def test_a_restoration_without_the_compared_version_is_refused(signed_in: Browser, version: None) -> None:
    fields, before = filled(signed_in.open(AGENT)), snapshot()
    for tag in ("", '"none"', "?"):
        assert signed_in.post(f"{AGENT}/versions/{NUMBER}", {"form": fields["form"], "tag": tag}).status in (400, 412)
    assert snapshot() == before


def test_another_organisations_versions_are_not_found(signed_in: Browser) -> None:
    fields = filled(signed_in.open(AGENT))
    for path in ("/agents/other/versions", "/agents/other/versions/1"):
        assert signed_in.open(path).status == 404
    assert signed_in.post("/agents/other/versions/1", fields).status == 404


def test_secrets_are_on_no_page_of_versions(signed_in: Browser, version: None) -> None:
    """A page names an unknown member that a restoration removes, but never shows its value."""
    for path, names in ((f"{AGENT}/versions", []), (f"{AGENT}/versions/{NUMBER}", ["unknownMember"])):
        page = signed_in.open(path)
        assert page.status == 200
        assert CANARY not in page.text and re.findall("unknownMember", page.text) == names


@one_of_each(lambda name: "nodes" in LARGE[name])
@pytest.mark.parametrize("name", LARGE)
def test_versions_of_the_largest_agents_make_pages_below_a_megabyte(
    name: str, signed_in: Browser, workspace_api: Api, version: None
) -> None:
    assert workspace_api.patch(f"/v3{AGENT}", {"agent": {"nodes": None}}).status == 200
    assert workspace_api.patch(f"/v3{AGENT}", {"agent": LARGE[name]}).status == 200
    for path in (f"{AGENT}/versions", f"{AGENT}/versions/{NUMBER}"):
        page = signed_in.open(path)
        assert (page.status, len(page.text.encode()) < 1_000_000) == (200, True)


def test_a_restored_version_changes_no_limits_without_an_administrator(
    browser: Browser, workspace_api: Api, version: None
) -> None:
    workspace_api.patch("/v3/agents/support", {"agent": {"limits": {"maxMonthlyCreditsUsage": 100}}})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    path, before = f"/agents/support/versions/{NUMBER}", snapshot()
    assert browser.submit(browser.open(path), path, {}).status == 403
    assert snapshot() == before
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    sessions.clear_cache()
    assert "Version 1 has been restored." in browser.submit(browser.open(path), path, {}).text
    assert "limits" not in workspace_api.get("/v3/agents/support").data


def test_a_version_of_a_tool_is_compared_and_restored(operator: Browser, workspace_api: Api) -> None:
    tool = {"name": "Before", "serverUrl": "https://tools.test/", "serverUrlSecret": CANARY}
    tool_id = tool_with_two_versions(workspace_api, tool, "After <b>")
    path = f"/agents/support/tools/{tool_id}/versions"
    assert path in operator.open("/agents/support").text
    listed = operator.open(path)
    numbers = re.findall(rf'{path}/(\d+)"', listed.text)
    assert re.findall(rf'{path}/(\d+)#restore"', listed.text) == numbers[1:]
    rows = re.findall(r"<strong class=\"number\">(Version \d)(.*?)</strong>", listed.text)
    assert [(name, "Current" in rest) for name, rest in rows] == [("Version 2", True), ("Version 1", False)]
    newest = operator.open(f"{path}/{numbers[0]}")
    assert "Changed in this version" in newest.text and "<ins>+ After &lt;b&gt;</ins>" in newest.text
    assert "Restore this version" not in newest.text
    assert f'{numbers[-1]}" rel="prev">Previous version</a></li>' in newest.text
    assert "<del>Before</del>" in listed.text and "<ins>After &lt;b&gt;</ins>" in listed.text
    page = operator.open(f"{path}/{numbers[-1]}")
    assert f'{numbers[0]}" rel="next">Next version</a></li>' in page.text and 'rel="prev"' not in page.text
    assert "This creates a new version." in page.text and "Changed in this version" not in page.text
    assert "Created with" in page.text and "<ins>+ Before</ins>" in page.text and ">Support</a>" in page.text
    assert "<h3>Name</h3>" in page.text and CANARY not in page.text and "<b>" not in page.text
    assert "Version 1 has been restored." in operator.submit(page, f"/versions/{numbers[-1]}", {}).text
    assert workspace_api.get(f"/v3/tools/{tool_id}").data["name"] == "Before"
    assert workspace_api.get(f"/v3/tools/{tool_id}").data["serverUrlSecret"] == CANARY
    assert operator.open(path.replace("support", "other")).status == 404


def test_people_who_are_no_operators_see_no_versions_of_tools(signed_in: Browser, workspace_api: Api) -> None:
    tool = {"name": "Search", "serverUrl": "https://tools.test/"}
    tool_id = workspace_api.post("/v3/agents/support/tools", {"tool": tool}).data["id"]
    path = f"/agents/support/tools/{tool_id}/versions"
    form = {"form": filled(signed_in.open(AGENT))["form"]}
    assert [signed_in.open(path).status, signed_in.open(f"{path}/1").status] == [403, 403]
    assert signed_in.post(f"{path}/1", form).status == 403
