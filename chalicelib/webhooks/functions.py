"""The event functions of webhooks: one for each watched table, one for each lane of the queue.

In the cloud each is a function of its own that imports this module and not `app.py`: no middleware runs,
and the blueprint's own log is not there. They import no wire model. What Chalice cannot say of their
triggers (filters, retries, the failure destination) is set where they are deployed.
"""

import logging
from collections.abc import Iterator
from typing import Any

from chalice.app import Blueprint, DynamoDBEvent, SQSEvent

from chalicelib import queues, settings, telemetry
from chalicelib.webhooks import delivery, fan_out, queue

functions = Blueprint(__name__)

_log = logging.getLogger(__name__)
_RECORDS = 100
_DELIVERIES = 10
_FIRST = "TRIM_HORIZON"  # the default loses what is written while the trigger is created


@functions.on_dynamodb_record(settings.stream("agents"), _RECORDS, _FIRST, "fan_out_agents")
def fan_out_agents(event: DynamoDBEvent) -> None:
    """Changes of agents."""
    fan_out.fan_out(_records(event))


@functions.on_dynamodb_record(settings.stream("conversations"), _RECORDS, _FIRST, "fan_out_conversations")
def fan_out_conversations(event: DynamoDBEvent) -> None:
    """Changes of conversations: the messages that they received."""
    fan_out.fan_out(_records(event))


@functions.on_dynamodb_record(settings.stream("clients"), _RECORDS, _FIRST, "fan_out_clients")
def fan_out_clients(event: DynamoDBEvent) -> None:
    """Changes of clients."""
    fan_out.fan_out(_records(event))


@functions.on_dynamodb_record(settings.stream("organisations"), _RECORDS, _FIRST, "fan_out_organisations")
def fan_out_organisations(event: DynamoDBEvent) -> None:
    """Changes of organisations."""
    fan_out.fan_out(_records(event))


@functions.on_dynamodb_record(settings.stream("leads"), _RECORDS, _FIRST, "fan_out_leads")
def fan_out_leads(event: DynamoDBEvent) -> None:
    """Changes of leads."""
    fan_out.fan_out(_records(event))


@functions.on_sqs_message(queues.name(queue.FAST), _DELIVERIES, "deliver")
def deliver(event: SQSEvent) -> None:
    """Deliveries to receivers that have been quick."""
    _deliver(_records(event), queue.FAST)


@functions.on_sqs_message(queues.name(queue.SLOW), _DELIVERIES, "deliver_slow")
def deliver_slow(event: SQSEvent) -> None:
    """Deliveries to receivers that have been slow; they wait for each other and for nobody else."""
    _deliver(_records(event), queue.SLOW)


def _records(event: DynamoDBEvent | SQSEvent) -> list[dict[str, Any]]:
    telemetry.begin_invocation(event)
    records: list[dict[str, Any]] = event.to_dict()["Records"]
    return records


def _deliver(records: list[dict[str, Any]], lane: str) -> None:
    messages = list(_messages(records))
    if messages:
        delivery.deliver(messages, lane)


def _messages(records: list[dict[str, Any]]) -> Iterator[queue.Message]:
    for record in records:
        try:
            yield queue.from_text(record["body"])
        except (TypeError, ValueError):
            _log.exception("A message of the queue cannot be read; it is on the queue %s", queue.DEAD)
            queue.send_to_dead_letter(record["body"])
