"""A Lambda function with its permissions and event source, as core and the extensions declare it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

APPLICATION = "cams"
"""The application's name in `app.py`. Chalice prefixes every resource name with it."""

API = "api_handler"
"""Chalice's name for the function behind the API."""

DEAD_LETTER_QUEUE = "deliveries-dead"
"""The on-failure destination for streams, and the dead-letter queue for deliveries."""

READ_KEYRING = {"keyring": "GetItem"}
"""The permission that a function needs to decrypt documents."""

PARTIAL_FAILURES = ["ReportBatchItemFailures"]
"""FunctionResponseTypes for a function that reports failed records in a batch."""

# Lambda retries a failing batch until its records reach this age. The stream keeps records for 24 hours, so an operator
# has 18 hours after the dead letter to replay them (`infra.cams redrive-streams`). The number of attempts is unlimited.
# AWS does not document the time between attempts, so a limit would not correspond to an outage duration.
_MAX_RECORD_AGE_SECONDS = 6 * 60 * 60
_UNLIMITED = -1
_FILTERS = "FilterCriteria"


@dataclass(frozen=True)
class Function:
    """A function, its permissions and its event source.

    `tables` maps a table or index to the permitted DynamoDB actions, separated by spaces. `sends_to` lists queues.
    `keys` maps stack outputs with key ARNs to the permitted KMS action; `keyring` in `tables` also grants permission to
    decrypt. `sends_mail` grants permission to send email with SES. `stream` names the table whose stream invokes the
    function; `queue` names the queue that invokes it. `mapping_settings` are arguments of UpdateEventSourceMapping.
    `reserved_concurrency` is the default for a large account (`limits`).
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
        """Return the function's name in the account. `name` is the stack name, such as `cams-prod`."""
        return name if self.name == API else f"{name}-{self.name}"

    @property
    def sends_to_itself(self) -> bool:
        """Whether the function continues its work by sending messages to the queue that invokes it."""
        return self.queue in self.sends_to

    def with_rights(self, tables: Mapping[str, str] | None = None, sends_to: Iterable[str] = ()) -> Function:
        """Return the function with additional permissions."""
        rights = {table: set(actions.split()) for table, actions in self.tables.items()}
        for table, actions in (tables or {}).items():
            rights[table] = rights.get(table, set()).union(actions.split())
        joined = {table: " ".join(sorted(actions)) for table, actions in rights.items()}
        return replace(self, tables=joined, sends_to=tuple(dict.fromkeys([*self.sends_to, *sends_to])))

    def merge(self, other: Function) -> Function:
        """Return a function that reads a stream for two extensions, with the permissions and filters of both."""
        filters = [one.mapping_settings[_FILTERS]["Filters"] for one in (self, other)]
        # Lambda passes records that match any of the filters, or all records if there is no filter.
        patterns = [] if [] in filters else [one for listed in filters for one in listed]
        return replace(
            self.with_rights(other.tables, other.sends_to),
            memory_mb=max(self.memory_mb, other.memory_mb),
            mapping_settings={**self.mapping_settings, _FILTERS: {"Filters": patterns}},
        )


def stream_settings(parallelization: int = 1, event_filter: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the event source mapping settings for a stream."""
    return {
        # Bisecting isolates a failing record, so that the other records of its batch are processed.
        "BisectBatchOnFunctionError": True,
        "MaximumRetryAttempts": _UNLIMITED,
        "MaximumRecordAgeInSeconds": _MAX_RECORD_AGE_SECONDS,
        # Records for the same item stay in order with any parallelization factor.
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
    """Return the function `follow_<table>`, which follows a table's stream for core and the extensions."""
    return Function(
        f"follow_{table}",
        memory_mb=memory_mb,
        timeout_seconds=60,
        tables=tables,
        sends_to=(*sends_to, DEAD_LETTER_QUEUE),
        stream=table,
        mapping_settings=stream_settings(event_filter=event_filter),
    )
