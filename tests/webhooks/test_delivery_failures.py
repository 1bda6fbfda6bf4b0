"""Each delivery is sent at most once, even if messages are repeated or unreadable and requests fail or are lost."""

from collections.abc import Callable
from concurrent import futures
from typing import Any

import pytest

from chalicelib import errors, storage
from chalicelib.webhooks import delivery, functions, queue
from tests.api import Api
from tests.engine_requests import lose_first_answer, refuse_operation
from tests.selection import one_of_each
from tests.webhooks import pipeline
from tests.webhooks.deliveries import happen, listen, names, statuses
from tests.webhooks.pipeline import Inbox, Stream, drain, waiting


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


@pytest.mark.usefixtures("fast_path")
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
    later(59)
    assert statuses(api, webhook) == ["pending"]
    later(2)
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
    find_written, failing = storage.find_written, queue.DeliveryMessage.parse(held.bodies[0]).event_ids[0]

    def find(keys: Any) -> Any:
        if any(key.sort == failing for key in keys):
            raise errors.Unavailable
        return find_written(keys)

    monkeypatch.setattr(storage, "find_written", find)
    returned = functions.deliver({"Records": held.records}, None)
    assert returned == {"batchItemFailures": [{"itemIdentifier": held.records[0]["messageId"]}]}
    assert len(inbox.posts) == 2
    monkeypatch.setattr(storage, "find_written", find_written)
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

    def submit_twice(*work: Any) -> futures.Future[None]:  # reads the message, and starts the first delivery
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
    queue.FAST: ("BatchGetItem", queue.DeliveryMessage("a", "b", "c", ("d",))),
    queue.SLOW: ("BatchGetItem", queue.DeliveryMessage("a", "b", "c", ("d",))),
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
    assert waiting(queue.DEAD_LETTER) == [message.pack()]


def test_a_repeated_batch_sends_an_unreadable_message_to_the_dead_letter_queue_once(
    stream: Stream, api: Api, inbox: Inbox
) -> None:
    """One of the messages is nested too deeply for the parser."""
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
