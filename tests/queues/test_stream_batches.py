"""Stream batches: which records are processed, retried or sent to a dead-letter queue, and at what cost."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from pynamodb.exceptions import PutError

from chalicelib import errors, queues, storage
from chalicelib.queues import stream_batches
from chalicelib.storage.layouts import UnknownLayout
from tests.webhooks import pipeline

ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/cams-leads/stream/2026-01-01T00:00:00.000"


def client_error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "canary"}}, "PutItem")


OUTAGES = [
    errors.Unavailable(),
    UnknownLayout(),
    storage.ConditionFailed(),
    client_error("AccessDeniedException"),
    PutError("", client_error("ExpiredTokenException")),
    EndpointConnectionError(endpoint_url="http://localhost"),
]
OTHER_ERRORS = [
    TypeError("canary"),
    RecursionError("canary"),
    errors.TooLarge(),
    queues.MessageRejected(),
    client_error("ValidationException"),
    PutError("", client_error("ValidationException")),
]


def record(number: int, **members: Any) -> dict[str, Any]:
    keys = {"agent_leads": {"S": f"w{number}"}, "lead_id": {"S": "l"}}
    stream = {"Keys": keys, "SequenceNumber": str(number), **members}
    return {"eventID": f"e{number}", "eventSourceARN": ARN, "dynamodb": stream}


class Function:
    """A stream function that fails for chosen records."""

    def __init__(self, failing: dict[int, Exception], *, at_write: bool) -> None:
        self._failing, self._at_write = failing, at_write
        self.written: list[int] = []
        self.writes = 0

    def read(self, record: Any) -> int:
        return self._checked(int(record["dynamodb"]["SequenceNumber"]), not self._at_write)

    def write(self, numbers: list[int]) -> None:
        self.writes += 1
        for number in numbers:
            self.written.append(self._checked(number, self._at_write))

    def _checked(self, number: int, fails: bool) -> int:
        if fails and number in self._failing:
            raise self._failing[number]
        return number

    def process(self, records: list[Any], group: Callable[[int], str] = lambda _: "") -> list[Any]:
        return stream_batches.process("follow_leads", records, self.read, self.write, group)


def dead_letters() -> list[dict[str, Any]]:
    found = map(json.loads, pipeline.waiting(stream_batches.DEAD_LETTER))
    return sorted(found, key=lambda value: int(value["SequenceNumber"]))


@pytest.mark.parametrize("at_write", [True, False])
@pytest.mark.parametrize("error", OTHER_ERRORS, ids=lambda value: type(value).__name__)
def test_a_record_that_fails_becomes_a_dead_letter_and_all_others_are_written(
    engine: None, error: Exception, at_write: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    function = Function({5: error, 40: error}, at_write=at_write)
    records = [record(number) for number in range(64)]
    assert function.process(records) == []
    assert {*function.written} == {*range(64)} - {5, 40}
    letters = dead_letters()
    assert [one.pop("error") for one in letters] == [type(error).__name__] * 2
    assert letters == [
        {
            "function": "follow_leads",
            "table": "leads",
            "eventID": f"e{number}",
            "eventSourceARN": ARN,
            "Keys": records[number]["dynamodb"]["Keys"],
            "SequenceNumber": str(number),
            "record": records[number],
        }
        for number in (5, 40)
    ]
    printed = capfd.readouterr().out
    assert '"function":"follow_leads","deadRecords":2' in printed
    assert "canary" not in printed
    assert printed.count("Cannot process stream records") == 1


@pytest.mark.parametrize("at_write", [True, False])
@pytest.mark.parametrize("error", OUTAGES, ids=lambda value: type(value).__name__)
def test_an_outage_is_raised_and_repeated_without_a_dead_letter(engine: None, error: Exception, at_write: bool) -> None:
    function = Function({0: ValueError(), 3: error}, at_write=at_write)
    records = [record(number) for number in range(8)]
    with pytest.raises(type(error)):
        stream_batches.run_follower(records, stream_batches.Follower(function.read, function.write))
    assert dead_letters() == []


def test_a_batch_is_repeated_from_the_first_record_that_an_outage_left(engine: None) -> None:
    function = Function({1: ValueError(), 4: errors.Unavailable(), 6: ValueError()}, at_write=True)
    records = [record(number) for number in range(8)]
    assert function.process(records, lambda number: "early" if number < 4 else "late") == [records[4]]
    assert {0, 2, 3} <= {*function.written}
    assert [one["eventID"] for one in dead_letters()] == ["e1"]


@pytest.mark.parametrize("bad", [1, 7, 64])
def test_the_writes_of_a_batch_are_bounded(engine: None, bad: int) -> None:
    function = Function({number: ValueError() for number in range(bad)}, at_write=True)
    assert function.process([record(number) for number in range(64)]) == []
    assert function.writes <= 2 * 64 - 1
    assert len(dead_letters()) == bad


def test_a_record_that_is_too_large_for_a_message_is_named_by_its_keys(engine: None) -> None:
    large = record(0, NewImage={"document": {"B": "x" * 300_000}})
    # Ten records of this size are too large for one request.
    others = [record(number, NewImage={"document": {"B": "x" * 100_000}}) for number in range(1, 12)]
    function = Function(dict.fromkeys(range(12), ValueError()), at_write=False)
    assert function.process([large, *others]) == []
    first, *rest = dead_letters()
    assert first["Keys"] == large["dynamodb"]["Keys"]
    assert "record" not in first
    assert [one["record"] for one in rest] == others


def test_a_message_that_its_queue_never_accepts_is_no_outage(engine: None) -> None:
    with pytest.raises(queues.MessageRejected):
        queues.send(queues.MAINTENANCE, ["x" * 2_000_000], "group")
