"""Reread stream records in the form that Lambda passes to a function."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError

from chalicelib import clock, storage
from infra import lambda_events

Record = dict[str, Any]
_MAX_RECORDS = 1_000  # GetRecords' limit
# A page may be empty although records follow, and an open shard has no last page.
_MAX_EMPTY_PAGES = 10
# At most two processes should read a shard at once, and Lambda polls each shard four times per second and function.
_MAX_ATTEMPTS = 40
_PAUSE_SECONDS = 0.25
_TRIM_HORIZON = {"ShardIteratorType": "TRIM_HORIZON"}


class RecordsExpired(Exception):
    """The stream no longer contains all of the records, because it keeps records for 24 hours."""


class StreamUnavailable(Exception):
    """The stream may still contain the records, but has not returned them. The message contains the reason."""


class _NoRecords(StreamUnavailable):
    """The stream has returned only empty pages."""


def read_range(stream_arn: str, shard: str, first: str, last: str) -> Iterator[Record]:
    """Yield a shard's records between two sequence numbers, in order.

    If the stream no longer contains all records, yield the remaining records and then raise RecordsExpired. Raise
    StreamUnavailable if the records cannot currently be read.
    """
    streams = storage.sdk_client("dynamodbstreams")
    start = {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": first}
    has_all, reached = True, -1
    while reached < int(last):
        try:
            page = _read_page(streams, {"StreamArn": stream_arn, "ShardId": shard}, start)
        except streams.exceptions.TrimmedDataAccessException:
            has_all, start = False, _TRIM_HORIZON
            continue
        except streams.exceptions.ResourceNotFoundException as error:
            raise RecordsExpired from error
        except _NoRecords as error:
            if has_all:
                raise
            raise RecordsExpired from error
        yield from (record for record in page if int(_number(record)) <= int(last))
        reached = int(_number(page[-1]))
        start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": _number(page[-1])}
    if not has_all:
        raise RecordsExpired


def read_one(stream_arn: str, number: str) -> Iterator[Record]:
    """Yield the record at a sequence number. Raise RecordsExpired if the stream no longer contains it.

    Raise StreamUnavailable if a shard that may contain the record has not returned it.
    """
    reason: Exception = RecordsExpired()
    for shard in _list_shards(stream_arn):
        try:
            with _ignore_other_shard():
                for record in read_range(stream_arn, shard, number, number):
                    yield record
                    return
        except StreamUnavailable as error:
            reason = error
    raise reason


def _list_shards(stream_arn: str) -> Iterator[str]:
    """Yield the ids of a stream's shards. A deleted stream has no shards."""
    streams = storage.sdk_client("dynamodbstreams")
    start: dict[str, str] = {}
    while True:
        try:
            described = streams.describe_stream(StreamArn=stream_arn, **start)["StreamDescription"]
        except streams.exceptions.ResourceNotFoundException:
            return
        yield from (shard["ShardId"] for shard in described["Shards"])
        if "LastEvaluatedShardId" not in described:
            return
        start = {"ExclusiveStartShardId": described["LastEvaluatedShardId"]}


@contextmanager
def _ignore_other_shard() -> Iterator[None]:
    """Ignore the error for a shard that never contained the sequence number."""
    try:
        yield
    except RecordsExpired:
        pass
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != "ValidationException":
            raise


def _read_page(streams: Any, place: dict[str, str], start: dict[str, str]) -> list[Record]:
    """Return at most 1,000 records, starting at a position. Raise RecordsExpired at the end of a closed shard."""
    iterator = streams.get_shard_iterator(**place, **start)["ShardIterator"]
    for _ in range(_MAX_EMPTY_PAGES):
        answer = _get_records(streams, iterator)
        if answer["Records"]:
            return lambda_events.from_records(answer["Records"], place["StreamArn"])["Records"]
        iterator = answer.get("NextShardIterator")
        if iterator is None:
            raise RecordsExpired
        clock.sleep(_PAUSE_SECONDS)
    raise _NoRecords("the stream has not returned the records yet; repeat the command")


def _get_records(streams: Any, iterator: str) -> dict[str, Any]:
    """Return a page. Retry, then raise StreamUnavailable, while other readers use up the shard's throughput."""
    for _ in range(_MAX_ATTEMPTS):
        try:
            page: dict[str, Any] = streams.get_records(ShardIterator=iterator, Limit=_MAX_RECORDS)
        except streams.exceptions.LimitExceededException:
            clock.sleep(_PAUSE_SECONDS)
        else:
            return page
    raise StreamUnavailable("other readers keep the stream busy; repeat the command")


def _number(record: Record) -> str:
    return str(record["dynamodb"]["SequenceNumber"])
