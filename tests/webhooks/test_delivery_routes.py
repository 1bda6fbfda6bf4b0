"""The delivery routes: test deliveries, redeliveries and deletion. No delivery is sent in these tests."""

from typing import Any

import pytest

from chalicelib import errors, queues
from chalicelib.sending import sender
from chalicelib.sending.sender import Outcome
from chalicelib.webhooks import ledger, queue
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import refused, stored
from tests.selection import first_case
from tests.webhooks import pipeline
from tests.webhooks.recorded_deliveries import (
    Ends,
    Time,
    create_test,
    expire_event,
    list_deliveries,
    read_delivery,
    redeliver,
)
from tests.webhooks.recorded_deliveries import endpoint as endpoint
from tests.webhooks.recorded_deliveries import ends as ends
from tests.webhooks.recorded_deliveries import time as time

SECOND, DAY = 1_000, 24 * 60 * 60 * 1000
MEMBERS = {"id", "eventId", "type", "status", "responseStatus", "durationMs", "error", "createdAt"}


# ---- test deliveries ---------------------------------------------------------------------------------------


def test_a_test_delivery_is_pending_and_can_be_read_immediately(api: Api, endpoint: str, time: Time) -> None:
    begin = time.now
    answer = api.post(f"{endpoint}/test")
    delivery = answer.data
    assert answer.json["message"] == "Webhook test queued successfully"
    assert delivery == {
        "id": delivery["id"],
        "eventId": delivery["eventId"],
        "type": "webhook_test",
        "status": "pending",
        "responseStatus": None,
        "durationMs": None,
        "error": None,
        "createdAt": delivery["createdAt"],
    }
    assert delivery["id"] != delivery["eventId"]
    assert begin < delivery["createdAt"] <= time.now
    assert list_deliveries(api, endpoint) == [delivery]
    whole = api.get(f"{endpoint}/deliveries/{delivery['id']}")
    assert whole.json["message"] == "Delivery retrieved successfully"
    payload = whole.data["payload"]
    assert whole.data == {**delivery, "payload": payload}
    assert payload == {"message": "A test of this webhook endpoint.", "createdAt": payload["createdAt"]}
    assert begin < payload["createdAt"] <= time.now


def test_a_test_delivery_is_one_message_on_the_queue(api: Api, endpoint: str, workspace: NewWorkspace) -> None:
    delivery = create_test(api, endpoint)
    (text,) = pipeline.waiting(queue.FAST)
    sent = queue.DeliveryMessage.parse(text)
    assert sent == queue.DeliveryMessage(
        workspace.workspace_id,
        endpoint.rsplit("/", 1)[1],
        "webhook_test",
        (delivery["eventId"],),
        delivery["id"],
    )
    assert sent.is_requested


def test_a_disabled_endpoint_can_be_tested(api: Api, endpoint: str) -> None:
    api.patch(endpoint, {"webhook": {"enabled": False}})
    assert create_test(api, endpoint)["status"] == "pending"
    assert len(pipeline.waiting(queue.FAST)) == 1


def test_two_tests_are_two_events(api: Api, endpoint: str) -> None:
    first, second = create_test(api, endpoint), create_test(api, endpoint)
    assert len({first["id"], second["id"], first["eventId"], second["eventId"]}) == 4
    assert list_deliveries(api, endpoint) == [second, first]


def test_a_test_delivery_that_the_queue_rejects_is_a_503_that_can_be_retried(
    api: Api, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> None:
        raise errors.Unavailable("The queue did not respond; try again.")

    monkeypatch.setattr(queues, "send", refuses)
    answer = api.post(f"{endpoint}/test")
    assert refused(answer, 503) == "The queue did not respond; try again."
    assert answer.headers["retry-after"] == "1"


def test_a_delivery_is_stored_before_its_message_is_sent(
    api: Api, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the message were sent first, storing the delivery could overwrite its claim."""
    seen: list[Any] = []
    send = queues.send

    def looking(*sent: Any) -> None:
        seen.append((len(stored()["cams-events"]), len(stored()["cams-deliveries"])))
        send(*sent)

    monkeypatch.setattr(queues, "send", looking)
    delivery = create_test(api, endpoint)
    redeliver(api, endpoint, delivery)
    assert seen == [(1, 1), (1, 2)]


# ---- one delivery ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "members"),
    [
        ("delivered", {"responseStatus": 200, "durationMs": 12, "error": None}),
        ("failed", {"responseStatus": 500, "durationMs": 34, "error": "The receiver responded with 500."}),
        ("expired", {"responseStatus": None, "durationMs": 0, "error": "The event has expired."}),
    ],
)
def test_a_delivery_shows_its_outcome(
    status: str, members: dict[str, Any], api: Api, endpoint: str, ends: Ends
) -> None:
    delivery = create_test(api, endpoint)
    ends(delivery, status)
    ended = {**delivery, "status": status, **members}
    assert list_deliveries(api, endpoint) == [ended]
    whole = read_delivery(api, endpoint, delivery)
    assert {name: whole[name] for name in MEMBERS} == ended
    assert list_deliveries(api, endpoint, f"?status={status}") == [ended]


def test_a_failed_delivery_without_a_response_has_no_response_status(
    api: Api, endpoint: str, workspace: NewWorkspace
) -> None:
    delivery = create_test(api, endpoint)
    row = ledger.read(workspace.workspace_id, endpoint.rsplit("/", 1)[1], delivery["id"])
    ledger.claim(row)
    ledger.record_outcome(row, Outcome(None, "The host is not known.", 7))
    shown = read_delivery(api, endpoint, delivery)
    assert (shown["status"], shown["responseStatus"], shown["error"]) == ("failed", None, "The host is not known.")


def test_a_claimed_delivery_without_an_outcome_is_unknown_after_a_minute(
    api: Api, endpoint: str, ends: Ends, time: Time
) -> None:
    delivery = create_test(api, endpoint)
    ends(delivery, "claimed")
    time.now += 59 * SECOND
    assert read_delivery(api, endpoint, delivery)["status"] == "pending"
    time.now += 2 * SECOND
    assert read_delivery(api, endpoint, delivery)["status"] == "unknown"
    assert [one["status"] for one in list_deliveries(api, endpoint, "?status=unknown")] == ["unknown"]
    assert list_deliveries(api, endpoint, "?status=pending") == []


def test_an_unclaimed_delivery_is_expired_after_four_days(api: Api, endpoint: str, time: Time) -> None:
    delivery = create_test(api, endpoint)
    time.now += 4 * DAY - SECOND
    assert read_delivery(api, endpoint, delivery)["status"] == "pending"
    time.now += 2 * SECOND
    assert read_delivery(api, endpoint, delivery)["status"] == "expired"
    assert [one["id"] for one in list_deliveries(api, endpoint, "?status=expired")] == [delivery["id"]]


def test_an_expired_delivery_is_not_sent(api: Api, endpoint: str, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """The API already shows the delivery as expired, even if an operator puts its message back in the queue."""
    delivery = create_test(api, endpoint)
    time.now += 4 * DAY + SECOND
    monkeypatch.setattr(sender, "post", lambda *_: pytest.fail("It was sent."))
    pipeline.drain()
    shown = read_delivery(api, endpoint, delivery)
    assert (shown["status"], shown["error"]) == (
        "expired",
        "The delivery waited for more than 4 days; request a redelivery.",
    )


def test_a_delivery_whose_event_has_expired_has_no_payload(api: Api, endpoint: str, workspace: NewWorkspace) -> None:
    delivery = create_test(api, endpoint)
    expire_event(workspace, delivery)
    assert read_delivery(api, endpoint, delivery) == delivery


def test_a_delivery_never_contains_the_workspace_secret(api: Api, endpoint: str, workspace: NewWorkspace) -> None:
    delivery = create_test(api, endpoint)
    shown = [api.get(f"{endpoint}/deliveries"), api.get(f"{endpoint}/deliveries/{delivery['id']}")]
    shown.append(redeliver(api, endpoint, delivery))
    for answer in shown:
        assert answer.status == 200
        assert workspace.workspace_secret not in answer.text
        assert "workspaceSecret" not in answer.text


def test_an_unknown_delivery_is_not_found(api: Api, endpoint: str) -> None:
    delivery = create_test(api, endpoint)
    for unknown in ("unknown", delivery["eventId"], delivery["id"][:-1]):
        path = f"{endpoint}/deliveries/{unknown}"
        assert refused(api.get(path), 404) == "There is no such delivery."
        assert refused(api.post(f"{path}/redeliver"), 404) == "There is no such delivery."


# ---- redeliveries ------------------------------------------------------------------------------------


def test_a_redelivery_is_a_new_delivery_of_the_same_event(api: Api, endpoint: str, ends: Ends) -> None:
    delivery = create_test(api, endpoint)
    ends(delivery, "failed")
    answer = redeliver(api, endpoint, delivery)
    repeated = answer.data
    assert answer.json["message"] == "Delivery queued successfully"
    assert repeated["id"] != delivery["id"]
    assert repeated["createdAt"] > delivery["createdAt"]
    assert {**repeated, "id": 0, "createdAt": 0} == {**delivery, "id": 0, "createdAt": 0}
    assert [(one["id"], one["status"]) for one in list_deliveries(api, endpoint)] == [
        (repeated["id"], "pending"),
        (delivery["id"], "failed"),
    ]
    assert read_delivery(api, endpoint, repeated)["payload"] == read_delivery(api, endpoint, delivery)["payload"]


@pytest.mark.parametrize("status", ["pending", "claimed", "delivered", "failed", "expired"])
@first_case
def test_a_delivery_of_any_status_can_be_redelivered_and_does_not_change(
    status: str, api: Api, endpoint: str, ends: Ends
) -> None:
    delivery = create_test(api, endpoint)
    if status != "pending":
        ends(delivery, status)
    before = read_delivery(api, endpoint, delivery)
    pipeline.waiting(queue.FAST)
    repeated = redeliver(api, endpoint, delivery).data
    assert read_delivery(api, endpoint, delivery) == before
    (text,) = pipeline.waiting(queue.FAST)
    sent = queue.DeliveryMessage.parse(text)
    assert (sent.requested_id, sent.event_ids) == (repeated["id"], (delivery["eventId"],))
    assert sent.is_requested


def test_a_redelivery_can_be_redelivered(api: Api, endpoint: str) -> None:
    made = [create_test(api, endpoint)]
    for _ in range(3):
        made.append(redeliver(api, endpoint, made[-1]).data)
    assert {one["eventId"] for one in made} == {made[0]["eventId"]}
    assert list_deliveries(api, endpoint) == made[::-1]


def test_a_disabled_and_unsubscribed_endpoint_gets_its_redelivery(api: Api, endpoint: str) -> None:
    delivery = create_test(api, endpoint)
    api.patch(endpoint, {"webhook": {"enabled": False, "events": ["agent_deleted"]}})
    assert redeliver(api, endpoint, delivery).data["status"] == "pending"


def test_an_expired_event_cannot_be_redelivered(api: Api, endpoint: str, workspace: NewWorkspace) -> None:
    delivery = create_test(api, endpoint)
    expire_event(workspace, delivery)
    pipeline.waiting(queue.FAST)
    before = stored()
    assert refused(redeliver(api, endpoint, delivery), 404) == "There is no such event."
    assert stored() == before
    assert pipeline.waiting(queue.FAST) == []


# ---- deletion and expiry --------------------------------------------------------------------------------------


def test_the_deliveries_of_a_deleted_endpoint_are_not_found(api: Api, endpoint: str) -> None:
    delivery = create_test(api, endpoint)
    api.delete(endpoint)
    for method, path in (
        ("GET", f"{endpoint}/deliveries"),
        ("GET", f"{endpoint}/deliveries/{delivery['id']}"),
        ("POST", f"{endpoint}/deliveries/{delivery['id']}/redeliver"),
        ("POST", f"{endpoint}/test"),
    ):
        assert refused(api.call(method, path), 404) == "There is no such webhook."
    assert len(pipeline.waiting(queue.FAST)) == 1  # the message was sent before the endpoint was deleted


def test_events_and_deliveries_expire_after_thirty_days(api: Api, endpoint: str) -> None:
    delivery = create_test(api, endpoint)
    redeliver(api, endpoint, delivery)
    month = 30 * DAY // 1000
    ends = [int(item["expires_at"]["N"]) for name in ("events", "deliveries") for item in stored()[f"cams-{name}"]]
    assert [end - delivery["createdAt"] // 1000 - month for end in ends] == [0, 0, 0]


def test_the_payload_of_an_event_is_encrypted_in_the_database(api: Api, endpoint: str) -> None:
    create_test(api, endpoint)
    (event,), (delivery,) = stored()["cams-events"], stored()["cams-deliveries"]
    assert event.keys() == {"workspace", "event_id", "document", "expires_at"}
    assert "A test of" not in f"{event} {delivery}"
    assert delivery.keys() == {"webhook", "delivery_id", "event_id", "type", "expires_at", "version_tag"}
