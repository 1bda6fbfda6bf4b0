"""The webhook endpoint routes: creating, reading and deleting endpoints, event types, storage and the limit.

`tests/webhooks/test_delivery_routes.py` tests the delivery routes.
"""

from typing import get_args

import pytest

from chalicelib import clock, storage
from chalicelib.webhooks import endpoints
from chalicelib.webhooks.events import Type
from tests.api import Api
from tests.assertions import refused, stored
from tests.builders import webhook_body
from tests.direct_writes import before_each_commit
from tests.webhook_endpoints.endpoints import NOW, URL, change, create, overtaken, read, without_secret

MEMBERS = {"id", "kind", "url", "events", "enabled", "description", "createdAt"}


# ---- create and read ------------------------------------------------------------------------------


def test_an_endpoint_is_returned_when_it_is_created_and_read(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "milliseconds", lambda: NOW)
    members = {
        "kind": "push",
        "url": URL,
        "events": ["agent_deleted", "lead_captured"],
        "description": "Ours",
        "enabled": False,
    }
    answer = api.post("/v3/webhooks", {"webhook": members})
    made = answer.data
    assert answer.json["message"] == "Webhook created successfully"
    assert made == {**members, "id": made["id"], "createdAt": NOW, "signingSecret": made["signingSecret"]}
    answer = api.get(f"/v3/webhooks/{made['id']}")
    assert (answer.json["message"], answer.data) == ("Webhook retrieved successfully", without_secret(made))


def test_an_endpoint_is_enabled_and_has_no_description_by_default(api: Api) -> None:
    made = create(api)
    assert (made["enabled"], made["description"]) == (True, None)
    assert made.keys() == MEMBERS | {"signingSecret"}
    assert read(api, made).keys() == MEMBERS


def test_the_list_has_all_endpoints_oldest_first_without_secrets(api: Api) -> None:
    assert api.get("/v3/webhooks").data == []
    made = [create(api, url=f"{URL}/{number}") for number in range(5)]
    answer = api.get("/v3/webhooks")
    assert answer.json["message"] == "Webhooks retrieved successfully"
    assert answer.data == [without_secret(one) for one in made]


def test_two_endpoints_may_have_the_same_url(api: Api) -> None:
    assert create(api)["id"] != create(api)["id"]
    assert len(api.get("/v3/webhooks").data) == 2


def test_an_unknown_endpoint_is_not_found(api: Api) -> None:
    path = "/v3/webhooks/unknown"
    sent = api.post(f"/v3/webhooks/{create(api)['id']}/test").data
    delivery = f"{path}/deliveries/{sent['id']}"
    for method, where, body in (
        ("GET", path, None),
        ("PATCH", path, {"webhook": {}}),
        ("DELETE", path, None),
        ("POST", f"{path}/test", None),
        ("POST", f"{path}/rotate", None),
        ("GET", f"{path}/deliveries", None),
        ("GET", delivery, None),
        ("POST", f"{delivery}/redeliver", None),
    ):
        assert refused(api.call(method, where, body), 404) == "There is no such webhook."


def test_read_only_members_of_a_request_are_ignored(api: Api) -> None:
    made = create(api, id="mine", createdAt=5)
    assert made["id"] != "mine"
    assert made["createdAt"] > 1_700_000_000_000
    shown = read(api, made)
    assert api.patch(f"/v3/webhooks/{made['id']}", {"webhook": shown}).data == shown


# ---- events ---------------------------------------------------------------------------------------


def test_every_event_type_can_be_subscribed_to_and_no_other(api: Api) -> None:
    types = list(get_args(Type))
    assert create(api, events=types)["events"] == types
    for wrong in ("agent", "*", "Agent_created", "", "lead_updated", None, 5):
        answer = api.post("/v3/webhooks", webhook_body(URL, "lead_captured", wrong))
        refused(answer, 400, "webhook.events.1")


def test_duplicate_events_are_removed_in_order(api: Api) -> None:
    twice = ["lead_captured", "agent_created", "lead_captured", "agent_created", "agent_deleted"]
    made = create(api, events=twice)
    assert made["events"] == read(api, made)["events"] == ["lead_captured", "agent_created", "agent_deleted"]
    changed = change(api, made, events=["client_created", "client_created"])
    assert changed["events"] == read(api, made)["events"] == ["client_created"]


def test_an_endpoint_must_have_at_least_one_type_of_event(api: Api) -> None:
    made = create(api)
    wrong = webhook_body(URL, events=[])
    for answer in (api.post("/v3/webhooks", wrong), api.patch(f"/v3/webhooks/{made['id']}", wrong)):
        assert refused(answer, 400, "webhook.events") == "webhook.events must have at least 1 item."


# ---- delete ---------------------------------------------------------------------------------------


def test_a_deleted_endpoint_is_gone_and_the_others_stay(api: Api) -> None:
    first, second = create(api), create(api)
    answer = api.delete(f"/v3/webhooks/{first['id']}")
    assert answer.json == {"success": True, "message": "Webhook deleted successfully"}
    refused(api.get(f"/v3/webhooks/{first['id']}"), 404)
    refused(api.delete(f"/v3/webhooks/{first['id']}"), 404)
    assert api.get("/v3/webhooks").data == [without_secret(second)]


def test_a_deletion_is_retried_after_a_concurrent_change(api: Api) -> None:
    made = create(api)
    with overtaken("delete", lambda: change(api, made, description="Theirs")):
        assert api.delete(f"/v3/webhooks/{made['id']}").status == 200
    assert api.get("/v3/webhooks").data == []


# ---- storage and limits ------------------------------------------------------------------------------


def test_an_endpoint_is_encrypted_in_the_database(api: Api) -> None:
    made = create(api, description="Ours")
    lock, item = sorted(stored()["cams-webhooks"], key=len)
    assert lock.keys() == {"workspace", "webhook_id", "version_tag"}
    assert item.keys() == {"workspace", "webhook_id", "document", "version_tag", "changed_by"}
    for secret in (URL, "Ours", "lead_captured", made["signingSecret"]):
        assert secret not in str(item)


def test_a_document_copied_to_another_endpoint_cannot_be_decrypted(api: Api) -> None:
    first, second = create(api), create(api)
    dynamodb = storage.sdk_client("dynamodb")
    items = {item["webhook_id"]["S"]: item for item in stored()["cams-webhooks"]}
    moved = {**items[second["id"]], "document": items[first["id"]]["document"]}
    dynamodb.put_item(TableName="cams-webhooks", Item=moved)
    assert api.get(f"/v3/webhooks/{second['id']}").status == 500
    assert read(api, first) == without_secret(first)


def test_the_number_of_endpoints_is_limited(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "MAX_ENDPOINTS", 2)
    body = {"webhook": {"url": "https://example.com/hook", "events": ["agent_created"]}}
    assert [api.post("/v3/webhooks", body).status for _ in range(3)] == [200, 200, 429]
    first = api.get("/v3/webhooks").data[0]["id"]
    api.delete(f"/v3/webhooks/{first}")
    assert api.post("/v3/webhooks", body).status == 200


def test_concurrent_creations_do_not_exceed_the_limit(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "MAX_ENDPOINTS", 2)
    body = {"webhook": {"url": "https://example.com/hook", "events": ["agent_created"]}}
    statuses: list[int] = []
    others = iter(range(2))
    before_each_commit(monkeypatch, lambda: statuses.extend(api.post("/v3/webhooks", body).status for _ in others))
    refused(api.post("/v3/webhooks", body), 429)
    assert statuses == [200, 200]
    assert len(api.get("/v3/webhooks").data) == 2
