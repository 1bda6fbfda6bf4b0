"""The form in the console that assigns, tags and ends several conversations."""

import re
from typing import Any

import pytest

from chalicelib.extensions.console.access import sessions
from chalicelib.extensions.console.inbox_pages import bulk_changes, inbox
from tests.api import Answer, Api
from tests.capacity import metered
from tests.extensions.console.browser import Browser
from tests.extensions.console.test_inbox import converse, names_in
from tests.extensions.console.test_inbox import signed_in as signed_in

ANN, BEA = "pick.sales/Ann", "pick.support/Bea"


@pytest.fixture
def page(signed_in: Browser, workspace_api: Api) -> Answer:
    """Return the list with two conversations. The person does not see the agent of a third conversation."""
    for agent_id, name in (("sales", "Ann"), ("support", "Bea"), ("other", "Eve")):
        converse(workspace_api, agent_id, name, "requested_chat")
    return signed_in.open("/convos")


def change(browser: Browser, page: Answer, action: str, *chosen: str, **fields: str) -> Answer:
    return browser.submit(page, "/convos", {"action": action, **dict.fromkeys(chosen, "on"), **fields})


def read(api: Api, agent_id: str, name: str) -> Any:
    return api.get(f"/v3/agents/{agent_id}/convos/{name}").data


def test_a_form_tags_assigns_and_ends_several(signed_in: Browser, workspace_api: Api, page: Answer) -> None:
    workspace_api.patch("/v3/agents/sales/convos/Ann", {"conversation": {"tags": ["old", "refund"]}})
    tagged = change(signed_in, page, "tag", ANN, BEA, tags="refund, urgent ,")
    assert "Conversations tagged: 2." in tagged.text
    assert read(workspace_api, "sales", "Ann")["tags"] == ["old", "refund", "urgent"]
    assert read(workspace_api, "support", "Bea")["tags"] == ["refund", "urgent"]
    assigned = change(signed_in, page, "assign", ANN, BEA, to="bo")
    assert "Conversations assigned: 2." in assigned.text and names_in(assigned) == ["Ann", "Bea"]
    assert read(workspace_api, "support", "Bea")["chatAssignedTo"] == "bo"
    mine = "/convos?tab=mine"
    ended = signed_in.submit(signed_in.open(mine), mine, {"action": "end", ANN: "on"})
    assert "Conversations ended: 1." in ended.text and names_in(ended) == ["Bea"]  # the tab stays
    states = [read(workspace_api, *ids)["state"] for ids in (("sales", "Ann"), ("support", "Bea"))]
    assert states == ["ended_chat", "requested_chat"]


def test_ended_conversations_are_reopened_unless_they_have_changed(
    signed_in: Browser, workspace_api: Api, page: Answer
) -> None:
    def undo(ended: Answer) -> Answer:
        form = ended.text.partition('<form class="toast"')[2].partition("</form>")[0]
        fields = dict(re.findall(r'name="([^"]*)" value="([^"]*)"', form))
        assert {ANN, BEA} < {*fields} and ">Undo</button>" in form
        return signed_in.post("/convos", fields)

    ended = change(signed_in, page, "end", ANN, BEA)
    reopened = undo(ended)
    assert "Conversations open again: 2." in reopened.text and names_in(reopened) == ["Ann", "Bea"]
    assert "Undo" not in reopened.text
    again = undo(ended)  # pressed twice
    assert again.status == 200 and "Conversations open again: 2." in again.text
    ended = change(signed_in, page, "end", ANN, BEA)
    signed_in.submit(signed_in.open("/convos/sales/Ann"), "/convos/sales/Ann", {"action": "take"})
    assert undo(ended).status == 409  # another change of the same person followed
    assert read(workspace_api, "sales", "Ann")["chatAssignedTo"] == "bo"
    workspace_api.patch("/v3/agents/sales/convos/Ann", {"conversation": {"state": "requested_chat"}})
    ended = change(signed_in, page, "end", ANN, BEA)
    workspace_api.patch("/v3/agents/sales/convos/Ann", {"conversation": {"state": "human-chatting"}})
    refused = undo(ended)
    assert refused.status == 409 and "Conversations open again: 1." in refused.text
    states = [read(workspace_api, *ids)["state"] for ids in (("sales", "Ann"), ("support", "Bea"))]
    assert states == ["human-chatting", "requested_chat"]


def test_a_page_reports_the_rows_that_failed_and_keeps_them_chosen(
    signed_in: Browser, workspace_api: Api, page: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert workspace_api.delete("/v3/agents/support/convos/Bea").status == 200
    failed = change(signed_in, page, "end", ANN, BEA, "pick.sales", "pick.sales/a b")
    assert failed.status == 409
    assert "Conversations ended: 1." in failed.text and "Conversations not changed: 3." in failed.text
    reasons = re.findall(r'/convos/([^"]*)">[^<]*</a>: ([^<]*)</li>', failed.text)
    assert [place for place, _ in reasons] == ["support/Bea", "sales/", "sales/a%20b"] and all(dict(reasons).values())
    converse(workspace_api, "support", "Bea", "requested_chat")
    rest = signed_in.submit(failed, "/convos", {"action": "assign", BEA: "on", "to": "eve"})
    assert rest.status == 409 and re.findall(r'name="(pick[^"]*)" checked', rest.text) == [BEA]


@pytest.mark.parametrize(
    ("action", "chosen", "fields", "words"),
    [
        ("end", [], {}, "Select conversations first."),
        ("tag", [ANN], {"tags": " , "}, "Enter a tag first."),
        ("end", [f"pick.sales/{number}" for number in range(inbox.MAX_ROWS + 1)], {}, "at most 50"),
        ("reply", [ANN], {"text": "Hello"}, "unknown action"),
    ],
    ids=["none", "no tag", "too many", "unknown"],
)
def test_an_invalid_form_changes_nothing(
    action: str,
    chosen: list[str],
    fields: dict[str, str],
    words: str,
    signed_in: Browser,
    workspace_api: Api,
    page: Answer,
) -> None:
    answer = change(signed_in, page, action, *chosen, **fields)
    assert (answer.status, words in answer.text) == (400, True)
    assert read(workspace_api, "sales", "Ann")["state"] == "requested_chat"
    assert "messages" not in answer.text.partition('role="alert"')[0]


def test_tags_that_an_organisation_disallows_are_not_added(
    signed_in: Browser, workspace_api: Api, page: Answer
) -> None:
    members = {"name": "Acme", "widgetIDs": ["support", "sales"], "disallowAnyTags": True}
    workspace_api.post("/v2/orgs/acme", members)
    sessions.clear_cache()
    assert change(signed_in, page, "tag", ANN, tags="refund").status == 403
    assert not read(workspace_api, "sales", "Ann").get("tags")
    assert 'name="tags"' not in signed_in.open("/convos").text


def test_a_conversation_is_assigned_to_nobody_of_another_organisation(
    signed_in: Browser, workspace_api: Api, page: Answer
) -> None:
    workspace_api.post("/v2/clients/eve", {"orgId": "rival", "email": "eve@rival.test"})
    assert change(signed_in, page, "assign", ANN, to="eve").status == 409
    assert read(workspace_api, "sales", "Ann").get("chatAssignedTo") is None


def test_tags_that_change_at_the_same_time_are_kept(
    signed_in: Browser, workspace_api: Api, page: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = bulk_changes.calls.read

    def read_late(path: str, **values: str) -> Any:
        answer = real(path, **values)
        monkeypatch.setattr(bulk_changes.calls, "read", real)
        workspace_api.patch("/v3/agents/sales/convos/Ann", {"conversation": {"tags": ["other"]}})
        return answer

    monkeypatch.setattr(bulk_changes.calls, "read", read_late)
    failed = change(signed_in, page, "tag", ANN, tags="refund")
    assert failed.status == 409 and read(workspace_api, "sales", "Ann")["tags"] == ["other"]


def test_each_change_is_one_operation(signed_in: Browser, page: Answer) -> None:
    with metered() as first:
        change(signed_in, page, "end", ANN)
    with metered() as second:
        change(signed_in, page, "end", ANN, BEA)
    assert first.writes > 0 and second.writes == first.writes  # the first conversation has ended already


def test_a_form_with_an_agent_of_others_changes_nothing(signed_in: Browser, workspace_api: Api, page: Answer) -> None:
    for forged in ("pick.other/Eve", "pick.", "pick.no-slash"):
        assert change(signed_in, page, "end", ANN, forged).status == 404
    for ids in (("sales", "Ann"), ("other", "Eve")):
        assert read(workspace_api, *ids)["state"] == "requested_chat"


def test_only_the_list_has_boxes(signed_in: Browser, page: Answer) -> None:
    box = 'type="checkbox" name="pick.'
    assert page.text.count(box) == 2 and "pick." not in signed_in.open("/convos/sales/Ann").text
    assert signed_in.open("/inbox?tab=waiting").text.count(box) == 2
    assert "pick." not in signed_in.open("/inbox?tab=waiting&beside=sales/Ann").text
    for query in ("done=unknown&changed=2", "done=end&changed=x", "done=end&changed=-1", "done=end&changed=²"):
        assert 'class="toast"' not in signed_in.open(f"/convos?{query}").text
