"""Delivery, from a queue message to one POST and its outcome in the ledger, with failures at every step."""

import base64
import hmac
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent import futures
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from chalicelib import clock, errors, ids, storage
from chalicelib.webhooks import delivery, endpoints, functions, hosts, ledger, queue
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import webhook_body
from tests.evidence import stored
from tests.requests import lose_first_answer, refuse_operation
from tests.selection import one_of_each
from tests.webhooks import pipeline
from tests.webhooks.pipeline import Inbox, Stream, drain, fan_out, waiting
from tests.webhooks.receivers import OK, Receiver, read_request, status
from tests.writes import delete_now

ROOT = Path(__file__).parents[2]
DAY = 24 * 60 * 60 * 1000
LISTEN = ("organisation_created",)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Advance the clock by a number of milliseconds."""
    real, offset = clock.milliseconds, [0]

    def advance(milliseconds: int) -> None:
        offset[0] += milliseconds
        monkeypatch.setattr(clock, "milliseconds", lambda: real() + offset[0])

    return advance


def listen(api: Api, url: str) -> dict[str, Any]:
    created: dict[str, Any] = api.post("/v3/webhooks", webhook_body(url, *LISTEN)).data
    return created


def happen(stream: Stream, api: Api, *names: str) -> None:
    """Create organisations, and enqueue the deliveries of their events."""
    for name in names or ("acme",):
        assert api.post(f"/v2/orgs/{name}", {"name": name}).status == 200
    fan_out(stream.read())


def deliveries(api: Api, webhook: dict[str, Any]) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = api.get(f"/v3/webhooks/{webhook['id']}/deliveries").data
    return listed


def statuses(api: Api, webhook: dict[str, Any]) -> list[str]:
    return [one["status"] for one in deliveries(api, webhook)]


def names(inbox: Inbox) -> list[str]:
    return sorted(post.payload["organisationName"] for post in inbox.posts)


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
    later(DAY + 1_000)
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
@one_of_each(lambda: None)
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
    asked = api.post(f"{path}/test").data
    (first,) = [one for one in deliveries(api, webhook) if one["id"] != asked["id"]]
    repeated = api.post(f"{path}/deliveries/{first['id']}/redeliver").data
    drain()
    assert {post.body["type"] for post in inbox.posts} == {"organisation_created", "webhook_test"}
    assert [post.id for post in inbox.posts].count(first["eventId"]) == 2
    assert sorted(statuses(api, webhook)) == ["delivered"] * 3
    assert len({first["id"], asked["id"], repeated["id"]}) == 3


def test_a_delivery_whose_event_has_expired_is_expired(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace
) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    (row,) = stored()["cams-events"]
    delete_now(ledger.EventRow(*ledger.event_key(workspace.workspace_id, row["event_id"]["S"])[1:]))
    drain()
    assert inbox.posts == []
    assert statuses(api, webhook) == ["expired"]


# At most once


def test_a_duplicate_message_is_sent_once(stream: Stream, api: Api, inbox: Inbox) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    held = pipeline.take()
    body = {"Records": [{"body": held.bodies[0]}] * 10}
    functions.deliver(body, None)
    functions.deliver_slow(body, None)
    held.run()
    assert len(inbox.posts) == 1
    assert statuses(api, webhook) == ["delivered"]


def test_a_claim_whose_response_was_lost_is_recognised(stream: Stream, api: Api, inbox: Inbox) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    with lose_first_answer("PutItem"):
        drain()
    assert len(inbox.posts) == 1
    assert statuses(api, webhook) == ["delivered"]


def test_an_unrecorded_outcome_is_unknown_after_a_minute(
    stream: Stream, api: Api, inbox: Inbox, later: Callable[[int], None]
) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    held = pipeline.take()
    with refuse_operation("UpdateItem", "ThrottlingException"):
        held.run()
    assert len(inbox.posts) == 1
    assert statuses(api, webhook) == ["pending"]
    later(59_000)
    assert statuses(api, webhook) == ["pending"]
    later(2_000)
    assert statuses(api, webhook) == ["unknown"]
    held.run()
    assert len(inbox.posts) == 1
    assert statuses(api, webhook) == ["unknown"]


@pytest.mark.parametrize("operation", ["BatchGetItem", "PutItem"])
def test_a_failure_before_the_claim_is_retried(stream: Stream, api: Api, inbox: Inbox, operation: str) -> None:
    listen(api, inbox.url())
    happen(stream, api, "one", "two", "three")
    held = pipeline.take()
    with refuse_operation(operation, "ThrottlingException"), pytest.raises(errors.Unavailable):
        held.run()
    assert inbox.posts == []
    held.run()
    assert names(inbox) == ["one", "three", "two"]


def test_only_a_failed_message_is_reported_after_the_others_are_sent(
    stream: Stream, api: Api, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    listen(api, inbox.url())
    for name in ("one", "two", "three"):
        happen(stream, api, name)
    held = pipeline.take()
    find_many, failing = storage.find_many, queue.from_text(held.bodies[0]).event_ids[0]

    def find(keys: Any) -> Any:
        if any(key.sort == failing for key in keys):
            raise errors.Unavailable
        return find_many(keys)

    monkeypatch.setattr(storage, "find_many", find)
    returned = functions.deliver({"Records": held.records}, None)
    assert returned == {"batchItemFailures": [{"itemIdentifier": held.records[0]["messageId"]}]}
    assert len(inbox.posts) == 2
    monkeypatch.setattr(storage, "find_many", find_many)
    held.run()
    assert names(inbox) == ["one", "three", "two"]


def test_a_failed_batch_waits_for_its_running_deliveries(
    stream: Stream, api: Api, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    listen(api, inbox.url())
    happen(stream, api, "one", "two")
    started: list[futures.Future[None]] = []
    pool = delivery.threads[queue.FAST]
    submit = pool.submit

    def submit_twice(*work: Any) -> futures.Future[None]:  # the read of the message, and the first delivery
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(submit(*work))
        return started[-1]

    monkeypatch.setattr(pool, "submit", submit_twice)
    with pytest.raises(RuntimeError):
        pipeline.take().run()
    assert all(one.done() for one in started)
    assert len(inbox.posts) == 1


JUNK = ["no JSON", "{}", "null", "7", '"abcde"', "[]", '["a","b","c",["d"]]', '["a","b","c",["d"],"","f"]',
        '["a","b","c","d",""]', '["a","b","c",[],""]', '["a","b","c",[5],""]', '["a","b","c",["d"],null]',
        '{"a":1,"b":2,"c":3,"d":4,"e":5}']  # fmt: skip


@one_of_each(lambda text: text[:1])
@pytest.mark.parametrize("text", JUNK)
def test_an_unreadable_message_goes_to_the_dead_letter_queue_and_the_batch_continues(
    stream: Stream, api: Api, inbox: Inbox, text: str
) -> None:
    listen(api, inbox.url())
    happen(stream, api, "one")
    happen(stream, api, "two")
    one, two = pipeline.take().bodies
    functions.deliver({"Records": [{"body": body} for body in (one, text, two)]}, None)
    assert names(inbox) == ["one", "two"]
    assert waiting(queue.DEAD_LETTER) == [text]


ALWAYS_FAILING = {
    queue.FAST: ("BatchGetItem", queue.Message("a", "b", "c", ("d",))),
    queue.SLOW: ("BatchGetItem", queue.Message("a", "b", "c", ("d",))),
    queue.CONTINUATIONS: ("Query", queue.Continuation("a", "c", (("d",),))),
}


@pytest.mark.parametrize("queue_name", ALWAYS_FAILING)
def test_a_message_that_always_fails_goes_to_the_dead_letter_queue_after_ten_attempts(
    stream: Stream, queue_name: str
) -> None:
    operation, message = ALWAYS_FAILING[queue_name]
    queue.send("a", [message], queue_name)
    attempts = 0
    with refuse_operation(operation, "ThrottlingException"):
        while (held := pipeline.take(queue_name)).messages:
            with pytest.raises(errors.Unavailable):
                held.run()
            held.give_back()
            attempts += 1
    assert attempts == 10
    assert waiting(queue.DEAD_LETTER) == [message.text()]


def test_a_repeated_batch_sends_an_unreadable_message_to_the_dead_letter_queue_once(
    stream: Stream, api: Api, inbox: Inbox
) -> None:
    """One of them is nested too deeply for the parser."""
    listen(api, inbox.url())
    happen(stream, api, "one")
    (body,) = pipeline.take().bodies
    batch = {"Records": [{"body": body, "messageId": "1"}, {"body": "[" * 100_000, "messageId": "2"}]}
    for _ in range(3):
        with refuse_operation("BatchGetItem", "ThrottlingException"), pytest.raises(errors.Unavailable):
            functions.deliver(batch, None)
    assert waiting(queue.DEAD_LETTER) == []
    functions.deliver(batch, None)
    assert len(waiting(queue.DEAD_LETTER)) == 1


def test_the_deliveries_of_a_batch_alone_start_at_once(
    stream: Stream, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "SLOW_SECONDS", 60.0)
    monkeypatch.setattr(delivery, "_POLL_SECONDS", 60.0)  # the next ones start when all before have ended
    monkeypatch.setattr(delivery, "_STARTS", 5)
    all_arrived = threading.Barrier(5)

    def answer_when_all_arrived(connection: socket.socket, where: Receiver) -> None:
        read_request(connection)
        all_arrived.wait(20)
        connection.sendall(OK)

    with pipeline.inbox(answer_when_all_arrived) as receiving:
        webhook = listen(api, receiving.url())
        happen(stream, api, *(f"org-{number}" for number in range(5)))
        drain(queue.FAST)
    assert statuses(api, webhook) == ["delivered"] * 5


def test_the_batches_of_a_process_share_its_starts(stream: Stream, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "SLOW_SECONDS", 60.0)
    monkeypatch.setattr(delivery, "_POLL_SECONDS", 60.0)
    monkeypatch.setattr(delivery, "_STARTS", 5)
    others = {1, 2, 3, 4}  # of five batches, this one has a fifth of the starts
    monkeypatch.setattr(delivery, "_starting", others)
    running: list[bool] = []
    most = [0]

    def note(connection: socket.socket, where: Receiver) -> None:
        read_request(connection)
        running.append(True)
        most[0] = max(most[0], len(running))
        threading.Event().wait(0.05)
        running.pop()
        connection.sendall(OK)

    with pipeline.inbox(note) as noting:
        webhook = listen(api, noting.url())
        happen(stream, api, *(f"org-{number}" for number in range(5)))
        drain(queue.FAST)
    assert statuses(api, webhook) == ["delivered"] * 5
    assert most == [1]
    assert others == {1, 2, 3, 4}


# Slow receivers


def state_of(workspace: NewWorkspace, inbox: Inbox) -> hosts.Host:
    _, known = endpoints.list_with_hosts(workspace.workspace_id)
    return hosts.find(known, inbox.url())


def test_a_message_to_a_slow_host_moves_to_the_slow_queue(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace
) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    hosts.demote(workspace.workspace_id, inbox.host)
    drain(queue.FAST)
    assert inbox.posts == []
    assert stored()["cams-deliveries"] == []
    drain(queue.SLOW)
    assert len(inbox.posts) == 1
    assert statuses(api, webhook) == ["delivered"]


def test_a_slow_database_does_not_make_a_receiver_slow(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "SLOW_SECONDS", 0.1)
    claim = ledger.claim

    def claimed_late(row: ledger.DeliveryRow) -> bool:
        threading.Event().wait(0.6)
        return claim(row)

    monkeypatch.setattr(ledger, "claim", claimed_late)
    listen(api, inbox.url())
    happen(stream, api)
    drain(queue.FAST)
    assert len(inbox.posts) == 1
    assert state_of(workspace, inbox).is_quick


def test_a_host_that_hangs_is_demoted_once_per_batch(
    stream: Stream, api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[tuple[str, str]] = []
    polls, answer, wait = count(), threading.Event(), futures.wait

    def hangs(connection: socket.socket, where: Receiver) -> None:
        read_request(connection)
        answer.wait(10)
        connection.sendall(OK)

    def poll(*waited_for: Any) -> Any:
        if moved and next(polls) == 3:  # polled several times since the move
            answer.set()
        return wait(*waited_for)

    monkeypatch.setattr(delivery, "SLOW_SECONDS", 0.001)
    monkeypatch.setattr(hosts, "demote", lambda *host: moved.append(host))
    monkeypatch.setattr(futures, "wait", poll)
    with pipeline.inbox(hangs) as slow:
        listen(api, slow.url())
        happen(stream, api)
        drain(queue.FAST)
    assert moved == [(workspace.workspace_id, slow.host)]


def test_a_host_is_demoted_while_it_still_hangs(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "SLOW_SECONDS", 0.3)
    answer, asked = threading.Event(), threading.Event()

    def hangs(connection: socket.socket, where: Receiver) -> None:
        where.requests.append(read_request(connection))
        asked.set()
        answer.wait(20)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with pipeline.inbox(hangs) as slow:
        hanging = listen(api, slow.url())  # the batch has this order
        listen(api, inbox.url())
        happen(stream, api)
        running = threading.Thread(target=pipeline.take().run)
        running.start()
        assert asked.wait(10)
        for _ in range(200):
            if not state_of(workspace, slow).is_quick:
                break
            threading.Event().wait(0.05)
        assert running.is_alive()
        assert not state_of(workspace, slow).is_quick
        assert state_of(workspace, inbox).is_quick
        # The other delivery of the batch did not wait, and new events bypass the hanging batch.
        assert len(inbox.posts) == 1
        happen(stream, api, "more")
        assert len(waiting(queue.FAST)) == len(waiting(queue.SLOW)) == 1
        answer.set()
        running.join(20)
    assert statuses(api, hanging)[-1] == "delivered"


# The list


def test_the_pages_of_a_long_list_have_every_delivery_once(
    stream: Stream, api: Api, workspace: NewWorkspace, inbox: Inbox, later: Callable[[int], None]
) -> None:
    webhook = listen(api, inbox.url())
    later(120_000)
    start = clock.milliseconds() - 90_000
    rows = []
    for number in range(1_150):
        event_id = ids.id_at(start + number, number)
        row = ledger.new(workspace.workspace_id, webhook["id"], event_id, "organisation_created", event_id)
        row.claim, row.outcome = ids.id_at(start, number), ledger.DELIVERED
        if number % 1_000 == 0:
            row.outcome = None  # claimed 90 seconds ago
        if number % 1_000 == 1:
            row.outcome = ledger.FAILED
        row.version_tag = event_id
        rows.append(row)
    storage.save_many(rows)
    newest_first = [row.delivery_id for row in reversed(rows)]

    def pages(query: str, most: int = 100) -> list[list[str]]:
        found, cursor = [], ""
        while len(found) < most:
            answer = api.get(f"/v3/webhooks/{webhook['id']}/deliveries?limit=100{query}{cursor}")
            found.append([one["id"] for one in answer.data])
            if "nextCursor" not in answer.json:
                break
            cursor = f"&cursor={answer.json['nextCursor']}"
        return found

    whole = pages("")
    assert [len(page) for page in whole] == [100] * 11 + [50]
    assert [one for page in whole for one in page] == newest_first
    # A page of one status searches 1,000 deliveries, so it may be short although more pages follow.
    assert pages("&status=unknown") == [[newest_first[149]], [newest_first[1_149]]]
    others = [one for one in newest_first if one not in (newest_first[148], newest_first[149])]
    assert pages("&status=delivered", 1) == [others[:100]]


# As a Lambda function


IMPORTED = """
import sys
from chalicelib.webhooks import functions
edge = {"app", "pydantic", "chalicelib.http.wire", "chalicelib.http.messages", "chalicelib.http.auth"}
print(sorted(edge & set(sys.modules)))
"""
RUN = """
import sys
from moto import mock_aws
from chalicelib import storage
from chalicelib.webhooks import functions
from infra import tables
with mock_aws():
    tables.create_missing(storage.sdk_client)
    for name in ("agents", "conversations", "clients", "organisations", "leads"):
        getattr(functions, "fan_out_" + name)({"Records": [{"eventID": "1", "dynamodb": {}}]}, None)
    for name in ("deliver", "deliver_slow"):
        getattr(functions, name)({"Records": [{"body": "junk"}, {"body": '["w","e","t",["i"],""]'}]}, None)
    functions.continue_fan_out({"Records": [{"body": "junk"}, {"body": '["w","t",[["0"]]]'}]}, None)
    sqs = storage.sdk_client("sqs")
    url = sqs.get_queue_url(QueueName="cams-deliveries-dead")["QueueUrl"]
    print(len(sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]), "app" in sys.modules)
"""


def test_the_event_functions_import_neither_the_application_nor_wire_models() -> None:
    for code, printed in ((IMPORTED, "[]"), (RUN, "8 False")):
        ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.splitlines()[-1] == printed
