"""`infra.cams redrive-streams`: every record that a message names is processed, and nothing is lost or doubled."""

import io
import json
from collections.abc import Callable
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import Result
from moto.core.exceptions import JsonRESTError
from moto.dynamodbstreams.models import DynamoDBStreamsBackend

from chalicelib import clock, queues, storage
from chalicelib.queues import stream_batches
from chalicelib.webhooks import functions, queue
from infra.operator import redrive, stream_ranges
from tests.api import Api
from tests.operator_commands.commands import run
from tests.webhooks import pipeline
from tests.webhooks.pipeline import Stream

Record = dict[str, Any]
NAME = "cams-fan_out_agents"


class Lambda:
    """The deployed functions: runs fan_out_agents in this process. A test replaces `answer`."""

    def __init__(self) -> None:
        self.events: list[list[Record]] = []
        self.answer: Callable[[Record], Any] = lambda event: functions.fan_out_agents(event, None)
        self.error = ""

        self.exceptions = SimpleNamespace(ResourceNotFoundException=LookupError)

    def invoke(self, **call: str) -> dict[str, Any]:
        if call["FunctionName"] != NAME:
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
    """The records of three new agents, with a webhook that gets their events."""
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
    """What Lambda writes for a batch that it has given up."""
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
    """The event ids of the messages to receivers, which are then gone."""
    return [event for text in pipeline.waiting(queue.FAST) for event in json.loads(text)[3]]


def test_the_records_of_a_batch_are_read_from_the_stream_and_processed(
    awslambda: Lambda, changes: list[Record]
) -> None:
    put(batch(changes[1:]))
    ran = replay()
    assert ran.exit_code == 0, ran.output
    assert awslambda.events == [changes[1:]]
    assert ran.output.splitlines()[0].endswith("  fan_out_agents  2 records  replayed: 2 processed")
    assert ran.output.splitlines()[1] == "1 replayed, 0 expired, 0 left, 0 not about streams."
    assert (waiting(), len(deliveries())) == ([], 2)


def test_a_batch_is_replayed_with_the_filter_of_its_function(awslambda: Lambda, stream: Stream, api: Api) -> None:
    api.post("/v2/agents/support", {})
    api.post("/v3/agents/support/tools", {"tool": {"name": "Look up"}})
    records = stream.read("agents")
    kinds = [one["dynamodb"]["Keys"]["item"]["S"].partition("#")[0] for one in records]
    assert {*kinds} == {"agent", "tool"}
    put(batch(records))
    assert replay().exit_code == 0
    assert awslambda.events == [[one for one, kind in zip(records, kinds, strict=True) if kind == "agent"]]


def test_a_function_gets_no_more_records_at_once_than_in_the_batch_and_no_more_than_five_megabytes(
    awslambda: Lambda, changes: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(batch(changes, batchSize=2))
    assert replay().exit_code == 0
    assert [len(event) for event in awslambda.events] == [2, 1]
    awslambda.events.clear()
    monkeypatch.setattr(redrive, "_MAX_EVENT_BYTES", 10)
    put(batch(changes))
    assert replay().exit_code == 0
    assert [len(event) for event in awslambda.events] == [1, 1, 1]


def test_a_range_of_several_pages_is_read_once(
    awslambda: Lambda, changes: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_ranges, "_MAX_RECORDS", 1)
    put(batch(changes))
    assert replay().exit_code == 0
    assert awslambda.numbers == [number(one) for one in changes]


@pytest.mark.parametrize("is_left_out", [False, True], ids=["with its record", "without its record"])
def test_a_record_that_a_function_could_not_process_is_replayed(
    awslambda: Lambda, changes: list[Record], is_left_out: bool
) -> None:
    letter = dead_letter(changes[1])
    if is_left_out:
        del letter["record"]
    put(letter)
    ran = replay()
    assert (ran.exit_code, awslambda.events, waiting()) == (0, [[changes[1]]], [])
    assert ran.output.splitlines()[0].endswith("  fan_out_agents  1 record  replayed: 1 processed")


def test_a_record_that_its_function_puts_on_the_queue_again_is_left(awslambda: Lambda, changes: list[Record]) -> None:
    damaged = json.loads(json.dumps(changes[0]))
    del damaged["dynamodb"]["NewImage"]["item"]
    del damaged["dynamodb"]["Keys"]
    put(dead_letter(damaged))
    ran = replay()
    assert ran.exit_code == 1
    assert ran.stdout.splitlines()[-2].endswith(
        "fan_out_agents  1 record  left: the function has put this record on the queue again; "
        "its log group has the reason"
    )
    assert [one["SequenceNumber"] for one in waiting()] == [number(changes[0])]
    assert len(awslambda.events) == 1


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        ({"error": "KeyError"}, "the function ended with KeyError; see its log group /aws/lambda/cams-fan_out_agents"),
        (
            {"answer": lambda event: {"batchItemFailures": [{"itemIdentifier": "2"}]}},
            "an outage stopped the function; see its log group /aws/lambda/cams-fan_out_agents",
        ),
    ],
    ids=["error", "partial failure"],
)
def test_a_message_stays_until_its_function_has_processed_all_records(
    awslambda: Lambda, changes: list[Record], failure: dict[str, Any], reason: str
) -> None:
    for member, value in failure.items():
        setattr(awslambda, member, value)
    message = batch(changes)
    put(message)
    ran = replay()
    assert ran.exit_code == 1
    assert f"left: {reason}" in ran.output
    assert waiting() == [message]
    awslambda.error, awslambda.answer = "", Lambda().answer
    put(message)
    assert replay().exit_code == 0
    assert (waiting(), len(deliveries())) == ([], 3)


def test_a_function_that_does_not_exist_is_named(
    awslambda: Lambda, changes: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(batch(changes))
    monkeypatch.setattr(f"{__name__}.NAME", "cams-other")
    ran = replay()
    assert ran.exit_code == 1
    assert "left: there is no function cams-fan_out_agents in this account and region" in ran.output


def test_messages_about_deliveries_stay_and_are_counted_with_their_command(
    awslambda: Lambda, changes: list[Record]
) -> None:
    others = [["w", "h", "agent_created", ["e"], "i"], ["w", "agent_created", [["e"]]], {"any": "text"}]
    put(*others, batch(changes))
    ran = replay()
    assert ran.exit_code == 0
    assert ran.output.splitlines()[1:] == [
        "1 replayed, 0 expired, 0 left, 3 not about streams.",
        "Redrive those that are not about streams: aws sqs start-message-move-task --source-arn "
        "arn:aws:sqs:eu-west-1:123456789012:cams-deliveries-dead",
    ]
    assert waiting() == others


@pytest.mark.parametrize(
    "members",
    [{"streamArn": "arn:aws:dynamodb:eu-west-1:123456789012:table/other-agents/stream/1"}, {"batchSize": None}],
    ids=["another stage", "damaged"],
)
def test_a_message_that_cannot_be_read_is_left(
    awslambda: Lambda, changes: list[Record], members: dict[str, Any]
) -> None:
    put(batch(changes, **members))
    ran = replay()
    assert (ran.exit_code, len(waiting()), awslambda.events) == (1, 1, [])
    assert "left: the message is damaged, or about another stage" in ran.output


def test_a_list_replays_nothing_and_deletes_nothing(awslambda: Lambda, changes: list[Record]) -> None:
    messages = [batch(changes), dead_letter(changes[0])]
    put(*messages)
    ran = replay("--list", "--discard-expired")
    assert (ran.exit_code, awslambda.events, waiting()) == (0, [], messages)
    first, second, end = ran.output.splitlines()
    assert first.endswith("  fan_out_agents  3 records  left: RecordAgeExceeded")
    assert second.endswith("  fan_out_agents  1 record  left: TypeError")
    assert end == "0 replayed, 0 expired, 2 left, 0 not about streams."


class Trimmed(JsonRESTError):
    """The stream no longer has the record."""

    def __init__(self) -> None:
        super().__init__("TrimmedDataAccessException", "canary")


def trim(monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    """Drop the records before `first`, as a stream does after 24 hours."""
    find = DynamoDBStreamsBackend.get_shard_iterator

    def find_or_raise(self: Any, arn: str, shard: str, kind: str, start: int | None = None) -> Any:
        if kind == "AT_SEQUENCE_NUMBER" and start is not None and start < int(first):
            raise Trimmed
        if kind == "TRIM_HORIZON":
            return find(self, arn, shard, "AT_SEQUENCE_NUMBER", int(first))  # type: ignore[arg-type]
        return find(self, arn, shard, kind, start)  # type: ignore[arg-type]

    monkeypatch.setattr(DynamoDBStreamsBackend, "get_shard_iterator", find_or_raise)


def test_what_is_left_of_an_expired_batch_is_processed_and_the_loss_is_named(
    awslambda: Lambda, changes: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    trim(monkeypatch, number(changes[1]))
    message = batch(changes)
    put(message)
    ran = replay()
    assert (ran.exit_code, awslambda.events, waiting()) == (1, [changes[1:]], [message])
    assert ran.output.splitlines()[0].endswith(
        "expired: the stream no longer has all records, 2 processed; no webhook is sent for these changes"
    )
    ran = replay("--discard-expired")
    assert (ran.exit_code, waiting()) == (0, [])


def test_a_record_that_its_dead_letter_and_its_stream_lack_has_expired(
    awslambda: Lambda, changes: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    trim(monkeypatch, number(changes[1]))
    letter = dead_letter(changes[0])
    del letter["record"]
    put(letter)
    ran = replay()
    assert (ran.exit_code, awslambda.events, len(waiting())) == (1, [], 1)
    assert "expired: the stream no longer has all records, 0 processed" in ran.output


@pytest.mark.parametrize("form", [batch, lambda records: dead_letter(records[0])], ids=["batch", "record"])
def test_records_that_the_stream_does_not_return_yet_have_not_expired(
    awslambda: Lambda, changes: list[Record], form: Callable[[list[Record]], Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = form(changes)
    letter.pop("record", None)
    put(letter)
    pages = repeat({"Records": [], "NextShardIterator": "next"})
    monkeypatch.setattr(storage.sdk_client("dynamodbstreams"), "get_records", lambda **_: next(pages))
    monkeypatch.setattr(clock, "sleep", lambda _: None)
    ran = replay("--discard-expired")
    assert (ran.exit_code, awslambda.events, waiting()) == (1, [], [letter])
    assert "left: the stream has not returned the records yet; repeat the command" in ran.output


@pytest.mark.parametrize(("refusals", "is_read"), [(30, True), (40, False)])
def test_a_stream_with_too_many_readers_is_read_again_after_a_pause(
    awslambda: Lambda, changes: list[Record], refusals: int, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(batch(changes))
    streams = storage.sdk_client("dynamodbstreams")
    read, remaining, pauses = streams.get_records, iter(range(refusals)), list[float]()

    def read_or_raise(**arguments: Any) -> Any:
        if next(remaining, None) is not None:
            raise streams.exceptions.LimitExceededException({"Error": {"Code": "LimitExceededException"}}, "GetRecords")
        return read(**arguments)

    monkeypatch.setattr(streams, "get_records", read_or_raise)
    monkeypatch.setattr(clock, "sleep", pauses.append)
    ran = replay()
    assert (ran.exit_code, pauses) == (int(not is_read), [0.25] * refusals)
    assert awslambda.events == ([changes] if is_read else [])
    if not is_read:
        assert "left: other readers keep the stream busy; repeat the command" in ran.output


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
        "Messages that another run hides, perhaps a killed one: about 1. Repeat the command in 15 minutes.",
    ]
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=hidden["ReceiptHandle"], VisibilityTimeout=0)
    ran = replay()
    assert (ran.exit_code, ran.output.splitlines()[-1]) == (0, "1 replayed, 0 expired, 0 left, 0 not about streams.")


class Killed(BaseException):
    """The process ends here."""


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
        # A killed process releases no message. They are visible again after their timeout.
        patched.setattr(sqs, "change_message_visibility_batch", lambda **_: None)
        patched.setattr(redrive, "_HELD_SECONDS", 0)
        with pytest.raises(Killed):
            replay()
    assert replay().exit_code == 0
    assert waiting() == []
    pipeline.drain()
    assert len(inbox.posts) == 3
    assert {one.id for one in inbox.posts} == {one.id for one in pipeline.events_of(changes)}
