"""Stream dead letters, and the deployed functions that `cams redrive-streams` calls."""

import io
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import Result

from chalicelib import queues, storage
from chalicelib.queues import stream_batches
from chalicelib.webhooks import functions, queue
from infra.operator import redrive
from tests.api import Api
from tests.operator_commands.commands import run
from tests.webhooks import pipeline
from tests.webhooks.pipeline import Stream

Record = dict[str, Any]
NAME = "cams-fan_out_agents"


class Lambda:
    """A fake Lambda client that runs `fan_out_agents` in this process. A test can replace `answer`."""

    def __init__(self) -> None:
        self.name = NAME
        self.events: list[list[Record]] = []
        self.answer: Callable[[Record], Any] = lambda event: functions.fan_out_agents(event, None)
        self.error = ""

        self.exceptions = SimpleNamespace(ResourceNotFoundException=LookupError)

    def invoke(self, **call: str) -> dict[str, Any]:
        if call["FunctionName"] != self.name:
            raise LookupError
        event = json.loads(call["Payload"])
        self.events.append(event["Records"])
        if self.error:
            failure = {"errorType": self.error, "errorMessage": "canary"}
            return {"FunctionError": "Unhandled", "Payload": io.BytesIO(json.dumps(failure).encode())}
        return {"Payload": io.BytesIO(json.dumps(self.answer(event)).encode())}

    @property
    def numbers(self) -> list[str]:
        return [one["dynamodb"]["SequenceNumber"] for event in self.events for one in event]


@pytest.fixture
def awslambda(monkeypatch: pytest.MonkeyPatch, engine: None) -> Lambda:
    fake = Lambda()
    monkeypatch.setattr(redrive, "_awslambda", lambda: fake)
    monkeypatch.setattr(redrive, "_WAIT_SECONDS", 0)
    return fake


@pytest.fixture
def changes(stream: Stream, api: Api, inbox: pipeline.Inbox) -> list[Record]:
    """Return the stream records for three new agents. A webhook subscribes to their events."""
    webhook = {"url": inbox.url(), "events": ["agent_created"]}
    assert api.post("/v3/webhooks", {"webhook": webhook}).status == 200
    for name in ("one", "two", "three"):
        api.post(f"/v2/agents/{name}", {"title": "canary"})
    records = stream.read("agents")
    assert len(records) == 3
    return records


def number(record: Record) -> str:
    return str(record["dynamodb"]["SequenceNumber"])


def batch(records: list[Record], **members: Any) -> Record:
    """Return the message that Lambda sends to the dead-letter queue for a failed batch."""
    (shard,) = _shards(records[0]["eventSourceARN"])
    info = {
        "shardId": shard["ShardId"],
        "startSequenceNumber": number(records[0]),
        "endSequenceNumber": number(records[-1]),
        "approximateArrivalOfFirstRecord": "2026-11-23T00:13:19Z",
        "batchSize": len(records),
        "streamArn": records[0]["eventSourceARN"],
        **members,
    }
    context = {
        "requestId": "c9b8fa9f",
        "functionArn": f"arn:aws:lambda:eu-west-1:123456789012:function:{NAME}",
        "condition": "RecordAgeExceeded",
        "approximateInvokeCount": 1,
    }
    return {"requestContext": context, "version": "1.0", "DDBStreamBatchInfo": info}


def _shards(arn: str) -> list[dict[str, Any]]:
    described = storage.sdk_client("dynamodbstreams").describe_stream(StreamArn=arn)
    shards: list[dict[str, Any]] = described["StreamDescription"]["Shards"]
    return shards


def dead_letter(record: Record, **members: Any) -> Record:
    return {**json.loads(stream_batches._dead_letter("fan_out_agents", record, TypeError("canary"))), **members}


def put(*messages: Any) -> None:
    queues.send(stream_batches.DEAD_LETTER, [json.dumps(one) for one in messages], "any")


def waiting() -> list[Any]:
    return [json.loads(text) for text in pipeline.waiting(stream_batches.DEAD_LETTER)]


def replay(*options: str) -> Result:
    ran = run("redrive-streams", *options)
    assert "canary" not in ran.output
    return ran


def deliveries() -> list[str]:
    """Return the event ids in all delivery messages, and delete the messages."""
    return [event for text in pipeline.waiting(queue.FAST) for event in json.loads(text)[3]]
