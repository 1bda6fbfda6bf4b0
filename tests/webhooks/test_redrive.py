"""`cams redrive-streams` processes every record that a dead letter names, and neither loses nor repeats events."""

import json
from typing import Any

import pytest

from infra.operator import redrive, stream_ranges
from tests.api import Api
from tests.webhooks.dead_letters import Lambda, Record, batch, dead_letter, deliveries, number, put, replay, waiting
from tests.webhooks.dead_letters import awslambda as awslambda
from tests.webhooks.dead_letters import changes as changes
from tests.webhooks.pipeline import Stream


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
        "fan_out_agents  1 record  left: the function has returned this record to the queue; "
        "see its log group for the reason"
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


def test_a_function_that_does_not_exist_is_named(awslambda: Lambda, changes: list[Record]) -> None:
    put(batch(changes))
    awslambda.name = "cams-other"
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
        "Redrive the messages not about streams: aws sqs start-message-move-task --source-arn "
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
    assert "left: the message is corrupt, or about another stage" in ran.output


def test_a_list_replays_nothing_and_deletes_nothing(awslambda: Lambda, changes: list[Record]) -> None:
    messages = [batch(changes), dead_letter(changes[0])]
    put(*messages)
    ran = replay("--list", "--discard-expired")
    assert (ran.exit_code, awslambda.events, waiting()) == (0, [], messages)
    first, second, end = ran.output.splitlines()
    assert first.endswith("  fan_out_agents  3 records  left: RecordAgeExceeded")
    assert second.endswith("  fan_out_agents  1 record  left: TypeError")
    assert end == "0 replayed, 0 expired, 2 left, 0 not about streams."
