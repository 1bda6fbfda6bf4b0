"""From a message on the queue to one POST and its outcome in the ledger, whatever happens in between."""

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
from chalicelib.webhooks import delivery, endpoints, functions, ledger, queue
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import webhook_body
from tests.evidence import stored
from tests.requests import answer_lost_once, refused_by_the_engine
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
    """Let so many milliseconds go by."""
    real, gone = clock.milliseconds, [0]

    def pass_(milliseconds: int) -> None:
        gone[0] += milliseconds
        monkeypatch.setattr(clock, "milliseconds", lambda: real() + gone[0])

    return pass_


def listen(api: Api, url: str) -> dict[str, Any]:
    created: dict[str, Any] = api.post("/v3/webhooks", webhook_body(url, *LISTEN)).data
    return created


def happen(stream: Stream, api: Api, *names: str) -> None:
    """Organisations are created, and what is to be told of them is on the queue."""
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


# What is sent


def signature(secret: str, post: pipeline.Posted) -> str:
    """As a receiver works it out for itself (Standard Webhooks 1.0.0)."""
    signed = b".".join((post.id.encode(), post.headers["webhook-timestamp"].encode(), post.text))
    digest = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, "sha256").digest()
    return "v1," + base64.b64encode(digest).decode()


def test_the_body_is_type_and_payload_with_the_secret_inside_and_signed(
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


def test_the_secret_is_in_no_table(stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace) -> None:
    listen(api, inbox.url())
    happen(stream, api)
    drain()
    assert workspace.workspace_secret not in str(stored())
    (row,) = stored()["cams-events"]
    event = ledger.find_event(workspace.workspace_id, row["event_id"]["S"])
    assert event is not None
    assert "workspaceSecret" not in event["payload"]


def test_for_a_day_after_a_rotation_both_secrets_sign(
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


# What acknowledges


@one_of_each(lambda code: code // 100)
@pytest.mark.parametrize("code", [201, 202, 204, 301, 307, 400, 404, 410, 429, 500, 503])
def test_only_200_acknowledges_and_nothing_is_sent_again(stream: Stream, api: Api, code: int) -> None:
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


def test_a_receiver_that_is_not_there_is_a_failure(stream: Stream, api: Api) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        webhook = listen(api, f"http://127.0.0.1:{taken.getsockname()[1]}/")
        happen(stream, api)
        drain()
    (failed,) = deliveries(api, webhook)
    assert failed["status"] == "failed"
    assert failed.get("responseStatus") is None


# Who is not sent anything any more


@pytest.mark.parametrize("change", [{"enabled": False}, {"events": ["agent_created"]}, None])
def test_an_endpoint_that_has_changed_its_mind_is_not_sent_what_is_on_its_way(
    stream: Stream, api: Api, inbox: Inbox, change: dict[str, Any] | None
) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    path = f"/v3/webhooks/{webhook['id']}"
    assert (api.delete(path) if change is None else api.patch(path, {"webhook": change})).status == 200
    assert drain() == 1
    assert inbox.posts == []
    assert stored()["cams-deliveries"] == []


def test_what_is_asked_for_is_sent_whatever_the_endpoint_is_set_to(stream: Stream, api: Api, inbox: Inbox) -> None:
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


def test_an_event_that_is_not_kept_any_more_has_expired(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace
) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    (row,) = stored()["cams-events"]
    delete_now(ledger.EventRow(workspace.workspace_id, row["event_id"]["S"]))
    drain()
    assert inbox.posts == []
    assert statuses(api, webhook) == ["expired"]


# Once


def test_a_message_that_comes_again_or_twice_at_once_is_sent_once(stream: Stream, api: Api, inbox: Inbox) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    held = pipeline.take()
    body = {"Records": [{"body": held.bodies[0]}] * 10}
    functions.deliver(body, None)
    functions.deliver_slow(body, None)
    held.run()
    assert len(inbox.posts) == 1
    assert statuses(api, webhook) == ["delivered"]


def test_a_claim_whose_answer_was_lost_is_recognised_as_our_own(stream: Stream, api: Api, inbox: Inbox) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    with answer_lost_once("PutItem"):
        drain()
    assert len(inbox.posts) == 1
    assert statuses(api, webhook) == ["delivered"]


def test_an_outcome_that_could_not_be_written_down_is_unknown_after_a_minute(
    stream: Stream, api: Api, inbox: Inbox, later: Callable[[int], None]
) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    held = pipeline.take()
    with refused_by_the_engine("UpdateItem", "ThrottlingException"):
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
def test_what_fails_before_its_claim_comes_again(stream: Stream, api: Api, inbox: Inbox, operation: str) -> None:
    listen(api, inbox.url())
    happen(stream, api, "one", "two", "three")
    held = pipeline.take()
    with refused_by_the_engine(operation, "ThrottlingException"), pytest.raises(errors.Unavailable):
        held.run()
    assert inbox.posts == []
    held.run()
    assert names(inbox) == ["one", "three", "two"]


def test_a_message_that_fails_fails_the_batch_after_the_others_are_sent(
    stream: Stream, api: Api, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    listen(api, inbox.url())
    happen(stream, api, "one", "two", "three")
    held = pipeline.take()
    find_many, failing = storage.find_many, queue.from_text(held.bodies[0]).event_id

    def find(keys: Any) -> Any:
        if any(key.sort == failing for key in keys):
            raise errors.Unavailable
        return find_many(keys)

    monkeypatch.setattr(storage, "find_many", find)
    with pytest.raises(errors.Unavailable):
        held.run()
    assert len(inbox.posts) == 2
    monkeypatch.setattr(storage, "find_many", find_many)
    held.run()
    assert names(inbox) == ["one", "three", "two"]


def test_a_batch_that_fails_ends_no_sooner_than_its_deliveries(
    stream: Stream, api: Api, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    listen(api, inbox.url())
    happen(stream, api, "one", "two")
    begun: list[futures.Future[None]] = []
    submit = delivery.threads.submit

    def once(*work: Any) -> futures.Future[None]:
        if begun:
            raise RuntimeError("can't start new thread")
        begun.append(submit(*work))
        return begun[0]

    monkeypatch.setattr(delivery.threads, "submit", once)
    with pytest.raises(RuntimeError):
        pipeline.take().run()
    assert begun[0].done()
    assert len(inbox.posts) == 1


JUNK = ["no JSON", "{}", "null", "7", '"abcde"', "[]", '["a","b","c","d"]', '["a","b","c","d","e","f"]',
        '["a","b","c","d",5]', '["a","b","c","d",null]', '{"a":1,"b":2,"c":3,"d":4,"e":5}']  # fmt: skip


@one_of_each(lambda text: text[:1])
@pytest.mark.parametrize("text", JUNK)
def test_a_message_that_cannot_be_read_is_buried_and_holds_up_no_other(
    stream: Stream, api: Api, inbox: Inbox, text: str
) -> None:
    listen(api, inbox.url())
    happen(stream, api, "one", "two")
    one, two = pipeline.take().bodies
    functions.deliver({"Records": [{"body": body} for body in (one, text, two)]}, None)
    assert names(inbox) == ["one", "two"]
    assert waiting(queue.DEAD) == [text]


# Slow receivers


def test_a_message_of_an_endpoint_that_has_become_slow_moves_to_the_slow_lane(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace
) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    endpoints.move_to_slow_queue(workspace.workspace_id, webhook["id"])
    drain(queue.FAST)
    assert inbox.posts == []
    assert stored()["cams-deliveries"] == []
    drain(queue.SLOW)
    assert len(inbox.posts) == 1
    assert statuses(api, webhook) == ["delivered"]


def test_a_receiver_is_not_slow_because_the_database_is(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "SLOW_SECONDS", 0.1)
    claim = ledger.claim

    def claimed_late(row: ledger.DeliveryRow) -> bool:
        threading.Event().wait(0.6)
        return claim(row)

    monkeypatch.setattr(ledger, "claim", claimed_late)
    webhook = listen(api, inbox.url())
    happen(stream, api)
    drain(queue.FAST)
    assert len(inbox.posts) == 1
    assert not endpoints.read(workspace.workspace_id, webhook["id"]).is_slow


def test_a_receiver_that_hangs_is_noted_as_slow_once_for_a_batch(
    stream: Stream, api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[tuple[str, str]] = []
    looks, answer, wait = count(), threading.Event(), futures.wait

    def hangs(connection: socket.socket, where: Receiver) -> None:
        read_request(connection)
        answer.wait(10)
        connection.sendall(OK)

    def look(*waited_for: Any) -> Any:
        if noted and next(looks) == 3:  # it has been looked at that often since
            answer.set()
        return wait(*waited_for)

    monkeypatch.setattr(delivery, "SLOW_SECONDS", 0.001)
    monkeypatch.setattr(endpoints, "move_to_slow_queue", lambda *endpoint: noted.append(endpoint))
    monkeypatch.setattr(futures, "wait", look)
    with pipeline.inbox(hangs) as slow:
        webhook = listen(api, slow.url())
        happen(stream, api)
        drain(queue.FAST)
    assert noted == [(workspace.workspace_id, webhook["id"])]


def test_an_endpoint_that_is_deleted_while_it_hangs_does_not_come_back(
    stream: Stream, api: Api, workspace: NewWorkspace
) -> None:
    webhook = listen(api, "http://127.0.0.1:9/")
    api.delete(f"/v3/webhooks/{webhook['id']}")
    with pytest.raises(storage.ConditionFailed):
        endpoints.move_to_slow_queue(workspace.workspace_id, webhook["id"])
    assert [row["webhook_id"]["S"] for row in stored()["cams-webhooks"]] == ["lock"]


def test_a_receiver_is_noted_as_slow_while_it_still_hangs(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "SLOW_SECONDS", 0.3)
    answer, asked = threading.Event(), threading.Event()

    def hangs(connection: socket.socket, where: Receiver) -> None:
        where.requests.append(read_request(connection))
        asked.set()
        answer.wait(20)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    def is_slow(webhook: dict[str, Any]) -> bool:
        return endpoints.read(workspace.workspace_id, webhook["id"]).is_slow

    with pipeline.inbox(hangs) as slow:
        hanging, quick = listen(api, slow.url()), listen(api, inbox.url())  # in this order in the batch
        happen(stream, api)
        running = threading.Thread(target=pipeline.take().run)
        running.start()
        assert asked.wait(10)
        for _ in range(200):
            if is_slow(hanging):
                break
            threading.Event().wait(0.05)
        assert running.is_alive()
        assert is_slow(hanging)
        assert not is_slow(quick)
        # Who is in the same batch did not wait, and what comes meanwhile does not join.
        assert len(inbox.posts) == 1
        happen(stream, api, "more")
        assert len(waiting(queue.FAST)) == len(waiting(queue.SLOW)) == 1
        answer.set()
        running.join(20)
    assert statuses(api, hanging)[-1] == "delivered"
    monkeypatch.setattr(clock, "seconds", lambda: clock.milliseconds() // 1000 + 601)
    assert not is_slow(hanging)


# The list


def test_the_list_goes_through_thousands_of_deliveries_each_once(
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
            row.outcome = None  # claimed a minute and a half ago
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
    # A page of one status looks at a thousand, so it may be short and have more behind it.
    assert pages("&status=unknown") == [[newest_first[149]], [newest_first[1_149]]]
    others = [one for one in newest_first if one not in (newest_first[148], newest_first[149])]
    assert pages("&status=delivered", 1) == [others[:100]]


# As a function


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
        getattr(functions, name)({"Records": [{"body": "junk"}, {"body": '["w","e","i","t","d"]'}]}, None)
    sqs = storage.sdk_client("sqs")
    url = sqs.get_queue_url(QueueName="cams-deliveries-dead")["QueueUrl"]
    print(len(sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]), "app" in sys.modules)
"""


def test_the_event_functions_run_without_the_application_and_import_no_wire_models() -> None:
    for code, printed in ((IMPORTED, "[]"), (RUN, "7 False")):
        ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.splitlines()[-1] == printed
