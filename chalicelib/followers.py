"""The Lambda entry points `follow_<table>`: each passes the records of a table's stream to the table's followers.

DynamoDB serves two readers of a stream without throttling: the fan-out of webhooks, and one of these functions.
Followers are in core (`CORE`) and in the extensions that are on (`Extension.follows`). Every follower gets each batch.
Then the first error is raised, and the stream repeats the batch for all. A follower must therefore be idempotent.

The functions import neither `app.py` nor wire models.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from chalice.app import Blueprint, DynamoDBEvent

from chalicelib import clock, extensions, settings, telemetry
from chalicelib.queues import stream_batches

functions = Blueprint(__name__)

CORE: Mapping[str, str] = {"conversations": "chalicelib.conversations.follower:FOLLOWER"}
"""The module and name of core's follower of a table."""

# Seconds for which a failing extension may delay a stream that core follows. Then its records become dead letters.
PATIENCE_SECONDS = 60 * 60
_START = "TRIM_HORIZON"  # Chalice's default, LATEST, loses changes made while the trigger is being created


class Batch(NamedTuple):
    """The maximum number of records in a batch, and the seconds that Lambda waits for them."""

    records: int
    window_seconds: int


BATCHES = {
    "agents": Batch(100, 0),
    "clients": Batch(100, 0),
    "organisations": Batch(100, 0),
    "webhooks": Batch(100, 0),
    "credentials": Batch(100, 0),
    # Counts are requested once per batch, so large batches make few requests.
    "conversations": Batch(10_000, 60),
    "leads": Batch(1_000, 60),
    "analytics": Batch(1_000, 60),
    "deliveries": Batch(1_000, 60),
}
"""The batches of each table's stream."""


def follow(table: str, event: DynamoDBEvent) -> None:
    """Pass a batch to every follower of a table. When all have run, raise the first outage.

    A record that followers cannot process becomes one dead letter, unless the stream repeats the batch.
    """
    telemetry.begin_invocation(event)
    records = event.to_dict()["Records"]
    failures: dict[int, Exception] = {}
    outages: list[Exception] = []
    for extension, follower in _followers(table):
        try:
            failures |= stream_batches.run_follower(records, follower)
        except Exception as error:
            if extension and table in CORE and _age(records) > PATIENCE_SECONDS:
                failures |= dict.fromkeys(range(len(records)), error)
                telemetry.log_metrics({"abandonedRecords": "Count"}, extension=extension, abandonedRecords=len(records))
            else:
                outages.append(error)
    if outages:
        raise outages[0]
    stream_batches.send_dead_letters(f"follow_{table}", records, failures)


def _followers(table: str) -> Iterator[tuple[str, stream_batches.Follower[Any]]]:
    """Yield the followers of a table, each with its extension, which is empty for core."""
    if table in CORE:
        module, _, name = CORE[table].partition(":")
        yield "", getattr(import_module(module), name)
    for extension in extensions.followers(table):
        yield extension, extensions.follower(extension, table)


def _age(records: list[dict[str, Any]]) -> float:
    """Return the seconds since the newest record of a batch was written."""
    written = max(float(record["dynamodb"]["ApproximateCreationDateTime"]) for record in records)
    return clock.milliseconds() / 1000 - written


def _entry_point(table: str) -> Callable[[DynamoDBEvent], None]:
    def entry_point(event: DynamoDBEvent) -> None:
        follow(table, event)

    entry_point.__name__ = f"follow_{table}"  # Lambda finds the function by this name in this module
    return entry_point


for _table, _batch in BATCHES.items():
    if _table in CORE or extensions.followers(_table):
        globals()[f"follow_{_table}"] = functions.on_dynamodb_record(
            settings.stream(_table),
            _batch.records,
            _START,
            f"follow_{_table}",
            maximum_batching_window_in_seconds=_batch.window_seconds,
        )(_entry_point(_table))
