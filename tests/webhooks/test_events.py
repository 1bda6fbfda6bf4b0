"""Every event in §6, from the API request through the table's stream to the payload."""

from typing import Any

import pytest

from chalicelib import storage
from chalicelib.webhooks import events, queue
from chalicelib.workspaces.store import NewWorkspace
from infra import event_filters
from tests.api import Api
from tests.builders import lead_body
from tests.clients.test_clients import noise
from tests.conftest import PassTime
from tests.webhooks import pipeline
from tests.webhooks.pipeline import Inbox, Stream, events_of, payloads
from tests.webhooks.story import STORY


def ok(answer: Any) -> Any:
    assert answer.status == 200, answer.text
    return answer.json


ADDITIONAL = ("conversation_state_changed", "conversation_assigned")


def test_there_are_exactly_the_twelve_types_of_the_specification_and_two_more() -> None:
    assert len(events.TYPES) == 12 + len(ADDITIONAL)
    assert events.TYPES[12:] == ADDITIONAL
    assert {*events.TYPES} == {events.TEST, *(type_ for type_, *_ in STORY)}


def test_each_type_has_a_request_whose_record_passes_the_filter_of_its_function(stream: Stream, api: Api) -> None:
    for type_, method, path, body in STORY:
        ok(api.call(method, path, body))
        records = [record for record in stream.read() if reaches_its_function(record)]
        assert [event.type for event in events_of(records)] == [type_]


def reaches_its_function(record: pipeline.Record) -> bool:
    table = storage.logical_name(record["eventSourceARN"].split("/")[1])
    return event_filters.of_function(f"fan_out_{table}")(record)


def test_an_agent_is_created_updated_and_deleted(stream: Stream, api: Api) -> None:
    ok(api.post("/v2/agents/support", {"title": "Support", "agentPlatform": "vf"}))
    ok(api.post("/v2/agents/support", {"title": "Helpdesk"}))
    ok(api.delete("/v3/agents/support"))

    agent = {"agentId": "support", "agentPlatform": "vf"}
    assert payloads(stream.read()) == [
        ("agent_created", {**agent, "agentName": "Support", "operation": "created"}),
        ("agent_updated", {**agent, "agentName": "Helpdesk", "operation": "updated"}),
        ("agent_deleted", {**agent, "agentName": "Helpdesk", "operation": "deleted"}),
    ]


def test_an_agent_without_a_title_has_no_agent_name(stream: Stream, api: Api) -> None:
    ok(api.post("/v2/agents/bare", {}))
    assert payloads(stream.read()) == [
        ("agent_created", {"agentId": "bare", "agentPlatform": "vg", "operation": "created"})
    ]


def test_a_tool_makes_no_event_and_no_dead_letter(stream: Stream, api: Api, agent_id: str) -> None:
    stream.read()
    tool = "/v3/tools/" + ok(api.post("/v3/agents/support/tools", {"tool": {"name": "Look up"}}))["data"]["id"]
    api.patch(tool, {"tool": {"name": "Find"}})
    api.delete(tool)
    records = stream.read("agents")
    assert [one["eventName"] for one in records] == ["INSERT", "MODIFY", "REMOVE"]
    pipeline.fan_out(records)
    assert (events_of(records), pipeline.waiting(queue.DEAD_LETTER)) == ([], [])


def test_the_function_of_the_stream_is_invoked_for_agents_only(stream: Stream, api: Api, agent_id: str) -> None:
    passes_filter = event_filters.of_function("fan_out_agents")
    api.post("/v3/agents/support/tools", {"tool": {"name": "Look up"}})
    records = stream.read("agents")
    keys = [record["dynamodb"]["Keys"]["item"]["S"] for record in records]
    assert [key.partition("#")[0] for key in keys] == ["agent", "tool"]
    assert [passes_filter(record) for record in records] == [True, False]


def test_an_organisation_is_created_updated_and_deleted(stream: Stream, api: Api) -> None:
    ok(api.post("/v2/orgs/acme", {"name": "Acme"}))
    ok(api.post("/v2/orgs/acme", {"name": "Acme Ltd"}))
    ok(api.delete("/v3/orgs/acme"))

    organisation = {"organisationId": "acme"}
    assert payloads(stream.read()) == [
        ("organisation_created", {**organisation, "organisationName": "Acme", "operation": "created"}),
        ("organisation_updated", {**organisation, "organisationName": "Acme Ltd", "operation": "updated"}),
        ("organisation_deleted", {**organisation, "organisationName": "Acme Ltd", "operation": "deleted"}),
    ]


def test_a_client_is_created_updated_and_deleted(stream: Stream, api: Api) -> None:
    ok(api.post("/v2/clients/ann", {"name": "Ann", "email": "ann@x.test", "orgId": "acme"}))
    ok(api.post("/v2/clients/ann", {"email": "ann@y.test"}))
    ok(api.delete("/v3/clients/ann"))

    client = {"organisationId": "acme", "clientId": "ann", "clientName": "Ann"}
    # Rows that reserve an email are written and deleted together with the client, but cause no events.
    assert payloads(stream.read()) == [
        ("client_created", {**client, "clientEmail": "ann@x.test", "operation": "created"}),
        ("client_updated", {**client, "clientEmail": "ann@y.test", "operation": "updated"}),
        ("client_deleted", {**client, "clientEmail": "ann@y.test", "operation": "deleted"}),
    ]


def test_a_client_without_organisation_name_and_email_has_only_an_empty_organisation_id(
    stream: Stream, api: Api
) -> None:
    ok(api.post("/v2/clients/ann", {"isOrgAdmin": True}))
    assert payloads(stream.read()) == [
        ("client_created", {"organisationId": "", "clientId": "ann", "operation": "created"})
    ]


def test_a_lead_is_captured_and_its_deletion_makes_no_event(stream: Stream, api: Api, agent_id: str) -> None:
    stream.read()
    lead = {"name": "Lea", "email": "lea@x.test", "phone": "+49 1", "channel": "telephony"}
    captured = ok(api.post("/v3/leads", lead_body(agent_id, **lead)))["data"]
    ok(api.post("/v3/leads", lead_body(agent_id)))
    ok(api.delete(f"/v3/leads/{captured['id']}"))

    agent = {"agentId": agent_id, "agentName": "Support", "operation": "captured"}
    contact = {"leadName": "Lea", "leadEmail": "lea@x.test", "leadPhone": "+49 1", "channel": "telephony"}
    assert payloads(stream.read()) == [
        ("lead_captured", {**agent, **contact}),
        ("lead_captured", {**agent, "channel": "web-chat"}),
    ]


def test_a_lead_of_an_agent_without_a_title_has_no_agent_name(stream: Stream, api: Api) -> None:
    ok(api.post("/v2/agents/bare", {}))
    ok(api.post("/v3/leads", lead_body("bare")))
    assert payloads(stream.read("leads")) == [
        ("lead_captured", {"agentId": "bare", "channel": "web-chat", "operation": "captured"})
    ]


def test_a_webhook_test_has_only_a_message_a_time_and_the_secret(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace
) -> None:
    webhook = ok(api.post("/v3/webhooks", {"webhook": {"url": inbox.url(), "events": ["agent_created"]}}))["data"]
    ok(api.post(f"/v3/webhooks/{webhook['id']}/test"))
    pipeline.drain()

    (post,) = inbox.posts
    assert post.body["type"] == "webhook_test"
    assert set(post.body["payload"]) == {"message", "createdAt", "workspaceSecret"}
    assert isinstance(post.payload["message"], str)
    assert post.payload["message"]


def test_the_time_of_an_event_is_the_time_of_the_write_in_milliseconds(
    stream: Stream, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(range(1_800_000_000_123, 1_800_000_900_123, 1_000))
    monkeypatch.setattr("chalicelib.clock.milliseconds", lambda: next(times))
    ok(api.post("/v2/orgs/acme", {"name": "Acme"}))
    ok(api.post("/v2/orgs/acme", {"name": "Acme Ltd"}))
    created, updated = (event.payload["createdAt"] for event in events_of(stream.read()))
    assert 1_800_000_000_123 <= created < updated
    assert created % 1_000 == updated % 1_000 == 123


# Changes that cause no event


@pytest.mark.parametrize(
    ("path", "document"),
    [
        ("/v2/agents/support", {"title": "Support", "recordChatHistory": True}),
        ("/v2/orgs/acme", {"name": "Acme"}),
        ("/v2/clients/ann", {"name": "Ann", "email": "ann@x.test"}),
    ],
)
def test_a_save_that_changes_nothing_makes_no_event(stream: Stream, api: Api, path: str, document: Any) -> None:
    ok(api.post(path, document))
    stream.read()
    ok(api.post(path, document))
    assert events_of(stream.read()) == []


def test_a_change_of_last_modified_alone_makes_no_event(stream: Stream, api: Api) -> None:
    ok(api.post("/v2/orgs/acme", {"name": "Acme", "lastModified": 1}))
    stream.read()
    ok(api.post("/v2/orgs/acme", {"name": "Acme", "lastModified": 2}))
    records = stream.read()
    assert len(records) == 1
    assert events_of(records) == []


def test_a_change_from_1_to_true_is_an_update(stream: Stream, api: Api) -> None:
    ok(api.post("/v2/agents/support", {"customThemeJSONString": {"size": 1}}))
    ok(api.post("/v2/agents/support", {"customThemeJSONString": {"size": True}}))
    assert [event.type for event in events_of(stream.read())] == ["agent_created", "agent_updated"]


def test_an_expired_item_makes_no_event(stream: Stream, api: Api) -> None:
    ok(api.post("/v2/orgs/acme", {"name": "Acme"}))
    ok(api.delete("/v3/orgs/acme"))
    _, deletion = stream.read()
    assert [event.type for event in events_of([deletion])] == ["organisation_deleted"]
    assert events_of([{**deletion, "userIdentity": {"principalId": "dynamodb.amazonaws.com", "type": "Service"}}]) == []
    # Records with any other principal represent a deletion by a request.
    assert events_of([{**deletion, "userIdentity": {"principalId": "another", "type": "User"}}]) != []


def test_conversations_without_messages_and_changes_of_metadata_make_no_events(
    stream: Stream, api: Api, agent_id: str
) -> None:
    stream.read()
    ok(api.post(f"/v3/agents/{agent_id}/convos", {"conversation": {"title": "Hello"}}))
    ok(api.post(f"/agents/{agent_id}/interact/ann/state", {"metadata": {"userName": "Ann"}}))
    ok(api.post(f"/agents/{agent_id}/interact/ann/state", {"turns": []}))
    records = stream.read()
    assert len(records) == 2
    assert events_of(records) == []


def test_the_chunks_of_a_long_transcript_and_their_deletion_make_no_events(
    stream: Stream, api: Api, agent_id: str
) -> None:
    ok(api.post(f"/agents/{agent_id}/interact/ann/state", {"turns": [turn("bot", noise(600_000))]}))
    stream.read("agents")
    records = stream.read("conversations")
    assert [record for record in records if "turns#" in str(record["dynamodb"]["Keys"])]
    ok(api.delete(f"/v3/agents/{agent_id}/convos/ann"))
    assert events_of(records + stream.read()) == []


def test_the_cascade_of_a_deleted_agent_makes_one_event(
    stream: Stream, api: Api, agent_id: str, pass_time: PassTime
) -> None:
    ok(api.post(f"/agents/{agent_id}/interact/ann/state", {"turns": [turn("human", "Hello")]}))
    ok(api.post("/v3/leads", {"lead": {"agentId": agent_id}}))
    stream.read()
    for passed in (0, 30, 60):  # deletes the agent, its records, and then its tombstone
        pass_time(passed)
        ok(api.delete(f"/v3/agents/{agent_id}"))
    ok(api.post(f"/v2/agents/{agent_id}", {}))
    records = stream.read()
    assert [record["eventName"] for record in records if "agents" in record["eventSourceARN"]] == [
        "MODIFY",
        "REMOVE",
        "INSERT",
    ]
    assert len(records) == 5
    assert [event.type for event in events_of(records)] == ["agent_deleted", "agent_created"]


def turn(sender: str, text: str, **message: Any) -> dict[str, Any]:
    return {"from": sender, "messages": [{"item": {"text": text}, **message}]}
