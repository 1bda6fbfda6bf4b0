"""Lambda entry points of the history: one for each table whose changes it keeps.

They import neither `app.py` nor wire models. A deletion is committed with its row (`storage.history`), so they read
only insertions and changes.
"""

import logging
from collections.abc import Iterable
from typing import Any

from chalice.app import Blueprint, DynamoDBEvent

from chalicelib import settings, telemetry
from chalicelib.history import changes, store
from chalicelib.storage import encryption

functions = Blueprint(__name__)

_log = logging.getLogger(__name__)
_MAX_RECORDS = 100
_START = "TRIM_HORIZON"


@functions.on_dynamodb_record(settings.stream("agents"), _MAX_RECORDS, _START, "history_agents")
def history_agents(event: DynamoDBEvent) -> None:
    """Keep the changes and versions of agents and tools."""
    _keep(event)


@functions.on_dynamodb_record(settings.stream("clients"), _MAX_RECORDS, _START, "history_clients")
def history_clients(event: DynamoDBEvent) -> None:
    """Keep the changes of clients."""
    _keep(event)


@functions.on_dynamodb_record(settings.stream("organisations"), _MAX_RECORDS, _START, "history_organisations")
def history_organisations(event: DynamoDBEvent) -> None:
    """Keep the changes of organisations."""
    _keep(event)


@functions.on_dynamodb_record(settings.stream("webhooks"), _MAX_RECORDS, _START, "history_webhooks")
def history_webhooks(event: DynamoDBEvent) -> None:
    """Keep the changes of webhook endpoints."""
    _keep(event)


@functions.on_dynamodb_record(settings.stream("credentials"), _MAX_RECORDS, _START, "history_credentials")
def history_credentials(event: DynamoDBEvent) -> None:
    """Keep the changes of tokens and keys."""
    _keep(event)


def _keep(event: DynamoDBEvent) -> None:
    telemetry.begin_invocation(event)
    store.save(_in_records(event.to_dict()["Records"]))


def _in_records(records: Iterable[dict[str, Any]]) -> Iterable[changes.Found]:
    """What the records of a stream say. Raises UnknownLayout; the stream repeats the batch."""
    for record in records:
        try:
            found = changes.from_record(record)
        except (KeyError, TypeError, ValueError, encryption.DecryptionError):
            _log.exception("Cannot read a change in the stream; the history does not have it")
            continue
        if found:
            yield found
