"""One delivery: its signed POST request, which responses acknowledge it, and when it is not sent."""

import base64
import hmac
import socket
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib import clock
from chalicelib.storage import reads
from chalicelib.webhooks import ledger
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import stored
from tests.direct_writes import delete_now
from tests.selection import first_case, one_of_each
from tests.sending.receivers import status
from tests.webhooks import pipeline
from tests.webhooks.deliveries import deliveries, happen, listen, statuses
from tests.webhooks.pipeline import Inbox, Stream, drain

DAY = 24 * 60 * 60


# The request


def signature(secret: str, post: pipeline.Posted) -> str:
    """Compute a signature as a receiver does (Standard Webhooks 1.0.0)."""
    signed = b".".join((post.id.encode(), post.headers["webhook-timestamp"].encode(), post.text))
    digest = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, "sha256").digest()
    return "v1," + base64.b64encode(digest).decode()


def test_the_body_has_type_and_payload_with_the_workspace_secret_and_is_signed(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace
) -> None:
    webhook = listen(api, inbox.url("a/b?c=d"))
    happen(stream, api)
    drain()
    (post,) = inbox.posts
    created_at = post.body["payload"]["createdAt"]
    assert post.body == {
        "type": "organisation_created",
        "payload": {
            "organisationId": "acme",
            "organisationName": "acme",
            "operation": "created",
            "createdAt": created_at,
            "workspaceSecret": workspace.workspace_secret,
        },
    }
    assert abs(created_at - clock.milliseconds()) < 60_000
    assert post.path == "/a/b?c=d"
    assert post.headers["content-type"] == "application/json"
    assert post.headers["webhook-signature"] == signature(webhook["signingSecret"], post)
    assert abs(int(post.headers["webhook-timestamp"]) - clock.seconds()) < 60
    (delivered,) = deliveries(api, webhook)
    assert (delivered["status"], delivered["responseStatus"]) == ("delivered", 200)
    assert post.id == delivered["eventId"] == delivered["id"]


def test_the_workspace_secret_is_in_no_table(stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace) -> None:
    listen(api, inbox.url())
    happen(stream, api)
    drain()
    assert workspace.workspace_secret not in str(stored())
    (row,) = stored()["cams-events"]
    event = ledger.find_event(workspace.workspace_id, row["event_id"]["S"])
    assert event is not None
    assert "workspaceSecret" not in event["payload"]


def test_both_secrets_sign_for_a_day_after_a_rotation(
    stream: Stream, api: Api, inbox: Inbox, later: Callable[[int], None]
) -> None:
    webhook = listen(api, inbox.url())
    rotated = api.post(f"/v3/webhooks/{webhook['id']}/rotate").data
    happen(stream, api, "one")
    drain()
    later(DAY + 1)
    happen(stream, api, "two")
    drain()
    during, after = inbox.posts
    old, new = webhook["signingSecret"], rotated["signingSecret"]
    assert during.headers["webhook-signature"] == f"{signature(new, during)} {signature(old, during)}"
    assert after.headers["webhook-signature"] == signature(new, after)


# The response


@one_of_each(lambda code: code // 100)
@pytest.mark.parametrize("code", [201, 202, 204, 301, 307, 400, 404, 410, 429, 500, 503])
def test_only_200_acknowledges_and_a_failed_delivery_is_not_sent_again(stream: Stream, api: Api, code: int) -> None:
    with pipeline.inbox(status(code, "Location: http://127.0.0.1/", "Retry-After: 1")) as inbox:
        webhook = listen(api, inbox.url())
        happen(stream, api)
        held = pipeline.take()
        held.run()
        held.run()
        assert len(inbox.posts) == 1
    (failed,) = deliveries(api, webhook)
    assert (failed["status"], failed["responseStatus"]) == ("failed", code)
    assert str(code) in failed["error"]


def test_a_refused_connection_is_a_failed_delivery(stream: Stream, api: Api) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        webhook = listen(api, f"http://127.0.0.1:{taken.getsockname()[1]}/")
        happen(stream, api)
        drain()
    (failed,) = deliveries(api, webhook)
    assert failed["status"] == "failed"
    assert failed.get("responseStatus") is None


# Deliveries that are not sent


@pytest.mark.parametrize("change", [{"enabled": False}, {"events": ["agent_created"]}, None])
@first_case
def test_a_disabled_unsubscribed_or_deleted_endpoint_gets_no_queued_deliveries(
    stream: Stream, api: Api, inbox: Inbox, change: dict[str, Any] | None
) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    path = f"/v3/webhooks/{webhook['id']}"
    assert (api.delete(path) if change is None else api.patch(path, {"webhook": change})).status == 200
    assert drain() == 1
    assert inbox.posts == []
    assert stored()["cams-deliveries"] == []


def test_a_requested_delivery_ignores_the_settings_of_the_endpoint(stream: Stream, api: Api, inbox: Inbox) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    drain()
    path = f"/v3/webhooks/{webhook['id']}"
    api.patch(path, {"webhook": {"enabled": False, "events": ["agent_created"]}})
    delivery = api.post(f"{path}/test").data
    (first,) = [one for one in deliveries(api, webhook) if one["id"] != delivery["id"]]
    repeated = api.post(f"{path}/deliveries/{first['id']}/redeliver").data
    drain()
    assert {post.body["type"] for post in inbox.posts} == {"organisation_created", "webhook_test"}
    assert [post.id for post in inbox.posts].count(first["eventId"]) == 2
    assert sorted(statuses(api, webhook)) == ["delivered"] * 3
    assert len({first["id"], delivery["id"], repeated["id"]}) == 3


def test_an_event_that_an_eventually_consistent_read_misses_is_delivered(
    stream: Stream, api: Api, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    listen(api, inbox.url())
    happen(stream, api)
    read = reads._batch
    monkeypatch.setattr(reads, "_batch", lambda keys: read([key for key in keys if key.consistent]))
    drain()
    assert len(inbox.posts) == 1


def test_a_delivery_whose_event_has_expired_is_expired(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace
) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    (row,) = stored()["cams-events"]
    delete_now(ledger.EventRow(*ledger.event_key(workspace.workspace_id, row["event_id"]["S"])[1:3]))
    drain()
    assert inbox.posts == []
    assert statuses(api, webhook) == ["expired"]
