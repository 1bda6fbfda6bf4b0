"""Lambda entry points of webhooks: one fan-out function per watched table, one delivery function per queue.

In the cloud, each function imports this module instead of `app.py`: no middleware runs, no wire model is loaded, and
the blueprint's own log is not available. Chalice cannot declare the filters, retries and failure destination of a
trigger; the deployment sets them.
"""

import logging
from collections.abc import Iterator
from typing import Any

from chalice.app import Blueprint, DynamoDBEvent, SQSEvent

from chalicelib import queues, settings, telemetry
from chalicelib.webhooks import delivery, fan_out, queue

functions = Blueprint(__name__)

_log = logging.getLogger(__name__)
_MAX_RECORDS = 100
_MAX_MESSAGES = 10
_START = "TRIM_HORIZON"  # Chalice's default, LATEST, loses changes made while the trigger is being created


@functions.on_dynamodb_record(settings.stream("agents"), _MAX_RECORDS, _START, "fan_out_agents")
def fan_out_agents(event: DynamoDBEvent) -> None:
    """Fan out changes of agents."""
    fan_out.fan_out(_records(event))


@functions.on_dynamodb_record(settings.stream("conversations"), _MAX_RECORDS, _START, "fan_out_conversations")
def fan_out_conversations(event: DynamoDBEvent) -> None:
    """Fan out changes of conversations: the messages that they received."""
    fan_out.fan_out(_records(event))


@functions.on_dynamodb_record(settings.stream("clients"), _MAX_RECORDS, _START, "fan_out_clients")
def fan_out_clients(event: DynamoDBEvent) -> None:
    """Fan out changes of clients."""
    fan_out.fan_out(_records(event))


@functions.on_dynamodb_record(settings.stream("organisations"), _MAX_RECORDS, _START, "fan_out_organisations")
def fan_out_organisations(event: DynamoDBEvent) -> None:
    """Fan out changes of organisations."""
    fan_out.fan_out(_records(event))


@functions.on_dynamodb_record(settings.stream("leads"), _MAX_RECORDS, _START, "fan_out_leads")
def fan_out_leads(event: DynamoDBEvent) -> None:
    """Fan out changes of leads."""
    fan_out.fan_out(_records(event))


@functions.on_sqs_message(queues.name(queue.FAST), _MAX_MESSAGES, "deliver")
def deliver(event: SQSEvent) -> None:
    """Deliver the messages of the fast queue."""
    _deliver(_records(event), queue.FAST)


@functions.on_sqs_message(queues.name(queue.SLOW), _MAX_MESSAGES, "deliver_slow")
def deliver_slow(event: SQSEvent) -> None:
    """Deliver the messages of the slow queue. This is a bulkhead: slow endpoints delay only each other."""
    _deliver(_records(event), queue.SLOW)


def _records(event: DynamoDBEvent | SQSEvent) -> list[dict[str, Any]]:
    telemetry.begin_invocation(event)
    records: list[dict[str, Any]] = event.to_dict()["Records"]
    return records


def _deliver(records: list[dict[str, Any]], queue_name: str) -> None:
    messages = list(_messages(records))
    if messages:
        delivery.deliver(messages, queue_name)


def _messages(records: list[dict[str, Any]]) -> Iterator[queue.Message]:
    for record in records:
        try:
            yield queue.from_text(record["body"])
        except (TypeError, ValueError):
            _log.exception("Cannot read a queue message; sending it to the dead-letter queue %s", queue.DEAD_LETTER)
            queue.send_to_dead_letter(record["body"])
