"""The Lambda entry points `follow_<table>`: each passes a table's stream records to the table's followers.

DynamoDB serves two readers of a stream without throttling: the fan-out of webhooks, and one of these functions.
Core declares its followers in `CORE`, and extensions in `Extension.follows`. Every follower of a table processes each
batch. After an outage, the stream repeats the batch for all followers, so every follower must be idempotent.

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
"""Core's follower for each table, as module and name."""

# Seconds for which a failing extension may delay a stream that core follows. After that, its records become dead
# letters.
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
    # These tables' followers request counts once per batch, so larger batches need fewer requests.
    "conversations": Batch(10_000, 60),
    "leads": Batch(1_000, 60),
    "analytics": Batch(1_000, 60),
    "deliveries": Batch(1_000, 60),
}
"""The batch size for each table's stream."""


def follow(table: str, event: DynamoDBEvent) -> None:
    """Pass a batch to every follower of a table. After all followers have run, raise the first outage.

    Without an outage, each record that a follower cannot process becomes one dead letter.
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
    """Yield a table's followers, each with its extension name, which is empty for core."""
    if table in CORE:
        module, _, name = CORE[table].partition(":")
        yield "", getattr(import_module(module), name)
    for extension in extensions.followers(table):
        yield extension, extensions.follower(extension, table)


def _age(records: list[dict[str, Any]]) -> float:
    """Return the seconds since the newest record in a batch was written."""
    newest = max(float(record["dynamodb"]["ApproximateCreationDateTime"]) for record in records)
    return clock.milliseconds() / 1000 - newest


def _entry_point(table: str) -> Callable[[DynamoDBEvent], None]:
    def entry_point(event: DynamoDBEvent) -> None:
        follow(table, event)

    entry_point.__name__ = f"follow_{table}"  # Lambda looks up the function by this name in this module
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
