"""Leads over HTTP: members, authorization, the list of an agent's leads, and deletion together with the agent."""

from typing import Any, get_args

import pytest

from chalicelib import storage
from chalicelib.http import responses
from chalicelib.ids import IDENTIFIER
from chalicelib.leads import store as leads
from chalicelib.leads.models import LeadChannel
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import refused, stored
from tests.builders import lead_body
from tests.conftest import PassTime, StopClock
from tests.engine_requests import counted, lose_first_answer
from tests.listed_pages import follow_cursors
from tests.selection import first_case, one_of_each
from tests.webhooks import pipeline

ANN = {"name": "Ann", "email": "ann@x.test", "phone": "+31 20 5550100"}


pytestmark = pytest.mark.usefixtures("ticking")


def capture(api: Api, agent_id: str = "support", **members: Any) -> Any:
    return api.post("/v3/leads", lead_body(agent_id, **members)).data


def list_leads(api: Api, query: str = "", agent_id: str = "support") -> Any:
    return api.get(f"/v3/agents/{agent_id}/leads{query}").data


def pages_of(api: Api, limit: int) -> list[list[Any]]:
    return [one.data for one in follow_cursors(api, f"/v3/agents/support/leads?limit={limit}")]


# ---- one lead -------------------------------------------------------------------------------------


def test_a_captured_lead_is_returned_and_read_unchanged(api: Api, agent_id: str, stop_clock: StopClock) -> None:
    stop_clock(1_793_611_800.123)
    answer = api.post("/v3/leads", lead_body(agent_id, **ANN, channel="telephony"))
    lead = answer.data
    assert answer.json["message"] == "Lead created successfully"
    assert lead == {
        "id": lead["id"],
        "agentId": "support",
        "agentName": "Support",
        **ANN,
        "channel": "telephony",
        "createdAt": 1793611800123,
    }
    read = api.get(f"/v3/leads/{lead['id']}")
    assert (read.json["message"], read.data) == ("Lead retrieved successfully", lead)
    assert list_leads(api) == [lead]


@pytest.mark.parametrize("members", [{}, dict.fromkeys(("name", "email", "phone", "channel"))], ids=["absent", "null"])
def test_only_the_agent_is_required_and_the_channel_defaults_to_web_chat(
    members: dict[str, None], api: Api, agent_id: str
) -> None:
    lead = capture(api, **members)
    assert lead.keys() == {"id", "agentId", "agentName", "channel", "createdAt"}
    assert lead["channel"] == "web-chat"


def test_the_channel_must_be_one_of_the_specification(api: Api, agent_id: str) -> None:
    channels = [
        "voice",
        "voiceplatform",
        "web-chat",
        "chatapp",
        "photoapp",
        "cloudchat",
        "community",
        "gb-chat",
        "socialmessenger",
        "telephony",
        "webchat",
    ]
    assert list(get_args(LeadChannel.__value__)) == channels
    assert [capture(api, channel=channel)["channel"] for channel in channels] == channels
    for wrong in ("socialnet", "Voice", ""):
        refused(api.post("/v3/leads", lead_body(channel=wrong)), 400, "lead.channel")


def test_any_text_is_stored_unchanged(api: Api, agent_id: str) -> None:
    odd = {"name": " Ann 🐑 \u0000é\n", "email": "no address", "phone": ""}
    lead = capture(api, **odd)
    assert {name: lead[name] for name in odd} == odd
    assert api.get(f"/v3/leads/{lead['id']}").data == lead


def test_the_agent_s_name_is_its_title_at_the_time_of_capture(api: Api, agent_id: str) -> None:
    before = capture(api)
    api.patch("/v3/agents/support", {"agent": {"title": "Sales"}})
    after = capture(api)
    api.patch("/v3/agents/support", {"agent": {"title": None}})
    nameless = capture(api)
    read = [api.get(f"/v3/leads/{one['id']}").data.get("agentName") for one in (before, after, nameless)]
    assert read == ["Support", "Sales", None]
    assert "agentName" not in nameless


def test_read_only_members_are_accepted_and_ignored(api: Api, agent_id: str) -> None:
    first = capture(api, **ANN)
    again = api.post("/v3/leads", {"lead": first}).data
    forged = capture(api, id="mine", agentName="Mine", createdAt=5)
    assert again["id"] != first["id"]
    assert forged["id"] != "mine"
    assert forged["agentName"] == "Support"
    api.post("/v2/agents/nameless", {})
    assert "agentName" not in capture(api, "nameless", agentName="Mine")
    assert forged["createdAt"] >= first["createdAt"] > 1_700_000_000_000


def test_capturing_a_lead_of_an_unknown_agent_is_a_404(api: Api, agent_id: str, other_workspace: NewWorkspace) -> None:
    Api(other_workspace.workspace_key).post("/v2/agents/theirs", {})
    api.post("/v2/agents/gone", {})
    api.delete("/v3/agents/gone")
    before = stored()
    for unknown in ("unknown", "theirs", "gone", "suppor", "support2"):
        answer = api.post("/v3/leads", lead_body(unknown))
        assert refused(answer, 404) == "There is no such agent."
    assert stored() == before


@pytest.mark.parametrize(
    ("agent", "rule"),
    [
        pytest.param("a#b", "must match pattern '^[A-Za-z0-9._~@:+=,|-]{1,128}$'", id="a number sign"),
        pytest.param("", "must match pattern '^[A-Za-z0-9._~@:+=,|-]{1,128}$'", id="empty"),
        pytest.param("a" * 129, "must match pattern '^[A-Za-z0-9._~@:+=,|-]{1,128}$'", id="too long"),
        pytest.param(5, "must be a string", id="a number"),
        pytest.param(None, "must be a string", id="null"),
    ],
)
@first_case
def test_the_error_for_an_invalid_agent_id_names_the_member(agent: Any, rule: str, api: Api) -> None:
    answer = api.post("/v3/leads", lead_body(agent))
    assert refused(answer, 400, "lead.agentId") == f"lead.agentId {rule}."


def test_an_agent_may_have_the_longest_id(api: Api) -> None:
    longest = "|" * 128
    assert api.post(f"/v2/agents/{longest}", {}).status == 200
    lead = capture(api, longest)
    assert (lead["agentId"], list_leads(api, agent_id=longest)) == (longest, [lead])


def test_a_lead_id_needs_no_encoding_in_a_path(api: Api, agent_id: str) -> None:
    ids = [capture(api)["id"] for _ in range(3)]
    assert len(set(ids)) == 3
    assert all(IDENTIFIER.fullmatch(one) and one.isalnum() for one in ids)


# ---- changing -------------------------------------------------------------------------------------


def test_a_change_merges_and_null_clears(api: Api, agent_id: str) -> None:
    lead = capture(api, **ANN, channel="voice")
    answer = api.patch(f"/v3/leads/{lead['id']}", {"lead": {"name": "Eve", "phone": None, "channel": None}})
    after = {**{name: value for name, value in lead.items() if name != "phone"}, "name": "Eve", "channel": "web-chat"}
    assert answer.json == {"success": True, "message": "Lead updated successfully", "data": after}
    assert api.get(f"/v3/leads/{lead['id']}").data == after
    assert list_leads(api) == [after]


def test_a_change_moves_no_lead_and_sends_no_webhook(api: Api, agent_id: str) -> None:
    lead = capture(api, **ANN)
    stream = pipeline.Stream()
    stream.read("leads")
    api.post("/v2/agents/other", {})
    forged = {"id": "mine", "agentId": "other", "agentName": "Mine", "createdAt": 5}
    assert api.patch(f"/v3/leads/{lead['id']}", {"lead": {**forged, "name": "Eve"}}).data == {**lead, "name": "Eve"}
    assert pipeline.events_of(stream.read("leads")) == []
    assert list_leads(api, agent_id="other") == []


def test_a_change_of_nothing_writes_nothing(api: Api, agent_id: str) -> None:
    lead = capture(api, **ANN)
    before = stored()
    assert api.patch(f"/v3/leads/{lead['id']}", {"lead": lead}).data == lead
    assert stored() == before


def test_a_lead_of_another_workspace_is_not_changed(api: Api, agent_id: str, other_workspace: NewWorkspace) -> None:
    lead = capture(api, **ANN)
    refused(Api(other_workspace.workspace_key).patch(f"/v3/leads/{lead['id']}", {"lead": {"name": "Eve"}}), 404)
    assert list_leads(api) == [lead]


def test_a_too_large_lead_is_refused_and_not_stored(api: Api, agent_id: str) -> None:
    name = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(300_000))
    refused(api.post("/v3/leads", lead_body(name=name)), 413)
    assert list_leads(api) == []


# ---- deleting -------------------------------------------------------------------------------------


def test_deleting_a_lead_deletes_no_other_lead(api: Api, agent_id: str) -> None:
    first, second = capture(api), capture(api)
    answer = api.delete(f"/v3/leads/{first['id']}")
    assert answer.json == {"success": True, "message": "Lead deleted successfully"}
    assert refused(api.get(f"/v3/leads/{first['id']}"), 404) == "There is no such lead."
    refused(api.delete(f"/v3/leads/{first['id']}"), 404)
    assert list_leads(api) == [second]


def test_a_deletion_with_a_lost_answer_is_not_a_conflict(api: Api, agent_id: str) -> None:
    lead = capture(api)
    with lose_first_answer("DeleteItem"):
        assert api.delete(f"/v3/leads/{lead['id']}").status == 200
    assert list_leads(api) == []


def test_deleting_an_agent_deletes_all_its_leads(api: Api, agent_id: str) -> None:
    api.post("/v2/agents/other", {})
    kept = capture(api, "other")
    ids = [capture(api, **ANN)["id"] for _ in range(120)]  # more leads than one request can delete
    assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"
    refused(api.get("/v3/agents/support/leads"), 404)
    assert {api.get(f"/v3/leads/{one}").status for one in (ids[0], ids[-1])} == {404}
    assert [item["lead_id"]["S"] for item in stored()["cams-leads"]] == [kept["id"]]


def test_an_agent_recreated_with_the_same_id_has_no_leads(api: Api, agent_id: str, pass_time: PassTime) -> None:
    old = capture(api)
    api.delete("/v3/agents/support")
    pass_time(90)
    api.delete("/v3/agents/support")  # completes the cascade's second run
    api.post("/v2/agents/support", {"title": "Support"})
    assert list_leads(api) == []
    new = capture(api)
    assert list_leads(api) == [new]
    refused(api.get(f"/v3/leads/{old['id']}"), 404)


# ---- the list -------------------------------------------------------------------------------------


def test_the_list_has_the_leads_of_one_agent_newest_first(api: Api, agent_id: str) -> None:
    for other in ("suppor", "support2", "SUPPORT"):
        api.post(f"/v2/agents/{other}", {})
        capture(api, other)
    made = [capture(api, name=str(number)) for number in range(5)]
    assert list_leads(api) == made[::-1]
    assert len(list_leads(api, agent_id="support2")) == 1


def test_leads_of_the_same_millisecond_are_all_listed(api: Api, agent_id: str, stop_clock: StopClock) -> None:
    stop_clock(1_793_611_800.123)
    ids = {capture(api)["id"] for _ in range(7)}
    pages = pages_of(api, 2)
    assert [len(page) for page in pages] == [2, 2, 2, 1]
    assert {one["id"] for page in pages for one in page} == ids


@pytest.mark.parametrize("limit", [4, 7])
def test_the_pages_contain_every_lead_once(limit: int, api: Api, agent_id: str) -> None:
    made = [capture(api, name=str(number)) for number in range(7)]
    pages = pages_of(api, limit)
    assert [one for page in pages for one in page] == made[::-1]
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert pages[-1]


def test_a_page_has_twenty_leads_by_default(api: Api, agent_id: str) -> None:
    for _ in range(21):
        capture(api)
    answer = api.get("/v3/agents/support/leads")
    assert (answer.json["message"], len(answer.data)) == ("Leads retrieved successfully", 20)
    assert len(list_leads(api, f"?cursor={answer.json['nextCursor']}")) == 1


def test_a_cursor_stays_valid_during_captures_and_deletions(api: Api, agent_id: str) -> None:
    made = [capture(api) for _ in range(6)]
    answer = api.get("/v3/agents/support/leads?limit=2")
    assert answer.data == made[:3:-1]
    capture(api)
    for gone in (made[4], made[3]):  # the request reads the lead that the cursor names, and the next lead
        api.delete(f"/v3/leads/{gone['id']}")
    assert list_leads(api, f"?limit=2&cursor={answer.json['nextCursor']}") == [made[2], made[1]]


def test_a_list_without_leads_is_empty_but_an_unknown_agent_is_a_404(api: Api, agent_id: str) -> None:
    answer = api.get("/v3/agents/support/leads")
    assert (answer.data, "nextCursor" in answer.json) == ([], False)
    assert refused(api.get("/v3/agents/unknown/leads"), 404) == "There is no such agent."


@one_of_each(lambda query: query[:5])
@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "cursor=!!!"])
def test_an_invalid_limit_or_cursor_is_refused(query: str, api: Api, agent_id: str) -> None:
    refused(api.get(f"/v3/agents/support/leads?{query}"), 400, query.split("=")[0])


def test_a_cursor_of_another_workspace_s_list_reveals_no_leads_of_it(
    api: Api, agent_id: str, other_workspace: NewWorkspace
) -> None:
    other = Api(other_workspace.workspace_key)
    other.post("/v2/agents/support", {})
    for _ in range(3):
        capture(other)
        capture(api)
    cursor = other.get("/v3/agents/support/leads?limit=1").json["nextCursor"]
    own = {one["id"] for one in list_leads(api)}
    assert {one["id"] for one in list_leads(api, f"?cursor={cursor}")} <= own


def test_a_page_ends_early_if_the_answer_is_full(api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [capture(api, name="n" * 4_000) for _ in range(5)]
    monkeypatch.setattr(responses, "RESPONSE_LIMIT", responses.ENVELOPE + 9_000)
    pages = pages_of(api, 5)
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [one for page in pages for one in page] == made[::-1]


def test_a_page_costs_one_request_for_any_number_of_leads(api: Api, agent_id: str) -> None:
    for _ in range(30):
        capture(api)
    cursor = api.get("/v3/agents/support/leads?limit=10").json["nextCursor"]
    with counted() as requests:
        assert len(list_leads(api, f"?limit=10&cursor={cursor}")) == 10
    assert requests == {"Query": 1}


# ---- authorization --------------------------------------------------------------------------------


def test_another_workspace_s_leads_are_not_found(api: Api, agent_id: str, other_workspace: NewWorkspace) -> None:
    lead, other = capture(api), Api(other_workspace.workspace_key)
    other.post("/v2/agents/support", {})  # two workspaces may use the same agent id
    refused(other.get(f"/v3/leads/{lead['id']}"), 404)
    refused(other.delete(f"/v3/leads/{lead['id']}"), 404)
    assert list_leads(other) == []
    assert list_leads(api) == [lead]


def test_an_access_token_may_write_and_a_read_only_token_may_read(
    api: Api, agent_id: str, workspace: NewWorkspace
) -> None:
    lead = capture(Api(workspace.access_token))
    reader = Api(api.post("/v3/tokens", {"token": {"name": "reader", "readOnly": True}}).data["token"])
    assert reader.get(f"/v3/leads/{lead['id']}").data == lead
    assert list_leads(reader) == [lead]
    refused(reader.post("/v3/leads", lead_body()), 403)
    refused(reader.delete(f"/v3/leads/{lead['id']}"), 403)
    assert list_leads(api) == [lead]
    assert Api(workspace.access_token).delete(f"/v3/leads/{lead['id']}").status == 200


def test_the_agent_s_own_key_is_refused_on_all_lead_routes(api: Api, agent_id: str) -> None:
    lead = capture(api)
    agent = Api(api.get("/v2/agents/support").json["SECRET_API_KEY"])
    refused(agent.post("/v3/leads", lead_body()), 403)
    refused(agent.get("/v3/agents/support/leads"), 403)
    refused(agent.get(f"/v3/leads/{lead['id']}"), 403)
    refused(agent.delete(f"/v3/leads/{lead['id']}"), 403)
    assert list_leads(api) == [lead]


# ---- storage --------------------------------------------------------------------------------------


def test_a_lead_is_found_only_in_the_partition_of_its_agent(api: Api, agent_id: str, workspace: NewWorkspace) -> None:
    lead = capture(api)
    (item,) = stored()["cams-leads"]
    assert item["agent_leads"]["S"] == storage.join_key(workspace.workspace_id, lead["id"][:11])
    assert leads.read(workspace.workspace_id, lead["id"]).open()["agentId"] == "support"
    for wrong in (lead["id"][:-1], lead["id"][11:], "x"):
        refused(api.get(f"/v3/leads/{wrong}"), 404)
