"""Writing a feed: concurrent writers, repeated and invalid messages, lost responses, and crashes."""

import pytest

from chalicelib import ids, queues
from chalicelib.extensions.feeds import feed, functions
from chalicelib.extensions.feeds.extension import QUEUE
from chalicelib.storage.client import metered
from chalicelib.webhooks.queue import DeliveryMessage
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.direct_writes import before_each_commit
from tests.engine_requests import lose_first_answer, refuse_operation
from tests.engines import clear_caches
from tests.extensions.feeds.conftest import PullEndpoint
from tests.guarantees import CaseCounter
from tests.selection import whole
from tests.webhooks import pipeline
from tests.webhooks.crashes import Process, Step, watched

# Requests that Lambda sends for a function.
OF_QUEUE = ("ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility")
Plan = tuple[Step, int] | None


def _stored(workspace: NewWorkspace, webhook_id: str) -> list[str]:
    """Return the ids of a feed's events, whose numbers have no gap."""
    rows = [row for row in feed.list_all(workspace.workspace_id, webhook_id) if isinstance(row, feed.FeedRow)]
    assert [row.number for row in rows] == [*range(1, len(rows) + 1)]
    return [row.event for row in rows]


def _new_ids(count: int) -> list[str]:
    return [ids.new_id() for _ in range(count)]


@pytest.mark.parametrize("count", [1, 2, feed.MAX_APPENDED, feed.MAX_APPENDED + 1, 120])
def test_any_number_of_events_can_be_appended(workspace: NewWorkspace, count: int) -> None:
    new = _new_ids(count)
    feed.append(workspace.workspace_id, "hook", new[: count // 2])
    feed.append(workspace.workspace_id, "hook", new[count // 2 :])
    assert _stored(workspace, "hook") == new


def test_an_event_is_appended_once(workspace: NewWorkspace) -> None:
    first, second, third = _new_ids(3)
    for batch in ([first, first], [second, first], [first, second, third], [third], []):
        feed.append(workspace.workspace_id, "hook", batch)
    assert _stored(workspace, "hook") == [first, second, third]


def test_writers_of_one_feed_append_one_after_the_other(
    workspace: NewWorkspace, no_pauses: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [_new_ids(2) for _ in range(5)]
    waiting = list(others)

    def overtake() -> None:
        if waiting:
            feed.append(workspace.workspace_id, "hook", waiting.pop())

    before_each_commit(monkeypatch, overtake)
    own = _new_ids(2)
    feed.append(workspace.workspace_id, "hook", own)
    assert sorted(_stored(workspace, "hook")) == sorted([*own, *(one for other in others for one in other)])


def test_an_event_that_two_writers_append_is_stored_once(
    workspace: NewWorkspace, no_pauses: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = _new_ids(3)
    waiting = [[second, third]]
    before_each_commit(monkeypatch, lambda: waiting and feed.append(workspace.workspace_id, "hook", waiting.pop()))
    feed.append(workspace.workspace_id, "hook", [first, second])
    assert _stored(workspace, "hook") == [second, third, first]


def test_a_lost_response_does_not_repeat_an_event(workspace: NewWorkspace) -> None:
    (new,) = _new_ids(1)
    with lose_first_answer("TransactWriteItems"):
        feed.append(workspace.workspace_id, "hook", [new])
    assert _stored(workspace, "hook") == [new]


def test_only_the_messages_of_a_failed_feed_are_repeated(
    workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, append = _new_ids(2), feed.append

    def fail_for_one(workspace_id: str, webhook_id: str, event_ids: list[str]) -> None:
        if webhook_id == "bad":
            raise ValueError
        append(workspace_id, webhook_id, event_ids)

    monkeypatch.setattr(feed, "append", fail_for_one)
    messages = [
        DeliveryMessage(workspace.workspace_id, hook, "agent_created", (one,))
        for hook, one in zip(("bad", "good"), new, strict=True)
    ]
    queues.send(QUEUE, [message.pack() for message in messages], workspace.workspace_id)
    queues.send(QUEUE, ["unreadable"], workspace.workspace_id)
    held = pipeline.take(QUEUE)
    failed = {
        one["itemIdentifier"] for one in functions.append_events({"Records": held.records}, None)["batchItemFailures"]
    }
    assert [one["body"] for one in held.records if one["messageId"] not in failed] == [messages[1].pack()]
    assert _stored(workspace, "good") == [new[1]]


def test_messages_for_one_feed_share_a_transaction(workspace: NewWorkspace) -> None:
    new = _new_ids(10)
    texts = [DeliveryMessage(workspace.workspace_id, "hook", "agent_created", (one,)).pack() for one in new]
    queues.send(QUEUE, texts, workspace.workspace_id)
    held = pipeline.take(QUEUE)
    with refuse_operation("BatchGetItem", "ValidationException"), metered() as meter:
        functions.append_events({"Records": held.records}, None)
    assert meter.requests == 2
    assert sorted(_stored(workspace, "hook")) == sorted(new)


@whole
@pytest.mark.guarantee("pulled")
def test_a_crash_at_any_step_neither_loses_nor_repeats_an_event(
    api: Api, endpoint: PullEndpoint, stream: pipeline.Stream, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    """Crash each invocation at each of its steps, and repeat its work from the stream."""
    process = Process()
    with watched(process, monkeypatch.setattr):
        _write(api, endpoint, stream, process, "first", None)
        steps = [step for step in sorted(process.seen) if not step.request.startswith(OF_QUEUE)]
        for position, step in enumerate(steps):
            _write(api, endpoint, stream, process, f"agent-{position}", (step, 0))
    read = [event["payload"]["agentId"] for event in endpoint.read()]
    assert sorted(read) == sorted(["first", *(f"agent-{position}" for position in range(len(steps)))])
    assert process.crashes.total() == len(steps)
    count_cases(faults=len(steps), states=len(read))


def _write(
    api: Api, endpoint: PullEndpoint, stream: pipeline.Stream, process: Process, agent_id: str, plan: Plan
) -> None:
    """Create an agent, and process its records. After a crash, repeat everything from the stream on."""
    assert api.post(f"/v2/agents/{agent_id}", {}).status == 200
    records = stream.read("agents")

    def run() -> None:
        pipeline.fan_out(records)
        while (held := pipeline.take(QUEUE)).messages:
            try:
                assert functions.append_events({"Records": held.records}, None) == {"batchItemFailures": []}
                held.delete()
            except BaseException:
                held.give_back()
                raise

    clear_caches()
    if not process.run(run, plan):
        assert process.run(run, None)
