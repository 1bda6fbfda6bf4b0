"""The audit log: its filters and search, names of records and authors, and old and new values."""

import csv
import html
import re
from urllib.parse import quote

import pytest

from chalicelib import clock, storage
from chalicelib.credentials import store, tokens
from chalicelib.extensions.console.presentation import rendering
from chalicelib.extensions.console.settings_pages import change_groups
from chalicelib.storage import Document
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Api
from tests.conftest import StopClock
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import HOSTILE, PASSWORD
from tests.followers import follow
from tests.webhooks.pipeline import Stream

extensions.require("erasures", "history", "reports")

from tests.extensions.console import test_operator_pages


def rows(text: str) -> list[list[str]]:
    """Return the texts of the cells in each row, without the headings of days."""
    return [row for row in test_operator_pages.rows(text) if len(row) > 1]


@pytest.fixture
def history(workspace_api: Api) -> Stream:
    """Return the stream of agents, whose changes the history records."""
    return Stream("agents")


def test_the_audit_log_lists_and_filters_changes(operator: Browser, workspace_api: Api, history: Stream) -> None:
    for agent, title in (("support", HOSTILE), ("other", "Renamed")):
        workspace_api.patch(f"/v3/agents/{agent}", {"agent": {"title": title}})
    follow("agents", history.read("agents"))
    listed = rows(operator.open("/settings/audit").text)
    assert [(row[0], row[1]) for row in listed[:2]] == [
        ("Renamed Agent other", "Changed Compare Title Other → Renamed"),
        (f"{HOSTILE} Agent support", f"Changed Compare Title Support → {HOSTILE}"),
    ]
    filtered = rows(operator.open("/settings/audit?kind=agents&id=support").text)
    assert {row[0] for row in filtered} == {f"{HOSTILE} Agent support"}
    assert len(rows(operator.open("/settings/audit?kind=agents").text)) == len(listed)
    assert rows(operator.open("/settings/audit?kind=tools").text) == []
    assert rows(operator.open("/settings/audit?by=unknown").text) == []
    assert rows(operator.open("/settings/audit?to=2020-01-01").text) == []
    file = operator.open("/settings/audit.csv?kind=agents&id=support")
    assert file.headers["content-disposition"] == 'attachment; filename="audit-log.csv"'
    heading, newest, *_ = csv.reader(file.text.splitlines())
    assert heading[:9] == ["at", "resource", "operation", "changed", "byKind", "byId", "byName", "byPerson", "name"]
    assert (heading[9:], newest[9:]) == (["organisation", "values"], ["Acme Travel", f"title: Support → {HOSTILE}"])
    assert (newest[1:5], len(file.text.splitlines())) == (
        ["agents/support", "update", "title", "workspace"],
        len(filtered) + 1,
    )
    assert operator.open("/settings/audit.csv?id=support").status == 400


def test_the_audit_log_is_searched_by_names_ids_and_fields(
    operator: Browser, workspace_api: Api, history: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chalicelib.extensions.console.settings_pages.audit._LARGE_PAGE_SIZE", 2)
    workspace_api.patch("/v3/agents/support", {"agent": {"vg_systemPrompt": "Be brief.", "title": "Harbour"}})
    for number in range(3):
        workspace_api.patch("/v3/agents/other", {"agent": {"title": f"Other {number}"}})
    follow("agents", history.read("agents"))
    for text in ("system PROMPT", "vg_system"):
        (row,) = rows(operator.open(f"/settings/audit?q={quote(text)}").text)
        assert row[0] == "Harbour Agent support"
    harbour, support = (rows(operator.open(f"/settings/audit?q={text}").text) for text in ("harbour", "agents/SUPP"))
    assert harbour == support and {row[0] for row in harbour} == {"Harbour Agent support"}
    nothing = operator.open("/settings/audit?q=unknown").text
    assert "No changes match." in nothing and ">Clear filters</a>" in nothing
    lines = operator.open("/settings/audit.csv?q=system").text.splitlines()
    assert len(lines) == 2 and ",Harbour,Acme Travel," in lines[1]


def test_the_audit_log_is_filtered_by_organisation(
    operator: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chalicelib.extensions.console.settings_pages.audit._LARGE_PAGE_SIZE", 2)
    monkeypatch.setattr(change_groups, "_FEWEST", 100)
    names = ("agents", "clients", "organisations")
    streams = {name: Stream(name) for name in names}
    workspace_api.post("/v2/orgs/boats", {"name": "Boats", "widgetIDs": ["other"]})
    workspace_api.post("/v2/clients/bea", {"orgId": "boats", "name": "Bea"})
    for agent in ("support", "other"):
        workspace_api.post(f"/v3/agents/{agent}/tools", {"tool": {"name": f"Tool of {agent}"}})
        workspace_api.patch(f"/v3/agents/{agent}", {"agent": {"title": f"New {agent}"}})
    for name in names:
        follow(name, streams[name].read(name))
    filtered = {row[0] for row in rows(operator.open("/settings/audit?org=boats").text)}
    assert {one.rpartition(" ")[0] for one in filtered} >= {"Boats Organisation", "Bea Person", "New other Agent"}
    assert any("Tool of other" in one for one in filtered)
    assert not any("support" in one or "Acme" in one or "Bo de" in one for one in filtered)
    assert "No changes match." in operator.open("/settings/audit?org=unknown").text
    assert ",orgs/acme," not in operator.open("/settings/audit.csv?org=boats").text


def test_the_audit_log_says_what_was_granted_and_removed(operator: Browser, workspace_api: Api) -> None:
    streams = {name: Stream(name) for name in ("clients", "organisations")}
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True, "dashboardPassword": "another password"})
    workspace_api.post("/v2/clients/bea", {"orgId": "acme", "name": "Bea", "isOrgAdmin": True})
    for change in ({"disabled": True}, {"isOrgAdmin": None, "canAccess": ["/convos", "/leads"], "name": "Bea B."}):
        workspace_api.post("/v2/clients/bea", change)
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "canSelfEdit": True})
    for name, stream in streams.items():
        follow(name, stream.read(name))
    page = operator.open("/settings/audit").text
    changed = {(row[0].split()[-1], row[1], row[2]) for row in rows(page) if row[1].startswith("Changed")}
    assert changed == {
        ("acme", "Changed Its administrators can edit it granted", "Acme Travel"),
        ("bea", "Changed Pages Conversations, LeadsAdministrator removedName", "Acme Travel"),
        # A later change has replaced the values after this one, so only the member is known.
        ("bea", "Changed Disabled", "Acme Travel"),
        ("bo", "Changed Password changedAdministrator granted", "Acme Travel"),
    }
    assert "another password" not in page
    assert "<ins>granted</ins>" in page and "<del>removed</del>" in page


def test_the_audit_log_names_the_organisations_of_each_record(
    operator: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_groups, "_FEWEST", 100)
    streams = {name: Stream(name) for name in ("agents", "organisations")}
    for org_id in ("boats", "cafe", "diner"):
        workspace_api.post(f"/v2/orgs/{org_id}", {"name": org_id.title(), "widgetIDs": ["other"]})
    tool = workspace_api.post("/v3/agents/other/tools", {"tool": {"name": "Look up"}}).data["id"]
    workspace_api.patch("/v3/agents/support", {"agent": {"title": "Desk"}})
    workspace_api.post("/v2/agents/free", {"title": "Free"})
    workspace_api.delete("/v2/orgs/diner")
    for name, stream in streams.items():
        follow(name, stream.read(name))
    shown = {row[0]: row[2] for row in rows(operator.open("/settings/audit").text)}
    assert shown[f"Look up Tool {tool[:6]}…{tool[-6:]}"] == "Boats, Cafe"
    assert (shown["Desk Agent support"], shown["Free Agent free"]) == ("Acme Travel", "")
    assert (shown["Boats Organisation boats"], shown["Organisation diner"]) == ("Boats", "")


def test_the_audit_log_of_a_deleted_organisation_can_be_read(operator: Browser, workspace_api: Api) -> None:
    stream = Stream("organisations")
    workspace_api.post("/v2/orgs/boats", {"name": "Boats"})
    workspace_api.delete("/v2/orgs/boats")
    follow("organisations", stream.read("organisations"))
    page = operator.open("/settings/audit?org=boats").text
    assert [row[1].split()[0] for row in rows(page)] == ["Deleted", "Created"]
    assert '<option value="boats" selected>boats</option>' in page


def test_the_audit_log_names_tokens_and_keys(
    operator: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_groups, "_FEWEST", 100)
    streams = {name: Stream(name) for name in ("agents", "credentials")}
    workspace_api.post("/v3/tokens", {"token": {"name": HOSTILE, "expiresInSeconds": 86_400}})
    workspace_api.post("/v2/agents/keyed", {"title": "Keyed"})
    workspace_api.post("/v3/workspace/key/rotate", {})
    for name, stream in streams.items():
        follow(name, stream.read(name))
    page = operator.open("/settings/audit")
    names = [row[0].rsplit(" ", 1)[0] for row in rows(page.text)]
    assert f"{HOSTILE} Access token" in names and "Key of Keyed Key" in names and "<img" not in page.text
    assert sorted(name for name in names if name.endswith(" Key")) == [
        "Key of Keyed Key",
        "first key Key",
        "first key Key",
    ]
    assert "/settings#tokens" in page.text and "/agents/keyed/site" in page.text


def test_the_audit_log_lists_erasures_and_what_operators_viewed(operator: Browser, workspace_api: Api) -> None:
    erasure = workspace_api.post("/v3/erasures", {"erasure": {"userID": "ann", "reference": "TICKET-42"}}).data["id"]
    operator.submit(operator.open("/agents/support/site"), "/agents/support/site", {})
    operator.submit(operator.open("/settings/orgs/acme/clients/bo"), "/clients/bo", {"action": "view"})
    operator.submit(operator.open("/settings/audit"), "/end-view", {})
    page = operator.open("/settings/audit").text
    view, key, erased = rows(page)[:3]
    assert view[:3] == ["Bo de Vries View as a person bo", "Viewed", "Acme Travel"]
    assert key[:3] == ["Support Agent key shown support", "Shown", "Acme Travel"]
    assert erased[0].startswith("TICKET-42 Erasure of a person ") and erased[1] == "Started"
    assert [one[3] for one in (view, key, erased)] == ["first key in the console"] * 2 + ["first key workspace key"]
    assert f"/settings/erasures/{erasure}" in page
    (only,) = rows(operator.open("/settings/audit?kind=views").text)
    assert only == view
    lines = operator.open("/settings/audit.csv").text.splitlines()
    assert ",views/bo,view,," in lines[1] and f",erasures/{erasure},start,," in lines[3]
    assert ",keyviews/support,show,," in lines[2]


def test_the_audit_log_says_what_became_of_a_webhooks_state(operator: Browser, workspace_api: Api) -> None:
    stream, states = Stream("webhooks"), []
    hook = {"url": "https://hooks.test/a", "events": ["lead_captured"], "description": "CRM"}
    webhook = workspace_api.post("/v3/webhooks", {"webhook": hook}).data["id"]
    for enabled in (False, True):
        workspace_api.patch(f"/v3/webhooks/{webhook}", {"webhook": {"enabled": enabled}})
        follow("webhooks", stream.read("webhooks"))
        states.append(rows(operator.open("/settings/audit").text)[0][1])
    assert states == ["Changed State Active → Paused", "Changed State Paused → Active"]
    assert ",CRM,,enabled: Paused → Active" in operator.open("/settings/audit.csv").text


def change(at: str, operation: str = "create", resource: str = "clients/bo", by: str = "key") -> Document:
    return {"at": f"2026-11-{at}:00Z", "operation": operation, "resource": resource, "by": {"name": by}}


@pytest.mark.parametrize(
    ("changes", "sizes"),
    [
        ([change("27T10:00")] * 3 + [change("27T09:59")] * 2, [[3, 1, 1]]),
        ([change("27T10:00", "update")] * 4, [[1, 1, 1, 1]]),
        ([*[change("27T10:00")] * 2, change("27T10:00", by="other"), *[change("27T10:00")] * 3], [[1, 1, 1, 3]]),
        ([change("27T00:30", "delete")] * 3 + [change("26T22:30", "delete")], [[3], [1]]),
        ([], []),
    ],
)
def test_changes_are_listed_by_day_and_many_of_a_minute_together(
    changes: list[Document], sizes: list[list[int]]
) -> None:
    days = change_groups.by_day(changes, rendering.texts("en"))
    assert [[len(group.changes) for group in day.groups] for day in days] == sizes


def test_a_day_begins_at_midnight_in_the_persons_time_zone() -> None:
    amsterdam = rendering.texts("en", clock.time_zone("Europe/Amsterdam"))
    days = change_groups.by_day([change("27T00:30"), change("26T23:30"), change("26T22:30")], amsterdam)
    assert [len(day.groups) for day in days] == [2, 1]


def test_many_new_records_of_a_minute_are_one_row(
    operator: Browser, workspace_api: Api, history: Stream, stop_clock: StopClock
) -> None:
    stop_clock(clock.seconds())
    for number in range(3):
        workspace_api.post(f"/v2/agents/new-{number}", {"title": f"New {number}"})
    follow("agents", history.read("agents"))
    page = operator.open("/settings/audit").text
    (number,) = map(int, re.findall(r"<summary>(\d+) records</summary>", page))
    assert number >= 3 and f"Agent ×{number}</div>" in page and page.count('<li><a href="') >= number
    assert f'<p class="hint">New 2, New 1, New 0 and {number - 3} more</p>' in page or number == 3
    assert '<th scope="rowgroup" colspan="5"><time' in page


def test_the_audit_log_names_records_and_links_to_them(operator: Browser, workspace_api: Api) -> None:
    streams = {name: Stream(name) for name in ("agents", "clients", "organisations", "webhooks")}
    tool = workspace_api.post("/v3/agents/support/tools", {"tool": {"name": "Look up"}}).data["id"]
    workspace_api.patch(f"/v3/tools/{tool}", {"tool": {"name": "Look <b>"}})
    hook = {"url": "https://hooks.test/x", "events": ["lead_captured"], "description": "CRM"}
    webhook = workspace_api.post("/v3/webhooks", {"webhook": hook}).data["id"]
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Ltd"})
    workspace_api.post("/v2/agents/gone", {"title": "Gone"})
    for name, stream in streams.items():
        follow(name, stream.read(name))
    workspace_api.call("DELETE", "/v3/agents/gone")
    page = operator.open("/settings/audit")
    names = {row[0] for row in rows(page.text)}
    short = {one: f"{one[:6]}…{one[-6:]}" for one in (tool, webhook)}
    assert {f"Look <b> Tool {short[tool]}", f"CRM Webhook {short[webhook]}"} <= names
    assert {"Acme Ltd Organisation acme", "Gone Agent gone"} <= names
    assert f'<code title="{tool}">' in page.text and f'<code title="{webhook}">' in page.text
    assert any(name.endswith("Person bo") and name != "Person bo" for name in names)
    links = re.findall(r'<a href="/console/[^/]*/([^"]*)"', page.text)
    for path in (
        "settings/orgs/acme/clients/bo", f"settings/webhooks/{webhook}", f"agents/support/tools/{tool}/settings",
    ):  # fmt: skip
        assert path in links
    (version,) = {link for link in links if link.startswith(f"agents/support/tools/{tool}/versions/")}
    assert "<ins>+ Look <mark>&lt;b&gt;</mark></ins>" in operator.open(f"/{version}").text


@pytest.mark.parametrize("query", ["kind=unknown", "id=support", "kind=unknown&id=x", "kind=agents&id=a%23b"])
def test_a_filter_for_a_record_needs_a_known_kind(query: str, operator: Browser) -> None:
    page = operator.open(f"/settings/audit?{query}")
    assert (page.status, 'id="wrong-id"' in page.text) == (400, True)


def test_the_audit_log_names_the_people_who_used_the_console(
    operator: Browser, workspace_api: Api, history: Stream
) -> None:
    workspace_api.post("/v2/clients/bo", {"name": HOSTILE})
    person = operator.another()
    person.start_session(email="bo@acme.test", password=PASSWORD)
    person.submit(person.open("/agents/support"), "/agents/support", {"title": "Changed by Bo"})
    workspace_api.patch("/v3/agents/other", {"agent": {"title": "Changed by a key"}})
    follow("agents", history.read("agents"))
    page = operator.open("/settings/audit")
    assert [row[3] for row in rows(page.text)][:2] == ["first key workspace key", f"{HOSTILE} in the console"]
    assert f'<option value="bo">{html.escape(HOSTILE).replace("&quot;", "&#34;")}</option>' in page.text
    (link,) = {*re.findall(r'href="[^"]*(/settings/audit\?by=bo)"', page.text)}
    for found in (link, f"/settings/audit?q={quote(HOSTILE)}"):
        assert [row[0] for row in rows(operator.open(found).text)] == ["Changed by Bo Agent support"]
    lines = [*csv.DictReader(operator.open(link.replace("audit", "audit.csv")).text.splitlines())]
    assert [(line["byKind"], line["byName"], line["byPerson"]) for line in lines] == [("session", "bo", HOSTILE)]


def test_old_and_new_values_are_listed_for_a_few_records(
    operator: Browser, workspace_api: Api, history: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit in (("MAX_RECORDS", 1), ("MAX_CHANGES", 2)):
        monkeypatch.setattr(f"chalicelib.extensions.console.agent_pages.version_excerpts.{name}", limit)
    for agent in ("other", "support"):
        for number in range(3):
            workspace_api.patch(f"/v3/agents/{agent}", {"agent": {"title": f"{agent} {number}"}})
    follow("agents", history.read("agents"))
    changed = [
        row[1].removeprefix("Changed Compare Title").strip() for row in rows(operator.open("/settings/audit").text)
    ]
    assert changed[:6] == ["support 1 → support 2", "support 0 → support 1", "", "", "", ""]
    file = csv.DictReader(operator.open("/settings/audit.csv").text.splitlines())
    values = [line["values"] for line in file if line["operation"] == "update"]
    assert values[:6] == ["title: support 1 → support 2", "title: support 0 → support 1", "…", "…", "…", "…"]
    members = {"title": "a", "description": "a", "theme": "a", "vg_systemPrompt": "a", "vg_temperature": 0.5}
    workspace_api.patch("/v3/agents/support", {"agent": members})
    follow("agents", history.read("agents"))
    assert operator.open("/settings/audit.csv").text.splitlines()[1].endswith("; …")


def test_a_key_with_the_id_of_a_person_is_not_taken_for_that_person(
    workspace: NewWorkspace, workspace_api: Api, history: Stream
) -> None:
    with storage.unit_of_work():
        key = store.find_active(tokens.fingerprint(workspace.workspace_key))
        key.name = "bo"
        storage.put(key)
    browser = Browser(workspace.workspace_id)
    browser.start_session(key=workspace.workspace_key)
    browser.submit(browser.open("/agents/support"), "/agents/support", {"title": "Renamed"})
    follow("agents", history.read("agents"))
    page = browser.open("/settings/audit?kind=agents&id=support").text
    assert "bo (key)" in page and "Bo de Vries" not in page


def test_a_deleted_agent_stands_before_its_tools_and_key(
    operator: Browser, workspace_api: Api, agent_id: str, history: Stream
) -> None:
    for name in ("Boats", "Piers", "Times"):
        assert workspace_api.post("/v3/agents/support/tools", {"tool": {"name": name}}).status == 200
    follow("agents", history.read("agents"))
    assert workspace_api.delete("/v3/agents/support").status == 200
    follow("agents", history.read("agents"))
    (deleted, *_) = rows(operator.open("/settings/audit").text)
    assert deleted[0].startswith("Support Agent support5 recordsSupport Agent support")
    assert re.match(r"Deleted Agent ×1, Tool ×3, Key ×1Support, \w+, \w+ and 2 more$", deleted[1])
