"""Lambda entry points of the history: one for each table whose changes it keeps.

They import neither `app.py` nor wire models. A deletion is committed with its row (`storage.history`), so they read
only insertions and changes.
"""

from chalice.app import Blueprint, DynamoDBEvent

from chalicelib import settings, telemetry
from chalicelib.history import changes, store
from chalicelib.queues import stream_batches

functions = Blueprint(__name__)

_MAX_RECORDS = 100
_START = "TRIM_HORIZON"


@functions.on_dynamodb_record(settings.stream("agents"), _MAX_RECORDS, _START, "history_agents")
def history_agents(event: DynamoDBEvent) -> None:
    """Keep the changes and versions of agents and tools."""
    _keep("agents", event)


@functions.on_dynamodb_record(settings.stream("clients"), _MAX_RECORDS, _START, "history_clients")
def history_clients(event: DynamoDBEvent) -> None:
    """Keep the changes of clients."""
    _keep("clients", event)


@functions.on_dynamodb_record(settings.stream("organisations"), _MAX_RECORDS, _START, "history_organisations")
def history_organisations(event: DynamoDBEvent) -> None:
    """Keep the changes of organisations."""
    _keep("organisations", event)


@functions.on_dynamodb_record(settings.stream("webhooks"), _MAX_RECORDS, _START, "history_webhooks")
def history_webhooks(event: DynamoDBEvent) -> None:
    """Keep the changes of webhook endpoints."""
    _keep("webhooks", event)


@functions.on_dynamodb_record(settings.stream("credentials"), _MAX_RECORDS, _START, "history_credentials")
def history_credentials(event: DynamoDBEvent) -> None:
    """Keep the changes of tokens and keys."""
    _keep("credentials", event)


def _keep(table: str, event: DynamoDBEvent) -> None:
    telemetry.begin_invocation(event)
    stream_batches.process_or_raise(f"history_{table}", event.to_dict()["Records"], changes.from_record, store.save)
