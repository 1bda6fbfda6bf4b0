"""The routes of deliveries: test deliveries, redeliveries, the list by status and cursor, and deletion.

No delivery is sent here: it stays on its queue, or a test records its outcome. Sending is tested in `webhooks/`.
"""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib import clock, errors, queues, storage
from chalicelib.sending import sender
from chalicelib.sending.sender import Outcome
from chalicelib.webhooks import ledger, queue
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.assertions import refused, stored
from tests.direct_writes import delete_now
from tests.engine_requests import counted
from tests.selection import each_value_once, first_case, one_of_each
from tests.webhooks import pipeline

NOW = 1_793_611_800_123
SECOND, DAY = 1_000, 24 * 60 * 60 * 1000
MEMBERS = {"id", "eventId", "type", "status", "responseStatus", "durationMs", "error", "createdAt"}
ENDED = {
    "delivered": Outcome(200, None, 12),
    "failed": Outcome(500, "The receiver answered 500.", 34),
}


class Time:
    """A clock that advances by a millisecond at each call."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        self.now += 1
        return self.now


@pytest.fixture(autouse=True)
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Replace the wall clock."""
    time = Time()
    monkeypatch.setattr(clock, "milliseconds", time)
    return time


@pytest.fixture
def endpoint(api: Api) -> str:
    """Create an endpoint; return its path."""
    given = {"url": "https://example.com/hooks", "events": ["lead_captured"]}
    return f"/v3/webhooks/{api.post('/v3/webhooks', {'webhook': given}).data['id']}"


Ends = Callable[[Any, str], None]


@pytest.fixture
def ends(endpoint: str, workspace: NewWorkspace, time: Time) -> Ends:
    """Claim a delivery and record an outcome; `claimed` records none."""

    def end(delivery: Any, status: str) -> None:
        row = ledger.read(workspace.workspace_id, endpoint.rsplit("/", 1)[1], delivery["id"])
        assert ledger.claim(row)
        if status in ENDED:
            ledger.record_outcome(row, ENDED[status])
        elif status == "expired":
            ledger.expire(row, "The event has expired.")

    return end


def tried(api: Api, endpoint: str) -> Any:
    """Request a test delivery."""
    return api.post(f"{endpoint}/test").data


def listed(api: Api, endpoint: str, query: str = "") -> Any:
    return api.get(f"{endpoint}/deliveries{query}").data


def read(api: Api, endpoint: str, delivery: Any) -> Any:
    return api.get(f"{endpoint}/deliveries/{delivery['id']}").data


def again(api: Api, endpoint: str, delivery: Any) -> Answer:
    return api.post(f"{endpoint}/deliveries/{delivery['id']}/redeliver")


def followed(api: Api, endpoint: str, query: str) -> list[list[Any]]:
    """Return all pages of the list, by following the cursors."""
    pages, cursor = [], ""
    while True:
        answer = api.get(f"{endpoint}/deliveries?{query}{cursor}")
        pages.append(answer.data)
        if "nextCursor" not in answer.json:
            return pages
        cursor = f"&cursor={answer.json['nextCursor']}"


def expire_event(workspace: NewWorkspace, delivery: Any) -> None:
    """Delete the event, as its TTL does after thirty days."""
    row = storage.find(*ledger.event_key(workspace.workspace_id, delivery["eventId"])[:3])
    assert row is not None
    delete_now(row)


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
    assert listed(api, endpoint) == [delivery]
    whole = api.get(f"{endpoint}/deliveries/{delivery['id']}")
    assert whole.json["message"] == "Delivery retrieved successfully"
    payload = whole.data["payload"]
    assert whole.data == {**delivery, "payload": payload}
    assert payload == {"message": "A test of this webhook endpoint.", "createdAt": payload["createdAt"]}
    assert begin < payload["createdAt"] <= time.now


def test_a_test_delivery_is_one_message_on_the_queue(api: Api, endpoint: str, workspace: NewWorkspace) -> None:
    delivery = tried(api, endpoint)
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
    assert tried(api, endpoint)["status"] == "pending"
    assert len(pipeline.waiting(queue.FAST)) == 1


def test_two_tests_are_two_events(api: Api, endpoint: str) -> None:
    first, second = tried(api, endpoint), tried(api, endpoint)
    assert len({first["id"], second["id"], first["eventId"], second["eventId"]}) == 4
    assert listed(api, endpoint) == [second, first]


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
    """Otherwise, storing it could overwrite its claim."""
    seen: list[Any] = []
    send = queues.send

    def looking(*sent: Any) -> None:
        seen.append((len(stored()["cams-events"]), len(stored()["cams-deliveries"])))
        send(*sent)

    monkeypatch.setattr(queues, "send", looking)
    delivery = tried(api, endpoint)
    again(api, endpoint, delivery)
    assert seen == [(1, 1), (1, 2)]


# ---- one delivery ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "members"),
    [
        ("delivered", {"responseStatus": 200, "durationMs": 12, "error": None}),
        ("failed", {"responseStatus": 500, "durationMs": 34, "error": "The receiver answered 500."}),
        ("expired", {"responseStatus": None, "durationMs": 0, "error": "The event has expired."}),
    ],
)
def test_a_delivery_shows_its_outcome(
    status: str, members: dict[str, Any], api: Api, endpoint: str, ends: Ends
) -> None:
    delivery = tried(api, endpoint)
    ends(delivery, status)
    ended = {**delivery, "status": status, **members}
    assert listed(api, endpoint) == [ended]
    whole = read(api, endpoint, delivery)
    assert {name: whole[name] for name in MEMBERS} == ended
    assert listed(api, endpoint, f"?status={status}") == [ended]


def test_a_failed_delivery_without_a_response_has_no_response_status(
    api: Api, endpoint: str, workspace: NewWorkspace
) -> None:
    delivery = tried(api, endpoint)
    row = ledger.read(workspace.workspace_id, endpoint.rsplit("/", 1)[1], delivery["id"])
    ledger.claim(row)
    ledger.record_outcome(row, Outcome(None, "The host is not known.", 7))
    shown = read(api, endpoint, delivery)
    assert (shown["status"], shown["responseStatus"], shown["error"]) == ("failed", None, "The host is not known.")


def test_a_claimed_delivery_without_an_outcome_is_unknown_after_a_minute(
    api: Api, endpoint: str, ends: Ends, time: Time
) -> None:
    delivery = tried(api, endpoint)
    ends(delivery, "claimed")
    time.now += 59 * SECOND
    assert read(api, endpoint, delivery)["status"] == "pending"
    time.now += 2 * SECOND
    assert read(api, endpoint, delivery)["status"] == "unknown"
    assert [one["status"] for one in listed(api, endpoint, "?status=unknown")] == ["unknown"]
    assert listed(api, endpoint, "?status=pending") == []


def test_an_unclaimed_delivery_is_expired_after_four_days(api: Api, endpoint: str, time: Time) -> None:
    delivery = tried(api, endpoint)
    time.now += 4 * DAY - SECOND
    assert read(api, endpoint, delivery)["status"] == "pending"
    time.now += 2 * SECOND
    assert read(api, endpoint, delivery)["status"] == "expired"
    assert [one["id"] for one in listed(api, endpoint, "?status=expired")] == [delivery["id"]]


def test_an_expired_delivery_is_not_sent(api: Api, endpoint: str, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """The API already shows it as expired, even if an operator puts its message back on the queue."""
    delivery = tried(api, endpoint)
    time.now += 4 * DAY + SECOND
    monkeypatch.setattr(sender, "post", lambda *_: pytest.fail("It was sent."))
    pipeline.drain()
    shown = read(api, endpoint, delivery)
    assert (shown["status"], shown["error"]) == (
        "expired",
        "The delivery waited for more than 4 days; request a redelivery.",
    )


def test_a_delivery_whose_event_has_expired_has_no_payload(api: Api, endpoint: str, workspace: NewWorkspace) -> None:
    delivery = tried(api, endpoint)
    expire_event(workspace, delivery)
    assert read(api, endpoint, delivery) == delivery


def test_a_delivery_never_contains_the_workspace_secret(api: Api, endpoint: str, workspace: NewWorkspace) -> None:
    delivery = tried(api, endpoint)
    shown = [api.get(f"{endpoint}/deliveries"), api.get(f"{endpoint}/deliveries/{delivery['id']}")]
    shown.append(again(api, endpoint, delivery))
    for answer in shown:
        assert answer.status == 200
        assert workspace.workspace_secret not in answer.text
        assert "workspaceSecret" not in answer.text


def test_an_unknown_delivery_is_not_found(api: Api, endpoint: str) -> None:
    delivery = tried(api, endpoint)
    for unknown in ("unknown", delivery["eventId"], delivery["id"][:-1]):
        path = f"{endpoint}/deliveries/{unknown}"
        assert refused(api.get(path), 404) == "There is no such delivery."
        assert refused(api.post(f"{path}/redeliver"), 404) == "There is no such delivery."


# ---- redeliveries ------------------------------------------------------------------------------------


def test_a_redelivery_is_a_new_delivery_of_the_same_event(api: Api, endpoint: str, ends: Ends) -> None:
    delivery = tried(api, endpoint)
    ends(delivery, "failed")
    answer = again(api, endpoint, delivery)
    repeated = answer.data
    assert answer.json["message"] == "Delivery queued successfully"
    assert repeated["id"] != delivery["id"]
    assert repeated["createdAt"] > delivery["createdAt"]
    assert {**repeated, "id": 0, "createdAt": 0} == {**delivery, "id": 0, "createdAt": 0}
    assert [(one["id"], one["status"]) for one in listed(api, endpoint)] == [
        (repeated["id"], "pending"),
        (delivery["id"], "failed"),
    ]
    assert read(api, endpoint, repeated)["payload"] == read(api, endpoint, delivery)["payload"]


@pytest.mark.parametrize("status", ["pending", "claimed", "delivered", "failed", "expired"])
@first_case
def test_a_delivery_of_any_status_can_be_redelivered_and_does_not_change(
    status: str, api: Api, endpoint: str, ends: Ends
) -> None:
    delivery = tried(api, endpoint)
    if status != "pending":
        ends(delivery, status)
    before = read(api, endpoint, delivery)
    pipeline.waiting(queue.FAST)
    repeated = again(api, endpoint, delivery).data
    assert read(api, endpoint, delivery) == before
    (text,) = pipeline.waiting(queue.FAST)
    sent = queue.DeliveryMessage.parse(text)
    assert (sent.requested_id, sent.event_ids) == (repeated["id"], (delivery["eventId"],))
    assert sent.is_requested


def test_a_redelivery_can_be_redelivered(api: Api, endpoint: str) -> None:
    made = [tried(api, endpoint)]
    for _ in range(3):
        made.append(again(api, endpoint, made[-1]).data)
    assert {one["eventId"] for one in made} == {made[0]["eventId"]}
    assert listed(api, endpoint) == made[::-1]


def test_a_disabled_and_unsubscribed_endpoint_gets_its_redelivery(api: Api, endpoint: str) -> None:
    delivery = tried(api, endpoint)
    api.patch(endpoint, {"webhook": {"enabled": False, "events": ["agent_deleted"]}})
    assert again(api, endpoint, delivery).data["status"] == "pending"


def test_an_expired_event_cannot_be_redelivered(api: Api, endpoint: str, workspace: NewWorkspace) -> None:
    delivery = tried(api, endpoint)
    expire_event(workspace, delivery)
    pipeline.waiting(queue.FAST)
    before = stored()
    assert refused(again(api, endpoint, delivery), 404) == "There is no such event."
    assert stored() == before
    assert pipeline.waiting(queue.FAST) == []


# ---- the list -------------------------------------------------------------------------------------


def test_an_endpoint_without_deliveries_has_an_empty_list(api: Api, endpoint: str) -> None:
    for query in ("", "?status=failed", "?status=pending&limit=1"):
        answer = api.get(f"{endpoint}/deliveries{query}")
        assert answer.json == {"success": True, "message": "Deliveries retrieved successfully", "data": []}


@one_of_each(lambda limit: limit > 6)
@pytest.mark.parametrize("limit", [1, 3, 6, 7, 8, 100])
def test_the_pages_have_every_delivery_once_newest_first(limit: int, api: Api, endpoint: str) -> None:
    made = [tried(api, endpoint) for _ in range(7)]
    pages = followed(api, endpoint, f"limit={limit}")
    assert [one for page in pages for one in page] == made[::-1]
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert pages[-1]


def test_a_page_has_twenty_deliveries_by_default(api: Api, endpoint: str) -> None:
    for _ in range(21):
        tried(api, endpoint)
    answer = api.get(f"{endpoint}/deliveries")
    assert len(answer.data) == 20
    assert len(listed(api, endpoint, f"?cursor={answer.json['nextCursor']}")) == 1


def test_a_cursor_is_not_affected_by_new_deliveries(api: Api, endpoint: str, ends: Ends) -> None:
    made = [tried(api, endpoint) for _ in range(4)]
    answer = api.get(f"{endpoint}/deliveries?limit=2")
    assert answer.data == made[:1:-1]
    tried(api, endpoint)
    ends(made[1], "delivered")
    rest = listed(api, endpoint, f"?limit=2&cursor={answer.json['nextCursor']}")
    assert [(one["id"], one["status"]) for one in rest] == [(made[1]["id"], "delivered"), (made[0]["id"], "pending")]


MIXED = ["failed", "delivered", "pending", "failed", "expired", "delivered", "failed", "failed", "delivered"]


@pytest.fixture
def mixed(api: Api, endpoint: str, ends: Ends) -> list[tuple[str, str]]:
    """Make deliveries of every status except `unknown`; return (id, status), newest first."""
    made = []
    for status in MIXED:
        delivery = tried(api, endpoint)
        if status != "pending":
            ends(delivery, status)
        made.append((delivery["id"], status))
    return made[::-1]


@each_value_once
@pytest.mark.parametrize("status", ["pending", "delivered", "failed", "unknown", "expired"])
@pytest.mark.parametrize("limit", [1, 2, 4, 100])
def test_a_status_lists_its_deliveries_once(
    status: str, limit: int, mixed: list[tuple[str, str]], api: Api, endpoint: str
) -> None:
    pages = followed(api, endpoint, f"limit={limit}&status={status}")
    shown = [(one["id"], one["status"]) for page in pages for one in page]
    assert shown == [one for one in mixed if one[1] == status]
    assert all(len(page) <= limit for page in pages)


@one_of_each(lambda most: most > 5)
@pytest.mark.parametrize("most", [1, 2, 3, 5, 8, 9, 10])
def test_a_page_of_one_status_may_be_short_and_its_cursor_continues(
    most: int, mixed: list[tuple[str, str]], api: Api, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "_MAX_SCANNED", most)
    for status in ("failed", "pending", "unknown"):
        pages = followed(api, endpoint, f"limit=2&status={status}")
        shown = [(one["id"], one["status"]) for page in pages for one in page]
        assert shown == [one for one in mixed if one[1] == status]
        assert len(pages) <= len(mixed) + 1


def test_without_a_status_all_deliveries_are_listed(mixed: list[tuple[str, str]], api: Api, endpoint: str) -> None:
    assert [(one["id"], one["status"]) for one in listed(api, endpoint, "?limit=100")] == mixed


@one_of_each(lambda query: query[:5])
@pytest.mark.parametrize("query", ["status=sent", "status=PENDING", "status=", "limit=0", "limit=101", "cursor=!!!"])
def test_an_invalid_query_is_refused(query: str, api: Api, endpoint: str) -> None:
    tried(api, endpoint)
    refused(api.get(f"{endpoint}/deliveries?{query}"), 400, query.split("=")[0])


def test_an_invalid_query_is_refused_before_the_endpoint_is_read(api: Api) -> None:
    api.get("/v3/webhooks")
    with counted() as requests:
        refused(api.get("/v3/webhooks/unknown/deliveries?status=sent"), 400, "status")
    assert requests == {}


def test_an_endpoint_lists_only_its_own_deliveries(api: Api, endpoint: str) -> None:
    given = {"url": "https://example.com/other", "events": ["lead_captured"]}
    other = f"/v3/webhooks/{api.post('/v3/webhooks', {'webhook': given}).data['id']}"
    own, theirs = tried(api, endpoint), tried(api, other)
    assert (listed(api, endpoint), listed(api, other)) == ([own], [theirs])


# ---- deletion and expiry --------------------------------------------------------------------------------------


def test_the_deliveries_of_a_deleted_endpoint_are_not_found(api: Api, endpoint: str) -> None:
    delivery = tried(api, endpoint)
    api.delete(endpoint)
    for method, path in (
        ("GET", f"{endpoint}/deliveries"),
        ("GET", f"{endpoint}/deliveries/{delivery['id']}"),
        ("POST", f"{endpoint}/deliveries/{delivery['id']}/redeliver"),
        ("POST", f"{endpoint}/test"),
    ):
        assert refused(api.call(method, path), 404) == "There is no such webhook."
    assert len(pipeline.waiting(queue.FAST)) == 1  # from before the deletion


def test_events_and_deliveries_expire_after_thirty_days(api: Api, endpoint: str) -> None:
    delivery = tried(api, endpoint)
    again(api, endpoint, delivery)
    month = 30 * DAY // 1000
    ends = [int(item["expires_at"]["N"]) for name in ("events", "deliveries") for item in stored()[f"cams-{name}"]]
    assert [end - delivery["createdAt"] // 1000 - month for end in ends] == [0, 0, 0]


def test_the_payload_of_an_event_is_encrypted_in_the_database(api: Api, endpoint: str) -> None:
    tried(api, endpoint)
    (event,), (delivery,) = stored()["cams-events"], stored()["cams-deliveries"]
    assert event.keys() == {"workspace", "event_id", "document", "expires_at"}
    assert "A test of" not in f"{event} {delivery}"
    assert delivery.keys() == {"webhook", "delivery_id", "event_id", "type", "expires_at", "version_tag"}
