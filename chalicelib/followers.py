"""The Lambda entry points `follow_<table>`. Each passes a table's stream records to the table's followers.

DynamoDB serves up to two readers per stream without throttling: the webhook fan-out, and one of these functions. Core
declares its followers in `CORE`, and extensions declare theirs in `Extension.follows`. Each batch goes to every
follower of the table. After an outage, the stream repeats the batch for all followers, so followers must be idempotent.

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
"""Core's follower for each table, as a module and a name."""

# The number of seconds for which a failing extension may delay a stream that core follows. After that, the extension's
# records become dead letters.
PATIENCE_SECONDS = 60 * 60
_START = "TRIM_HORIZON"  # Chalice's default, LATEST, would miss changes made while the trigger is being created


class Batch(NamedTuple):
    """The maximum number of records in a batch, and how many seconds Lambda waits to fill it."""

    records: int
    window_seconds: int


BATCHES = {
    **dict.fromkeys(("agents", "clients", "organisations", "webhooks", "credentials"), Batch(100, 0)),
    # Reports include changes within ten seconds, so these windows are short.
    **dict.fromkeys(("leads", "analytics", "deliveries"), Batch(1_000, 3)),
    "conversations": Batch(10_000, 3),
}
"""The batch size for each table's stream."""


def follow(table: str, event: DynamoDBEvent) -> None:
    """Pass a batch to every follower of a table. After all followers have run, raise the first outage.

    A record that a follower cannot process becomes one dead letter, unless the cause is an outage.
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
    """Yield a table's followers, each with its extension's name, which is empty for core."""
    if table in CORE:
        module, _, name = CORE[table].partition(":")
        yield "", getattr(import_module(module), name)
    for extension in extensions.followers(table):
        yield extension, extensions.follower(extension, table)


def _age(records: list[dict[str, Any]]) -> float:
    """Return how many seconds ago the newest record in a batch was written."""
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
