"""`cams redrive-streams` after a killed run, and when messages are received twice."""

from typing import Any

import pytest

from chalicelib import queues, storage
from chalicelib.queues import stream_batches
from infra.operator import redrive
from tests.webhooks import pipeline
from tests.webhooks.dead_letters import Lambda, Record, batch, dead_letter, put, replay, waiting
from tests.webhooks.dead_letters import awslambda as awslambda
from tests.webhooks.dead_letters import changes as changes


def test_a_run_that_gets_its_own_messages_again_continues_with_the_others(
    awslambda: Lambda, changes: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = batch(changes, streamArn="arn:aws:dynamodb:eu-west-1:123456789012:table/other-agents/stream/1")
    put(left, batch(changes))
    monkeypatch.setattr(redrive, "_MAX_MESSAGES", 1)
    sqs = storage.sdk_client("sqs")
    receive, answers = sqs.receive_message, list[Any]()

    def receive_twice(**arguments: Any) -> Any:
        answers.append(answers[0] if len(answers) == 1 else receive(**arguments))
        return answers[-1]

    monkeypatch.setattr(sqs, "receive_message", receive_twice)
    ran = replay()
    assert ran.output.splitlines()[-1] == "1 replayed, 0 expired, 1 left, 0 not about streams."
    monkeypatch.undo()
    assert (awslambda.events, waiting()) == ([changes], [left])


def test_messages_that_a_killed_run_hides_are_counted(awslambda: Lambda, changes: list[Record]) -> None:
    put(batch(changes[:1]), batch(changes[1:]))
    sqs = storage.sdk_client("sqs")
    url = sqs.get_queue_url(QueueName=queues.name(stream_batches.DEAD_LETTER))["QueueUrl"]
    (hidden,) = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=1, VisibilityTimeout=900)["Messages"]
    ran = replay()
    assert ran.exit_code == 1
    assert ran.output.splitlines()[-2:] == [
        "1 replayed, 0 expired, 0 left, 0 not about streams.",
        "Messages that another run, perhaps a killed one, hides: about 1. Repeat the command in 15 minutes.",
    ]
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=hidden["ReceiptHandle"], VisibilityTimeout=0)
    ran = replay()
    assert (ran.exit_code, ran.output.splitlines()[-1]) == (0, "1 replayed, 0 expired, 0 left, 0 not about streams.")


class Killed(BaseException):
    """The simulated process is killed."""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("method", ["invoke", "delete_message"])
def test_a_command_that_is_killed_at_any_point_loses_and_doubles_nothing(
    awslambda: Lambda,
    changes: list[Record],
    inbox: pipeline.Inbox,
    method: str,
    when: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(batch(changes[:2]), dead_letter(changes[2]))
    sqs = storage.sdk_client("sqs")
    owner: Any = awslambda if method == "invoke" else sqs
    call = getattr(owner, method)

    def call_and_end(**arguments: Any) -> None:
        if when == "after":
            call(**arguments)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(owner, method, call_and_end)
        # A killed process releases no messages. They become visible again after their visibility timeout.
        patched.setattr(sqs, "change_message_visibility_batch", lambda **_: None)
        patched.setattr(redrive, "_HELD_SECONDS", 0)
        with pytest.raises(Killed):
            replay()
    assert replay().exit_code == 0
    assert waiting() == []
    pipeline.drain()
    assert len(inbox.posts) == 3
    assert {one.id for one in inbox.posts} == {one.id for one in pipeline.events_of(changes)}
