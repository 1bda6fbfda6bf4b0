"""The deployed functions in one table: permissions, memory, timeout and event source of each.

The table holds everything about a function that Chalice does not know. `policies` generates the IAM policies from it,
`stage` the function settings, `event_sources` the settings of the event source mappings. Tables and queues have the
names of `infra/template.yaml`, without the prefix.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

APPLICATION = "cams"
"""The application's name in `app.py`. Chalice starts every resource name with it."""

API = "api_handler"
"""Chalice's name of the function behind the API."""

DEAD_LETTER_QUEUE = "deliveries-dead"
"""The on-failure destination of the streams, and the dead-letter queue of the deliveries."""

# Lambda repeats a failing batch until its records have this age. The stream keeps them for 24 hours, so an operator has
# the 18 hours after the dead letter to replay them (`infra.cams redrive-streams`). The number of attempts has no limit:
# AWS does not document the time between two of them, so a number would not say how long an outage may last.
_MAX_RECORD_AGE_SECONDS = 6 * 60 * 60
_UNLIMITED = -1
_PARTIAL_FAILURES = ["ReportBatchItemFailures"]
_READ_KEYRING = {"keyring": "GetItem"}


@dataclass(frozen=True)
class Function:
    """A function, its permissions and its event source.

    `tables` maps a table or index to the permitted DynamoDB actions, separated by spaces. `sends_to` lists queues.
    `stream` names the table whose stream invokes the function, `queue` the queue. `mapping_settings` are arguments of
    UpdateEventSourceMapping. `reserved_concurrency` is the default of a large account (`limits`). `signs_receipts`
    permits the use of the key that signs the receipts of erasures, `sends_mail` sending with SES.
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
    signs_receipts: bool = False
    sends_mail: bool = False

    def deployed_name(self, name: str) -> str:
        """The function's name in the account. `name` is the stack's, such as `cams-prod`."""
        return name if self.name == API else f"{name}-{self.name}"

    @property
    def sends_to_itself(self) -> bool:
        """Whether the function continues its work by messages to the queue that invokes it."""
        return self.queue in self.sends_to


def _stream_settings(parallelization: int = 1, event_filter: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {
        # Bisecting isolates a failing record, so that the other records of its batch are processed.
        "BisectBatchOnFunctionError": True,
        "MaximumRetryAttempts": _UNLIMITED,
        "MaximumRecordAgeInSeconds": _MAX_RECORD_AGE_SECONDS,
        # The records of one item stay in order for every factor.
        "ParallelizationFactor": parallelization,
        "FilterCriteria": {"Filters": [{"Pattern": json.dumps(event_filter)}] if event_filter else []},
    }


def _fan_out(table: str, parallelization: int = 1, event_filter: Mapping[str, Any] | None = None) -> Function:
    return Function(
        f"fan_out_{table}",
        memory_mb=256,
        timeout_seconds=60,
        tables={**_READ_KEYRING, "webhooks": "Query", "events": "BatchWriteItem"},
        sends_to=("deliveries", "deliveries-slow", "fan-out", DEAD_LETTER_QUEUE),
        stream=table,
        mapping_settings={
            **_stream_settings(parallelization, event_filter),
            "FunctionResponseTypes": _PARTIAL_FAILURES,
        },
    )


def _deliver(name: str, queue: str, sends_to: tuple[str, ...], max_concurrency: int) -> Function:
    return Function(
        name,
        memory_mb=512,
        timeout_seconds=60,
        tables={
            **_READ_KEYRING,
            "webhooks": "BatchGetItem GetItem PutItem",
            "events": "BatchGetItem",
            "workspaces": "BatchGetItem",
            "deliveries": "PutItem UpdateItem",
        },
        sends_to=sends_to,
        queue=queue,
        mapping_settings={
            "ScalingConfig": {"MaximumConcurrency": max_concurrency},
            "FunctionResponseTypes": _PARTIAL_FAILURES,
        },
        reserved_concurrency=max_concurrency,
    )


def _tally(table: str, memory_mb: int = 256, event_filter: Mapping[str, Any] | None = None) -> Function:
    return Function(
        f"tally_{table}",
        memory_mb=memory_mb,
        timeout_seconds=60,
        tables={**_READ_KEYRING, "tallies": "BatchWriteItem"},
        sends_to=("tallies", *(("erasures", "notifications") if table == "conversations" else ()), DEAD_LETTER_QUEUE),
        stream=table,
        mapping_settings=_stream_settings(event_filter=event_filter),
    )


def _keep_history(table: str) -> Function:
    return Function(
        f"history_{table}",
        memory_mb=256,
        timeout_seconds=60,
        tables={
            **_READ_KEYRING,
            "history": "BatchWriteItem UpdateItem" if table == "agents" else "BatchWriteItem",
        },
        sends_to=(DEAD_LETTER_QUEUE,),
        stream=table,
        # Deletions are committed with their rows of the history.
        mapping_settings=_stream_settings(event_filter={"eventName": ["INSERT", "MODIFY"]}),
    )


FUNCTIONS = (
    Function(
        API,
        memory_mb=1024,
        timeout_seconds=30,
        tables={
            **_READ_KEYRING,
            "workspaces": "BatchGetItem ConditionCheckItem DeleteItem GetItem PutItem Query",
            "credentials": "BatchGetItem ConditionCheckItem DeleteItem GetItem PutItem UpdateItem",
            "agents": "BatchGetItem BatchWriteItem DeleteItem GetItem PutItem Query",
            "agents/index/by_change": "Query",
            "agents/index/by_workspace": "Query",
            "conversations": "BatchGetItem BatchWriteItem DeleteItem PutItem",
            "conversations/index/by_activity": "Query",
            "conversations/index/by_creation": "Query",
            "tallies": "BatchGetItem BatchWriteItem DeleteItem Query",
            "analytics": "BatchGetItem DeleteItem GetItem Query UpdateItem",
            "clients": "BatchGetItem ConditionCheckItem DeleteItem GetItem PutItem Query",
            "organisations": "BatchGetItem DeleteItem GetItem PutItem Query",
            "leads": "BatchWriteItem DeleteItem GetItem PutItem Query",
            "leads/index/by_capture": "Query",
            "webhooks": "DeleteItem GetItem PutItem Query",
            "events": "GetItem PutItem",
            "deliveries": "GetItem PutItem Query",
            "deliveries/index/by_failure": "Query",
            "idempotency": "BatchGetItem BatchWriteItem GetItem PutItem",
            "history": "BatchWriteItem PutItem Query",
            "history/index/by_time": "Query",
        },
        sends_to=("deliveries", "cascades", "erasures"),
    ),
    # Tools are in the same table, and have no events.
    _fan_out("agents", event_filter={"dynamodb": {"Keys": {"item": {"S": [{"prefix": "agent#"}]}}}}),
    # Most writes of a conversation contain no received message, or are TTL deletions. The filter drops them.
    _fan_out(
        "conversations",
        parallelization=4,
        event_filter={
            "eventName": ["INSERT", "MODIFY"],
            "dynamodb": {"NewImage": {"received": {"B": [{"exists": True}]}}},
        },
    ),
    _fan_out("clients"),
    _fan_out("organisations"),
    _fan_out("leads", event_filter={"eventName": ["INSERT"]}),
    Function(
        "continue_fan_out",
        memory_mb=256,
        timeout_seconds=60,
        tables={**_READ_KEYRING, "webhooks": "Query"},
        sends_to=("deliveries", "deliveries-slow", DEAD_LETTER_QUEUE),
        queue="fan-out",
        mapping_settings={"ScalingConfig": {"MaximumConcurrency": 20}},
    ),
    # Moves the deliveries to a host that is slow to the slow queue. The slow queue never returns them.
    _deliver("deliver", "deliveries", sends_to=("deliveries-slow", DEAD_LETTER_QUEUE), max_concurrency=200),
    # The bulkhead: hanging receivers occupy at most 50 concurrent executions of the account.
    _deliver("deliver_slow", "deliveries-slow", sends_to=(DEAD_LETTER_QUEUE,), max_concurrency=50),
    # The filter drops the parts of conversations. Memory, which is also a share of a processor, to unseal the others.
    _tally("conversations", memory_mb=512, event_filter={"dynamodb": {"Keys": {"item": {"S": ["conversation"]}}}}),
    _tally("leads", event_filter={"eventName": ["INSERT"]}),
    _tally("analytics", event_filter={"eventName": ["INSERT", "MODIFY"]}),
    _tally("deliveries", event_filter={"dynamodb": {"NewImage": {"outcome": {"S": ["delivered", "failed"]}}}}),
    *(_keep_history(table) for table in ("agents", "clients", "organisations", "webhooks", "credentials")),
    # The timeout is shorter than the delay of a request to count, so that no count is written after a newer one. Memory
    # to unseal the changes of an hour, up to some hundred thousand, in that time.
    Function(
        "count_conversations",
        memory_mb=1024,
        timeout_seconds=25,
        tables={
            **_READ_KEYRING,
            "workspaces": "BatchGetItem",
            "agents": "BatchGetItem",
            "conversations/index/by_creation": "Query",
            "tallies": "BatchGetItem DeleteItem PutItem Query",
        },
        queue="tallies",
        # All counts of a month write its row.
        mapping_settings={
            "ScalingConfig": {"MaximumConcurrency": 5},
            "FunctionResponseTypes": _PARTIAL_FAILURES,
        },
    ),
    Function(
        "resume_cascade",
        memory_mb=256,
        timeout_seconds=60,
        tables={
            **_READ_KEYRING,
            "workspaces": "DeleteItem Query",
            "credentials": "BatchGetItem DeleteItem",
            "agents": "BatchWriteItem DeleteItem GetItem Query",
            "history": "BatchWriteItem PutItem",
            "conversations": "BatchGetItem DeleteItem",
            "conversations/index/by_creation": "Query",
            "tallies": "BatchWriteItem DeleteItem Query",
            "analytics": "DeleteItem Query",
            "leads": "BatchWriteItem Query",
        },
        sends_to=("cascades",),
        queue="cascades",
        mapping_settings={"ScalingConfig": {"MaximumConcurrency": 10}},
    ),
    # Memory for pages of records of up to 390 KB, opened.
    Function(
        "erase",
        memory_mb=512,
        timeout_seconds=60,
        tables={
            **_READ_KEYRING,
            "workspaces": "BatchWriteItem DeleteItem GetItem PutItem Query",
            "agents": "GetItem",
            "agents/index/by_workspace": "Query",
            "conversations": "BatchGetItem ConditionCheckItem DeleteItem GetItem PutItem Query",
            "conversations/index/by_creation": "Query",
            "analytics": "BatchWriteItem Query",
            "leads": "BatchWriteItem Query",
            "events": "BatchWriteItem Query",
            "idempotency": "BatchGetItem BatchWriteItem GetItem",
            "idempotency/index/by_workspace": "Query",
            "history": "BatchGetItem BatchWriteItem",
            "history/index/by_time": "Query",
        },
        sends_to=("erasures",),
        queue="erasures",
        mapping_settings={"ScalingConfig": {"MaximumConcurrency": 10}},
        signs_receipts=True,
    ),
    Function(
        "notify_people",
        memory_mb=512,
        timeout_seconds=60,
        tables={
            **_READ_KEYRING,
            "workspaces": "GetItem PutItem UpdateItem",
            "clients": "GetItem Query",
            "organisations": "BatchGetItem",
            "agents": "BatchGetItem",
            "conversations": "BatchGetItem",
            "conversations/index/by_activity": "Query",
        },
        sends_to=("notifications",),
        queue="notifications",
        # SES sends 14 mails a second by default.
        mapping_settings={
            "ScalingConfig": {"MaximumConcurrency": 2},
            "FunctionResponseTypes": _PARTIAL_FAILURES,
        },
        sends_mail=True,
    ),
)
"""Every function that `app.py` registers; a test compares the two."""
