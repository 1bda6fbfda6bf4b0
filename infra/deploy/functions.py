"""Core's functions: permissions, memory, timeout and event source. `declared_functions` adds the extensions'.

The table contains everything about a function that Chalice does not know. From it, `policies` generates IAM policies,
`stage` generates function settings, and `event_sources` generates mapping settings. Tables and queues have the same
names as in `infra/template.yaml`, without the prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chalicelib.webhooks import retry_policy
from infra import extension_parts
from infra.deploy.function import (
    API,
    DEAD_LETTER_QUEUE,
    PARTIAL_FAILURES,
    READ_KEYRING,
    Function,
    follow,
    stream_settings,
)


def _fan_out(table: str, parallelization: int = 1, event_filter: Mapping[str, Any] | None = None) -> Function:
    return Function(
        f"fan_out_{table}",
        memory_mb=256,
        timeout_seconds=60,
        tables={**READ_KEYRING, "webhooks": "Query", "events": "BatchWriteItem"},
        sends_to=("deliveries", "deliveries-slow", "maintenance", DEAD_LETTER_QUEUE),
        stream=table,
        mapping_settings={
            **stream_settings(parallelization, event_filter),
            "FunctionResponseTypes": PARTIAL_FAILURES,
        },
    )


def _deliver(name: str, queue: str, sends_to: tuple[str, ...], max_concurrency: int) -> Function:
    return Function(
        name,
        memory_mb=512,
        timeout_seconds=retry_policy.INVOCATION_SECONDS,
        tables={
            **READ_KEYRING,
            "webhooks": "BatchGetItem GetItem PutItem",
            "events": "BatchGetItem",
            "workspaces": "BatchGetItem",
            "deliveries": "PutItem UpdateItem",
        },
        sends_to=sends_to,
        queue=queue,
        mapping_settings={
            "ScalingConfig": {"MaximumConcurrency": max_concurrency},
            "FunctionResponseTypes": PARTIAL_FAILURES,
        },
        reserved_concurrency=max_concurrency,
    )


_CORE = (
    Function(
        API,
        memory_mb=1024,
        timeout_seconds=30,
        tables={
            **READ_KEYRING,
            "workspaces": "ConditionCheckItem DeleteItem GetItem PutItem Query",
            "credentials": "BatchGetItem DeleteItem GetItem PutItem UpdateItem",
            "agents": "BatchGetItem BatchWriteItem DeleteItem GetItem PutItem Query",
            "agents/index/by_change": "Query",
            "agents/index/by_workspace": "Query",
            "conversations": "BatchGetItem BatchWriteItem DeleteItem PutItem",
            "conversations/index/by_activity": "Query",
            "conversations/index/by_creation": "Query",
            "tallies": "BatchGetItem DeleteItem Query",
            "analytics": "BatchGetItem DeleteItem GetItem Query UpdateItem",
            "clients": "BatchGetItem DeleteItem GetItem PutItem Query",
            "organisations": "BatchGetItem DeleteItem GetItem PutItem Query",
            "leads": "BatchWriteItem DeleteItem GetItem PutItem Query",
            "leads/index/by_capture": "Query",
            "webhooks": "DeleteItem GetItem PutItem Query",
            "events": "GetItem PutItem",
            "deliveries": "GetItem PutItem Query",
            "deliveries/index/by_failure": "Query",
            "idempotency": "BatchGetItem BatchWriteItem GetItem PutItem",
        },
        sends_to=("deliveries", "maintenance"),
    ),
    # The same table contains tools, which have no events.
    _fan_out("agents", event_filter={"dynamodb": {"Keys": {"item": {"S": [{"prefix": "agent#"}]}}}}),
    # Most conversation writes are TTL deletions, or contain neither a received message nor a handoff. The filter drops
    # these writes.
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
    # This function moves deliveries to slow hosts to the slow queue. They are never moved back.
    _deliver("deliver", "deliveries", sends_to=("deliveries-slow", DEAD_LETTER_QUEUE), max_concurrency=200),
    # Bulkhead: unresponsive receivers occupy at most 50 of the account's concurrent executions.
    _deliver("deliver_slow", "deliveries-slow", sends_to=(DEAD_LETTER_QUEUE,), max_concurrency=50),
    # The filter drops conversation parts. Decrypting the other records requires this memory size, which determines the
    # CPU share.
    follow(
        "conversations",
        {},
        ("maintenance",),
        memory_mb=512,
        event_filter={"dynamodb": {"Keys": {"item": {"S": ["conversation"]}}}},
    ),
    # The timeout is shorter than the recount delay, so that no count overwrites a newer count.
    Function(
        "maintain",
        memory_mb=512,
        timeout_seconds=25,
        tables={
            **READ_KEYRING,
            "workspaces": "DeleteItem GetItem Query",
            "credentials": "BatchGetItem DeleteItem",
            "agents": "BatchWriteItem DeleteItem GetItem Query",
            "agents/index/by_workspace": "Query",
            "conversations": "BatchGetItem ConditionCheckItem DeleteItem GetItem PutItem Query",
            "conversations/index/by_creation": "Query",
            "tallies": "BatchGetItem DeleteItem PutItem Query",
            "analytics": "DeleteItem Query",
            "leads": "BatchWriteItem Query",
            "webhooks": "Query",
        },
        sends_to=("maintenance", "deliveries", "deliveries-slow"),
        queue="maintenance",
        # All counts for a month update the same row.
        mapping_settings={"ScalingConfig": {"MaximumConcurrency": 10}, "FunctionResponseTypes": PARTIAL_FAILURES},
    ),
)


def declared_functions(extensions: Iterable[str] | None = None) -> tuple[Function, ...]:
    """Return the functions of core and these extensions, by default of all extensions that are present.

    Two declarations with the same name are merged, so that two extensions can follow the same stream. Permissions that
    refer to a disabled extension's function have no effect.
    """
    merged: dict[str, Function] = {}
    declarations = extension_parts.modules("functions", extensions)
    for function in (*_CORE, *(one for module in declarations for one in module.FUNCTIONS)):
        known = merged.get(function.name)
        merged[function.name] = known.merge(function) if known else function
    for module in declarations:
        grants, sends = getattr(module, "GRANTS", {}), getattr(module, "SENDS", {})
        for name in merged.keys() & {*grants, *sends}:
            merged[name] = merged[name].with_rights(grants.get(name), sends.get(name, ()))
    return tuple(merged.values())
