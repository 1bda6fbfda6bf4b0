"""`cams redrive-streams` if a stream has trimmed records, does not return records yet, or is throttled."""

from collections.abc import Callable
from itertools import repeat
from typing import Any

import pytest
from moto.core.exceptions import JsonRESTError
from moto.dynamodbstreams.models import DynamoDBStreamsBackend

from chalicelib import clock, storage
from tests.webhooks.dead_letters import Lambda, Record, batch, dead_letter, number, put, replay, waiting
from tests.webhooks.dead_letters import awslambda as awslambda
from tests.webhooks.dead_letters import changes as changes


class Trimmed(JsonRESTError):
    """The stream no longer contains the record."""

    def __init__(self) -> None:
        super().__init__("TrimmedDataAccessException", "canary")


def trim(monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    """Remove the records before `first`, as a stream does after 24 hours."""
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
