"""The command that replays stream records from the dead-letter queue.

A message is deleted after its function has processed all of its records. An interrupted command therefore loses no
records, and the next command continues with the remaining messages. As with any stream, a function may process a record
twice, but it derives the ids of its writes from the record.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import click
from botocore.config import Config
from botocore.session import Session

from chalicelib import clock, queues, settings, storage
from chalicelib.queues.stream_batches import DEAD_LETTER
from infra.deploy.function import Function
from infra.operator import dead_letters
from infra.operator.dead_letters import Letter
from infra.operator.stream_ranges import Record, RecordsExpired, StreamUnavailable

# Longer than any message takes. A killed command's messages stay invisible for this time.
_HELD_SECONDS = 900
# Long polling queries all of the queue's servers. With short polling, a response may be empty although the queue has
# messages.
_WAIT_SECONDS = 1
_MAX_MESSAGES = 10  # a request's limit
_MAX_EVENT_BYTES = 5_000_000  # Lambda accepts 6 MB
_LAMBDA = Config(read_timeout=90, retries={"mode": "standard", "total_max_attempts": 3})  # functions take at most 60 s
_REPLAYED, _EXPIRED, _LEFT, _OTHERS = "replayed", "expired", "left", "others"
# The consequence of records that are no longer in the stream, keyed by the kind of function.
_LOSSES = {
    "fan_out": "no webhook is sent for these changes",
    "follow": "history and reports lack these changes; `python -m infra.cams tallies recount` recounts the lists",
}


Message = dict[str, Any]


class Failed(Exception):
    """A function has not processed all records. The message contains the reason."""


@click.command("redrive-streams")
@click.option("--list", "is_list", is_flag=True, help="Print the messages without replaying them.")
@click.option("--discard-expired", is_flag=True, help="Delete messages whose records the stream no longer has.")
def redrive_streams(is_list: bool, discard_expired: bool) -> None:
    """Replay the stream records on the dead-letter queue.

    Read the records that each message names, invoke the function with them, and delete the message when the function
    has processed all of them. Delivery messages stay on the queue. The command can be interrupted and repeated at any
    time. Exit with status 1 if a stream message is left, or if another run, possibly a killed one, hides messages.
    """
    sqs = storage.sdk_client("sqs")
    url = sqs.get_queue_url(QueueName=queues.name(DEAD_LETTER))["QueueUrl"]
    hidden = int(_attribute(sqs, url, "ApproximateNumberOfMessagesNotVisible"))
    counts, replayed = Counter[str](), set[tuple[str, str]]()
    with _held_messages(sqs, url) as (messages, delete):
        for message in messages:
            try:
                letter = dead_letters.from_text(message["Body"])
            except dead_letters.Unreadable:
                counts[_LEFT] += 1
                click.echo(f"{_sent_at(message)}  left: the message is corrupt, or about another stage")
                continue
            if letter is None:
                counts[_OTHERS] += 1
                continue
            kind, reason = (_LEFT, letter.reason) if is_list else _replay(letter, replayed)
            if kind == _REPLAYED or (kind == _EXPIRED and discard_expired):
                delete(message)
            counts[kind] += 1
            records = f"{letter.number} record{'s' * (letter.number > 1)}"
            click.echo(f"{_sent_at(message)}  {letter.function.name}  {records}  {kind}: {reason}")
    _print_end(sqs, url, counts)
    if hidden:
        click.echo(
            f"Messages that another run, perhaps a killed one, hides: about {hidden}. Repeat the command in "
            f"{_HELD_SECONDS // 60} minutes."
        )
    if not is_list and hidden + counts[_LEFT] + (0 if discard_expired else counts[_EXPIRED]):
        raise click.exceptions.Exit(1)


def _replay(letter: Letter, replayed: set[tuple[str, str]]) -> tuple[str, str]:
    """Invoke a letter's function with its records. Return the outcome and its reason.

    `replayed` contains the function and record id of each record that this run has replayed.
    """
    function, number = letter.function, 0
    if (function.name, letter.record_id) in replayed:
        return _LEFT, "the function has returned this record to the queue; see its log group for the reason"
    try:
        for records in _batches(letter):
            _invoke(function, records)
            number += len(records)
            replayed.update((function.name, str(record.get("eventID"))) for record in records)
    except RecordsExpired:
        loss = _LOSSES[function.name.rpartition("_")[0]]
        return _EXPIRED, f"the stream no longer has all records, {number} processed; {loss}"
    except (Failed, StreamUnavailable) as error:
        return _LEFT, str(error)
    return _REPLAYED, f"{number} processed"


def _batches(letter: Letter) -> Iterator[list[Record]]:
    """Yield a letter's records in batches of at most 5 MB that are no larger than the original batch.

    Raise RecordsExpired after the last batch if records are missing.
    """
    batch: list[Record] = []
    size, expired = 0, None
    try:
        for record in letter.read():
            length = len(json.dumps(record))
            if batch and (len(batch) == letter.number or size + length > _MAX_EVENT_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(record)
            size += length
    except RecordsExpired as error:
        expired = error
    if batch:
        yield batch
    if expired:
        raise expired


def _invoke(function: Function, records: list[Record]) -> None:
    """Invoke a function. Raise Failed unless it reports that all records were processed."""
    name = function.deployed_name(settings.table_prefix().removesuffix("-"))
    awslambda = _awslambda()
    try:
        answer = awslambda.invoke(FunctionName=name, Payload=json.dumps({"Records": records}))
    except awslambda.exceptions.ResourceNotFoundException as error:
        raise Failed(f"there is no function {name} in this account and region") from error
    result = json.loads(answer["Payload"].read() or "null")
    if "FunctionError" in answer:
        kind = result.get("errorType", "an error") if isinstance(result, dict) else "an error"
        raise Failed(f"the function ended with {kind}; see its log group /aws/lambda/{name}, then repeat the command")
    if result and result.get("batchItemFailures"):
        raise Failed(f"an outage stopped the function; see its log group /aws/lambda/{name}, then repeat the command")


@lru_cache
def _awslambda() -> Any:
    return Session().create_client("lambda", config=_LAMBDA)


@contextmanager
def _held_messages(sqs: Any, url: str) -> Iterator[tuple[Iterator[Message], Callable[[Message], None]]]:
    """Provide each queue message once, with a function that deletes a message. Release the others at the end."""
    receipts: dict[str, str] = {}

    def delete(message: Message) -> None:
        sqs.delete_message(QueueUrl=url, ReceiptHandle=receipts.pop(message["MessageId"]))

    try:
        yield _receive(sqs, url, receipts), delete
    finally:
        held = [*receipts.values()]
        for start in range(0, len(held), _MAX_MESSAGES):
            entries = [
                {"Id": str(number), "ReceiptHandle": receipt, "VisibilityTimeout": 0}
                for number, receipt in enumerate(held[start : start + _MAX_MESSAGES])
            ]
            sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries)


def _receive(sqs: Any, url: str, receipts: dict[str, str]) -> Iterator[Message]:
    limits = {
        "MaxNumberOfMessages": _MAX_MESSAGES,
        "VisibilityTimeout": _HELD_SECONDS,
        "WaitTimeSeconds": _WAIT_SECONDS,
    }
    known: set[str] = set()
    while messages := sqs.receive_message(QueueUrl=url, AttributeNames=["SentTimestamp"], **limits).get("Messages"):
        receipts.update((message["MessageId"], message["ReceiptHandle"]) for message in messages)
        # In a longer run, SQS returns the remaining messages again with new receipts, and possibly new messages.
        new = [message for message in messages if message["MessageId"] not in known]
        known.update(message["MessageId"] for message in new)
        yield from new


def _sent_at(message: Message) -> str:
    return clock.iso(int(message["Attributes"]["SentTimestamp"]) // 1000)


def _attribute(sqs: Any, url: str, name: str) -> str:
    return str(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])


def _print_end(sqs: Any, url: str, counts: Counter[str]) -> None:
    """Print the message counts, and a command to redrive messages that are not about streams."""
    about_streams = ", ".join(f"{counts[kind]} {kind}" for kind in (_REPLAYED, _EXPIRED, _LEFT))
    click.echo(f"{about_streams}, {counts[_OTHERS]} not about streams.")
    if counts[_EXPIRED]:
        click.echo("--discard-expired deletes messages whose records the stream no longer has.")
    if counts[_OTHERS]:
        arn = _attribute(sqs, url, "QueueArn")
        click.echo(f"Redrive the messages not about streams: aws sqs start-message-move-task --source-arn {arn}")
