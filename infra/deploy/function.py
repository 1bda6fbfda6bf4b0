"""A function of the service with its permissions and its event source, as core and the extensions declare it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

APPLICATION = "cams"
"""The application's name in `app.py`. Chalice starts every resource name with it."""

API = "api_handler"
"""Chalice's name of the function behind the API."""

DEAD_LETTER_QUEUE = "deliveries-dead"
"""The on-failure destination of the streams, and the dead-letter queue of the deliveries."""

READ_KEYRING = {"keyring": "GetItem"}
"""The permission of a function that decrypts documents."""

PARTIAL_FAILURES = ["ReportBatchItemFailures"]
"""FunctionResponseTypes of a function that reports the failed records of a batch."""

# Lambda retries a failing batch until its records have this age. The stream keeps them for 24 hours, so an operator has
# the 18 hours after the dead letter to replay them (`infra.cams redrive-streams`). The number of attempts has no limit:
# AWS does not document the time between two of them, so a number would not bound the length of an outage.
_MAX_RECORD_AGE_SECONDS = 6 * 60 * 60
_UNLIMITED = -1
_FILTERS = "FilterCriteria"


@dataclass(frozen=True)
class Function:
    """A function, its permissions and its event source.

    `tables` maps a table or index to the permitted DynamoDB actions, separated by spaces. `sends_to` lists queues.
    `keys` maps the output of the stack with the ARN of a key to the permitted KMS action; `keyring` in `tables` permits
    to decrypt. `sends_mail` permits to send with SES. `stream` names the table whose stream invokes the function,
    `queue` the queue. `mapping_settings` are arguments of UpdateEventSourceMapping. `reserved_concurrency` is the
    default of a large account (`limits`).
    """

    name: str
    memory_mb: int
    timeout_seconds: int
    tables: Mapping[str, str]
    sends_to: tuple[str, ...] = ()
    stream: str | None = None
    queue: str | None = None
    mapping_settings: Mapping[str, Any] = field(default_factory=dict)
    reserved_concurrency: int | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    sends_mail: bool = False

    def deployed_name(self, name: str) -> str:
        """Return the function's name in the account. `name` is the stack's, such as `cams-prod`."""
        return name if self.name == API else f"{name}-{self.name}"

    @property
    def sends_to_itself(self) -> bool:
        """Whether the function continues its work by messages to the queue that invokes it."""
        return self.queue in self.sends_to

    def with_rights(self, tables: Mapping[str, str] | None = None, sends_to: Iterable[str] = ()) -> Function:
        """Return the function with further permissions."""
        rights = {table: set(actions.split()) for table, actions in self.tables.items()}
        for table, actions in (tables or {}).items():
            rights[table] = rights.get(table, set()).union(actions.split())
        joined = {table: " ".join(sorted(actions)) for table, actions in rights.items()}
        return replace(self, tables=joined, sends_to=tuple(dict.fromkeys([*self.sends_to, *sends_to])))

    def merge(self, other: Function) -> Function:
        """Return a function that reads a stream for two extensions, with the permissions and the filters of both."""
        filters = [one.mapping_settings[_FILTERS]["Filters"] for one in (self, other)]
        # Lambda passes a record that matches one of the filters, and without a filter all records.
        patterns = [] if [] in filters else [one for listed in filters for one in listed]
        return replace(
            self.with_rights(other.tables, other.sends_to),
            memory_mb=max(self.memory_mb, other.memory_mb),
            mapping_settings={**self.mapping_settings, _FILTERS: {"Filters": patterns}},
        )


def stream_settings(parallelization: int = 1, event_filter: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the settings of the mapping from a stream to a function."""
    return {
        # Bisecting isolates a failing record, so that the other records of its batch are processed.
        "BisectBatchOnFunctionError": True,
        "MaximumRetryAttempts": _UNLIMITED,
        "MaximumRecordAgeInSeconds": _MAX_RECORD_AGE_SECONDS,
        # The records of one item stay in order for every factor.
        "ParallelizationFactor": parallelization,
        _FILTERS: {"Filters": [{"Pattern": json.dumps(event_filter)}] if event_filter else []},
    }


def follow(
    table: str,
    tables: Mapping[str, str],
    sends_to: tuple[str, ...] = (),
    *,
    memory_mb: int = 256,
    event_filter: Mapping[str, Any] | None = None,
) -> Function:
    """Return the function `follow_<table>`, which follows the stream of a table for core and the extensions."""
    return Function(
        f"follow_{table}",
        memory_mb=memory_mb,
        timeout_seconds=60,
        tables=tables,
        sends_to=(*sends_to, DEAD_LETTER_QUEUE),
        stream=table,
        mapping_settings=stream_settings(event_filter=event_filter),
    )
