"""Runs every function so that it makes every DynamoDB, KMS and SQS call that its code contains.

A new call needs a situation in this module, because `test_rights` fails if a granted permission is unused.
"""

import socket
import time
from typing import Any

import pytest

from chalicelib import clock, queues, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import listing, tallies
from chalicelib.conversations.page_position import Quarter, quarter_of
from chalicelib.credentials import tokens
from chalicelib.queues import tasks
from chalicelib.queues.messages import pack
from chalicelib.queues.tasks import ApplyRetention, ClearLeftovers
from chalicelib.webhooks import endpoints, events, fan_out, hosts, ledger, queue, retry_policy
from chalicelib.workspaces import store as workspaces
from tests import extensions, person_records
from tests.api import Api
from tests.builders import lead_body, state_body, webhook_body
from tests.deletion.cascades import as_record, cascade_messages, fill, maintain, task_messages
from tests.deployment import rights
from tests.direct_writes import delete_now
from tests.engine_requests import refuse_operation
from tests.followers import follow
from tests.operation_cases import CASES, DELETE, PUT, TRANSACT, Service, large, path_of
from tests.sending.receivers import OK, Receiver, read_request
from tests.test_log_values import WATCHING
from tests.webhooks import pipeline
from tests.webhooks.crashes import make_atomic

OF_QUARTER = 3  # members of a request that counts a quarter-hour


def every_operation(service: Service) -> None:
    """Call every API operation in every case, after a conflict on the record that the operation writes."""
    for case in CASES:
        method, path = case.operation.split()[0], path_of(case, service)
        for write in (PUT, DELETE):
            if write in case.costs:
                with refuse_operation(write, "ConditionalCheckFailedException"):
                    expected = 409 if write == PUT else 200  # a deletion is complete if no records are left to delete
                    assert service.api.call(method, path, case.body).status == expected, case.id
        assert service.api.call(method, path, case.body).status in (200, 404), case.id


def a_request_is_repeated(service: Service) -> None:
    """Repeat requests that have an idempotency key and a small or chunked response. Throttle their first attempts."""
    paths = {"/v3/agents/support/tools": {"tool": {"name": "Keyed"}}, "/agents/support/interact/keyed/state": large(4)}
    for key, (path, body) in enumerate(paths.items()):
        headers = {**service.api._headers, "Content-Type": "application/json", "Idempotency-Key": f"rights-{key}"}
        with refuse_operation(TRANSACT, "ThrottlingException"):
            assert service.api.call("POST", path, body, headers).status == 503
        for _ in range(2):
            assert service.api.call("POST", path, body, headers).status == 200


def analytics_are_written_with_a_precondition(service: Service) -> None:
    """Write analytics with a precondition, because only such a write reads first."""
    headers = {**service.api._headers, "Content-Type": "application/json", "If-None-Match": '"another"'}
    answer = service.api.call("POST", "/v2/agents/support/analytics/user-1", {"record": "convo"}, headers)
    assert answer.status == 200


def a_whole_agent_is_deleted(patch: pytest.MonkeyPatch) -> None:
    """Delete an agent. The first request deletes the agent, its records and its keys; the second, the tombstone."""
    api = Api(workspaces.create("Deleted").workspace_key)
    fill_with_keys(api)
    for now in (clock.milliseconds(), clock.milliseconds() + 90_000):
        with patch.context() as later:
            later.setattr(clock, "milliseconds", lambda now=now: now)
            assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"
    assert api.delete("/v3/agents/support").status == 404


def a_whole_agent_is_purged(patch: pytest.MonkeyPatch) -> None:
    """Make the request's process die immediately, so that the cascade needs two function invocations."""
    api = Api(workspaces.create("Purged").workspace_key)
    cascade_messages()
    fill_with_keys(api)
    with patch.context() as ending:
        ending.setattr(agents, "list_keys", _crash)
        assert api.delete("/v3/agents/support").status == 500
    (message,) = cascade_messages()
    now = clock.milliseconds() + 90_000
    with patch.context() as later:
        later.setattr(clock, "milliseconds", lambda: now)
        with patch.context() as short_of_time:
            moments = iter(range(0, 1_000, 100))
            short_of_time.setattr(clock, "monotonic", lambda: float(next(moments)))
            maintain([message])
        (message,) = cascade_messages()
        maintain([message])
    assert cascade_messages() == []
    assert api.post("/v2/agents/support", {}).status == 200


def fill_with_keys(api: Api) -> None:
    """Create an agent that owns every kind of record, one replaced key, and one rejected key."""
    first = api.post("/v2/agents/support", {"title": "Support"}).data["SECRET_API_KEY"]
    assert api.post("/v2/agents/support", {"SECRET_API_KEY": None}).status == 200
    for _ in range(2):
        assert api.post("/v2/agents/support", {"SECRET_API_KEY": tokens.new(tokens.AGENT)}).status == 200
    assert Api(first).get("/v2/agents/support").status == 401
    fill(api)
    workspace_id = api.get("/v3/agents/support/tools").data[0]["userId"]
    tallies.recount(workspace_id, "support", Quarter("2026-11-01", 0), lambda: 1)
    extensions.call("fill_agent", workspace_id, "support")
    messages = [{"item": {"text": str(number)}} for number in range(500)]  # too many for one item
    assert (
        api.post("/agents/support/interact/bo/state", {"turns": [{"from": "human", "messages": messages}]}).status
        == 200
    )


def conversations_are_counted(patch: pytest.MonkeyPatch) -> None:
    """Create a conversation, find it in a list by its tallies, continue it, and delete it."""
    new, stream = workspaces.create("Counted"), pipeline.Stream()
    api = Api(new.workspace_key)
    assert api.post("/v2/agents/support", {}).status == 200
    convo_id = api.post("/v3/agents/support/convos", {"conversation": {}}).data["id"]
    _count(new.workspace_id, stream)
    with patch.context() as deep:
        deep.setattr(listing, "_SHALLOW", -1)
        assert len(api.get("/v2/agents/support/convos?page=1").data) == 1
    api.post("/v2/clients/ann", {})
    assert api.post(f"/v3/agents/support/convos/{convo_id}/assign", {"assignToUserId": "ann"}).status == 200
    assert len(api.get("/v3/convos?inbox=true").data) == 1
    for _ in range(2):  # completes a chunk, so its messages get index items
        long = {"messages": [{"item": {"text": "x" * 1_000}} for _ in range(50)]}
        assert api.post(f"/v3/agents/support/convos/{convo_id}/messages", long).status == 200
    assert api.delete(f"/v3/agents/support/convos/{convo_id}").status == 200
    _count(new.workspace_id, stream)


def _count(workspace_id: str, stream: pipeline.Stream) -> None:
    records = stream.read("conversations")
    follow("conversations", records)
    own = next(change for one in records if (change := one["dynamodb"])["Keys"]["item"]["S"] == "conversation")
    image = own.get("NewImage") or own["OldImage"]
    task = tasks.RecountQuarter(storage.join_key(workspace_id, "support"), *quarter_of(image["created"]["S"]))
    maintain([as_record(pack(task))])


def conversations_expire(patch: pytest.MonkeyPatch) -> None:
    """Change a retention period, and make DynamoDB delete a conversation but not its chunks."""
    new, stream = workspaces.create("Expiring"), pipeline.Stream()
    api = Api(new.workspace_key)
    assert api.post("/v2/agents/support", {}).status == 200
    person_records.fill(api, new.workspace_id, "zara")
    assert api.patch("/v3/workspace", {"workspace": {"retentionDays": 5}}).status == 200
    maintain(task_messages(ApplyRetention))
    stream.read("conversations")
    key = {"conversation": {"S": storage.join_key(new.workspace_id, "support", "zara")}, "item": {"S": "conversation"}}
    storage.sdk_client("dynamodb").delete_item(TableName=storage.table("conversations"), Key=key)
    identity = {"principalId": "dynamodb.amazonaws.com", "type": "Service"}
    records = [{**one, "userIdentity": identity} for one in stream.read("conversations")]
    follow("conversations", records)
    turns = {"turns": [{"from": "human", "messages": [{"item": {"text": "New"}}]}]}
    assert api.post("/agents/support/interact/zara/state", turns).status == 200
    cleared = task_messages(ClearLeftovers)
    for _ in range(2):
        maintain(cleared)  # must not delete the new conversation
        assert api.delete("/v3/agents/support/convos/zara").status in (200, 404)


def records_become_dead_letters() -> None:
    """Pass each stream function a record that it cannot process."""
    for name in WATCHING:
        (module,) = (one for one in rights.MODULES if hasattr(one, name))
        getattr(module, name)({"Records": [{}]}, None)  # the patched function, which records calls
    assert len(pipeline.waiting(queue.DEAD_LETTER)) == len(WATCHING)


def webhooks(patch: pytest.MonkeyPatch) -> None:
    """Deliver one event per table through each queue, and cause every kind of delivery failure."""
    patch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    make_atomic(patch.setattr)
    new = workspaces.create("Webhooks")
    api, stream = Api(new.workspace_key), pipeline.Stream()
    with pipeline.inbox() as inbox, pipeline.inbox() as other, pipeline.inbox(_answer_slowly) as late:
        patch.setattr(retry_policy, "SLOW_SECONDS", 60)
        quick, slow = (_listen(api, one, *events.TYPES) for one in (inbox, other))
        for one in (inbox, other):
            hosts.promote(new.workspace_id, one.host)
        hanging = _listen(api, late, events.TEST)
        _cause_events(api)
        records = stream.read()
        pipeline.fan_out(records)
        hosts.demote(new.workspace_id, other.host)
        pipeline.fan_out(records)  # retry after the host has moved to the slow queue
        patch.setattr(fan_out, "_MAX_MESSAGES", 0)
        pipeline.fan_out(records)  # simulate more events than an invocation may send
        pipeline.drain(queues.MAINTENANCE)
        pipeline.fan_out([{**record, "dynamodb": {}} for record in records])  # an unreadable message
        assert len(pipeline.waiting(queue.DEAD_LETTER)) == len(records)
        delete_now(ledger.EventRow(*ledger.event_key(new.workspace_id, pipeline.events_of(records)[0].id)[1:3]))
        for queue_name in (queue.FAST, queue.SLOW):
            while (held := pipeline.take(queue_name)).messages:
                held.run()
                held.run()  # SQS may deliver a message twice
                held.delete()
            pipeline.Held(queue_name, [{"MessageId": "", "ReceiptHandle": "", "Body": "junk"}]).run()
            assert pipeline.waiting(queue.DEAD_LETTER) == ["junk"]
        # A new host is promoted by its first response, and demoted when it hangs.
        for queue_name, seconds, is_quick in ((queue.SLOW, 60, True), (queue.FAST, 0, False)):
            patch.setattr(retry_policy, "SLOW_SECONDS", seconds)
            assert api.post(f"/v3/webhooks/{hanging}/test").status == 200
            pipeline.Held(queue_name, pipeline.take(queue.FAST).messages).run()
            known = endpoints.list_with_hosts(new.workspace_id)[1]
            assert hosts.find(known, late.url()).is_quick is is_quick
    follow("deliveries", stream.read("deliveries"))
    for webhook_id in (quick, slow):
        rows, _ = ledger.list_page(new.workspace_id, webhook_id, None, 100, None)
        assert {row.outcome for row in rows} == {ledger.DELIVERED, ledger.EXPIRED}


def _listen(api: Api, inbox: pipeline.Inbox, *types: str) -> str:
    webhook_id: str = api.post("/v3/webhooks", webhook_body(inbox.url(), *types)).data["id"]
    return webhook_id


def _cause_events(api: Api) -> None:
    requests: dict[str, Any] = {
        "/v2/agents/support": {"title": "Support"},
        "/agents/support/interact/ann/state": state_body("Hello"),
        "/v2/clients/ann": {"name": "Ann"},
        "/v2/orgs/acme": {"name": "Acme"},
        "/v3/leads": lead_body(name="Ann"),
    }
    for path, body in requests.items():
        assert api.post(path, body).status == 200


def _answer_slowly(connection: socket.socket, where: Receiver) -> None:
    where.requests.append(read_request(connection))
    time.sleep(0.3)
    connection.sendall(OK)


def _crash(*_: str) -> None:
    raise RuntimeError("The test stops the process here.")
