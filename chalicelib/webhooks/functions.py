"""Lambda entry points for webhooks: fan-out for each watched table, and delivery for each queue.

Each function reports which part of its batch failed (partial batch failures), and streams and queues retry only that
part.

In AWS, each function imports this module instead of `app.py`, so no middleware runs, no wire models are loaded, and the
blueprint's log is not available. Chalice cannot declare a trigger's filters, retries and failure destination, so the
deployment sets them.
"""

import logging
from typing import Any

from chalice.app import Blueprint, DynamoDBEvent, SQSEvent

from chalicelib import queues, settings, telemetry
from chalicelib.webhooks import queue

functions = Blueprint(__name__)

_log = logging.getLogger(__name__)
_MAX_RECORDS = 100
# A record contains up to 480 messages, and an invocation stores the events for all of its records.
_MAX_CONVERSATIONS = 10
_MAX_MESSAGES = 10
_START = "TRIM_HORIZON"  # Chalice's default, LATEST, loses changes made while the trigger is being created

Failures = dict[str, list[dict[str, str]]]
"""The items that Lambda retries: `{"batchItemFailures": [{"itemIdentifier": …}]}`."""


@functions.on_dynamodb_record(settings.stream("agents"), _MAX_RECORDS, _START, "fan_out_agents")
def fan_out_agents(event: DynamoDBEvent) -> Failures:
    """Fan out agent changes."""
    return _fan_out("agents", event)


@functions.on_dynamodb_record(settings.stream("conversations"), _MAX_CONVERSATIONS, _START, "fan_out_conversations")
def fan_out_conversations(event: DynamoDBEvent) -> Failures:
    """Fan out conversation changes: received messages, and changes of the state and the assignee."""
    return _fan_out("conversations", event)


@functions.on_dynamodb_record(settings.stream("clients"), _MAX_RECORDS, _START, "fan_out_clients")
def fan_out_clients(event: DynamoDBEvent) -> Failures:
    """Fan out client changes."""
    return _fan_out("clients", event)


@functions.on_dynamodb_record(settings.stream("organisations"), _MAX_RECORDS, _START, "fan_out_organisations")
def fan_out_organisations(event: DynamoDBEvent) -> Failures:
    """Fan out organisation changes."""
    return _fan_out("organisations", event)


@functions.on_dynamodb_record(settings.stream("leads"), _MAX_RECORDS, _START, "fan_out_leads")
def fan_out_leads(event: DynamoDBEvent) -> Failures:
    """Fan out lead changes."""
    return _fan_out("leads", event)


@functions.on_sqs_message(queues.name(queue.FAST), _MAX_MESSAGES, "deliver")
def deliver(event: SQSEvent) -> Failures:
    """Deliver the messages from the fast queue."""
    return _deliver(_records(event), queue.FAST)


@functions.on_sqs_message(queues.name(queue.SLOW), _MAX_MESSAGES, "deliver_slow")
def deliver_slow(event: SQSEvent) -> Failures:
    """Deliver the messages from the slow queue. This is a bulkhead: slow hosts delay only each other."""
    return _deliver(_records(event), queue.SLOW)


def _records(event: DynamoDBEvent | SQSEvent) -> list[dict[str, Any]]:
    telemetry.begin_invocation(event)
    records: list[dict[str, Any]] = event.to_dict()["Records"]
    return records


def _fan_out(table: str, event: DynamoDBEvent) -> Failures:
    from chalicelib.webhooks import fan_out  # only the fan-out functions need it

    failed = fan_out.fan_out(f"fan_out_{table}", _records(event))
    return _failures([record["dynamodb"]["SequenceNumber"] for record in failed])


def _deliver(records: list[dict[str, Any]], queue_name: str) -> Failures:
    from chalicelib.webhooks import delivery  # only the delivery functions need it

    messages, unreadable = _read(records)
    failed = delivery.deliver([message for _, message in messages], queue_name)
    _send_to_dead_letter(unreadable)
    return _failures([record["messageId"] for record, message in messages if message in failed])


def _failures(identifiers: list[str]) -> Failures:
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in identifiers]}


def _read(records: list[dict[str, Any]]) -> tuple[list[tuple[dict[str, Any], queue.DeliveryMessage]], list[str]]:
    """Return the readable records with their messages, and the texts of the unreadable records."""
    messages, unreadable = [], []
    for record in records:
        try:
            messages.append((record, queue.DeliveryMessage.parse(record["body"])))
        except (TypeError, ValueError, RecursionError):
            _log.exception("Cannot read a queue message; sending it to the dead-letter queue %s", queue.DEAD_LETTER)
            unreadable.append(record["body"])
    return messages, unreadable


def _send_to_dead_letter(unreadable: list[str]) -> None:
    """Send texts to the dead-letter queue. Call this last, so that a retried batch does not send them again."""
    for text in unreadable:
        queue.send_to_dead_letter(text)
