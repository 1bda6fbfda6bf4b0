"""The local run creates the queues of the template, and updates existing queues to it."""

import json

import boto3
import pytest

from chalicelib import settings, storage
from chalicelib.deletion import cascade
from chalicelib.webhooks import queue
from infra import tables
from tests.selection import one_of_each


def attributes(name: str) -> dict[str, str]:
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName=storage.table(name))["QueueUrl"]
    found: dict[str, str] = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return found


@pytest.mark.parametrize(
    ("waiting", "dead"),
    [
        pytest.param(queue.FAST, queue.DEAD_LETTER, id="deliveries"),
        pytest.param(queue.SLOW, queue.DEAD_LETTER, id="slow deliveries"),
        pytest.param(cascade.CASCADES, "cascades-dead", id="cascades"),
    ],
)
@one_of_each(lambda: None)
def test_a_failing_message_goes_to_the_dead_letter_queue(engine: None, waiting: str, dead: str) -> None:
    policy = json.loads(attributes(waiting)["RedrivePolicy"])

    assert policy == {"deadLetterTargetArn": attributes(dead)["QueueArn"], "maxReceiveCount": 10}
    assert attributes(waiting)["VisibilityTimeout"] == "360"


def test_an_existing_queue_is_updated_to_the_template(engine: None) -> None:
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName=storage.table(queue.FAST))["QueueUrl"]
    as_declared = attributes(queue.FAST)
    older = {"VisibilityTimeout": "30", "RedrivePolicy": "", "MessageRetentionPeriod": "60"}
    sqs.set_queue_attributes(QueueUrl=url, Attributes=older)
    sqs.send_message(QueueUrl=url, MessageBody="waits")

    tables.create_missing(storage.sdk_client, settings.table_prefix())

    found = attributes(queue.FAST)
    assert {name: found[name] for name in (*older, "QueueArn")} == {
        name: as_declared[name] for name in (*older, "QueueArn")
    }
    assert [one["Body"] for one in sqs.receive_message(QueueUrl=url)["Messages"]] == ["waits"]


def test_queues_that_match_the_template_are_not_changed(engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise each start of the local run would add a record to its journal."""
    calls = []
    sqs = boto3.client("sqs")
    sqs.meta.events.register("before-call.sqs", lambda model, **_: calls.append(model.name))

    tables._create_queues(sqs, settings.table_prefix())

    assert "GetQueueAttributes" in calls
    assert "SetQueueAttributes" not in calls
