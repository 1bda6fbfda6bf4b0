"""A keyed request sends its queue message after the commit, as does every replay.

The message is posted at most once.
"""

from typing import Any

import pytest

from chalicelib import errors, queues
from chalicelib.webhooks import queue
from tests.engine_requests import refuse_operation
from tests.guarantees import CaseCounter
from tests.http.replay_cases import KEY, REPLAYED, World, case_named, error_of, is_replay
from tests.http.replay_cases import world as world
from tests.webhooks import pipeline
from tests.webhooks.conftest import inbox as inbox
from tests.webhooks.conftest import stream as stream

pytestmark = pytest.mark.guarantee("repeated")

SENDS = pytest.mark.parametrize("case_id", ["webhook test", "redeliver"])


@SENDS
def test_a_replay_sends_a_lost_message(
    case_id: str, world: World, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    pipeline.waiting(queue.FAST)
    with monkeypatch.context() as failing:
        failing.setattr(queues, "send", refuse)
        assert error_of(world.send(case_named(case_id), KEY)) == (503, "UNAVAILABLE")
    assert pipeline.waiting(queue.FAST) == []
    answer = world.send(case_named(case_id), KEY)
    assert (answer.status, answer.headers[REPLAYED]) == (200, "true")
    (message,) = map(queue.DeliveryMessage.parse, pipeline.waiting(queue.FAST))
    assert [one.delivery_id for one in message.deliveries] == [answer.data["id"]]
    count_cases(faults=2, states=1)


@SENDS
def test_a_queue_failure_delays_only_the_message(
    case_id: str, world: World, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    pipeline.waiting(queue.FAST)
    send, failures = queues.send, iter([refuse])
    monkeypatch.setattr(queues, "send", lambda *sent: next(failures, send)(*sent))
    answer = world.send(case_named(case_id), KEY)
    assert answer.status == 200
    (message,) = map(queue.DeliveryMessage.parse, pipeline.waiting(queue.FAST))
    assert [one.delivery_id for one in message.deliveries] == [answer.data["id"]]
    count_cases(faults=1, states=1)


def refuse(*_: Any) -> None:
    raise errors.Unavailable("The queue does not answer; try again.")


@SENDS
def test_no_message_precedes_the_commit(case_id: str, world: World) -> None:
    pipeline.waiting(queue.FAST)
    with refuse_operation("TransactWriteItems", "ThrottlingException"):
        assert world.send(case_named(case_id), KEY).status == 503
    assert pipeline.waiting(queue.FAST) == []


def test_a_delivery_is_posted_once_for_any_number_of_replays(
    stream: pipeline.Stream, inbox: pipeline.Inbox, world: World, count_cases: CaseCounter
) -> None:
    body = {"webhook": {"url": inbox.url(), "events": ["lead_captured"]}}
    world.values["webhook_id"] = world.api.post("/v3/webhooks", body).data["id"]
    pipeline.waiting(queue.FAST)
    first = world.send(case_named("webhook test"), KEY)
    for _ in range(3):
        assert is_replay(first, world.send(case_named("webhook test"), KEY))
    assert pipeline.drain() == 4
    assert is_replay(first, world.send(case_named("webhook test"), KEY))
    assert pipeline.drain() == 1
    assert [post.id for post in inbox.posts] == [first.data["eventId"]]
    path = f"/v3/webhooks/{world.values['webhook_id']}/deliveries/{first.data['id']}"
    assert world.api.get(path).data["status"] == "delivered"
    count_cases(states=1)
