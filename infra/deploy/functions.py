"""The functions of a deployment, in one table: what each may do, with how much memory and time, and what calls it.

Everything about a function that Chalice cannot know is here: `policies` makes its rights of it, `stage` its settings,
`triggers` its event mapping. Names of tables and queues are those of `infra/template.yaml`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

APPLICATION = "cams"
"""The name of the application in `app.py`, with which Chalice begins every name."""

API = "api_handler"
"""What Chalice calls the function behind the API."""

DEAD = "deliveries-dead"
"""The queue that is told of changes which were given up."""

# A stream keeps a record for 24 hours: who is told two hours before can still read it.
_RECORD_SECONDS = 22 * 60 * 60
_SEALED = {"keyring": "GetItem"}


@dataclass(frozen=True)
class Function:
    """A function: `tables` and `queues` say which actions on which; `tuning` is for its event mapping."""

    name: str
    memory: int
    seconds: int
    tables: Mapping[str, str]
    sends: tuple[str, ...] = ()
    stream: str | None = None
    queue: str | None = None
    tuning: Mapping[str, Any] = field(default_factory=dict)

    def physical(self, name: str) -> str:
        """What it is called in the account; `name` is that of the deployment, such as `cams-prod`."""
        return name if self.name == API else f"{name}-{self.name}"


def _fan_out(table: str, parallel: int = 1, only: Mapping[str, Any] | None = None) -> Function:
    tuning = {
        # One record that fails must not hold up its shard for a day, nor be given up with those around it.
        "BisectBatchOnFunctionError": True,
        "MaximumRetryAttempts": -1,
        "MaximumRecordAgeInSeconds": _RECORD_SECONDS,
        # Records of one item stay in order whatever this says.
        "ParallelizationFactor": parallel,
        "FilterCriteria": {"Filters": [{"Pattern": json.dumps(only)}] if only else []},
    }
    return Function(
        f"fan_out_{table}",
        memory=256,
        seconds=60,
        tables={**_SEALED, "webhooks": "Query", "events": "BatchWriteItem"},
        sends=("deliveries", "deliveries-slow", DEAD),
        stream=table,
        tuning=tuning,
    )


def _deliver(name: str, queue: str, sends: tuple[str, ...], most: int) -> Function:
    return Function(
        name,
        memory=512,
        seconds=60,
        tables={
            **_SEALED,
            "webhooks": "BatchGetItem UpdateItem",
            "events": "BatchGetItem",
            "workspaces": "BatchGetItem",
            "deliveries": "GetItem PutItem UpdateItem",
        },
        sends=sends,
        queue=queue,
        tuning={"ScalingConfig": {"MaximumConcurrency": most}},
    )


FUNCTIONS = (
    Function(
        API,
        memory=1024,
        seconds=30,
        tables={
            **_SEALED,
            "workspaces": "ConditionCheckItem DeleteItem GetItem PutItem Query",
            "credentials": "BatchGetItem DeleteItem GetItem PutItem UpdateItem",
            "agents": "BatchGetItem DeleteItem GetItem PutItem Query",
            "tools": "BatchWriteItem DeleteItem GetItem PutItem Query",
            "conversations": (
                "BatchGetItem BatchWriteItem ConditionCheckItem DeleteItem GetItem PutItem Query UpdateItem"
            ),
            "conversations/index/by_number": "Query",
            "analytics": "BatchGetItem BatchWriteItem GetItem Query UpdateItem",
            "clients": "DeleteItem GetItem PutItem Query",
            "organisations": "DeleteItem GetItem PutItem",
            "leads": "BatchWriteItem DeleteItem GetItem PutItem Query",
            "webhooks": "DeleteItem GetItem PutItem Query",
            "events": "BatchWriteItem GetItem",
            "deliveries": "GetItem PutItem Query",
            "idempotency": "BatchGetItem BatchWriteItem GetItem PutItem UpdateItem",
        },
        sends=("deliveries", "cascades"),
    ),
    _fan_out("agents"),
    # Most writes of conversations have received nothing, or are expiry: those need not call anybody.
    _fan_out(
        "conversations",
        parallel=4,
        only={"eventName": ["INSERT", "MODIFY"], "dynamodb": {"NewImage": {"received": {"B": [{"exists": True}]}}}},
    ),
    _fan_out("clients"),
    _fan_out("organisations"),
    _fan_out("leads", only={"eventName": ["INSERT"]}),
    # It moves what has become slow meanwhile to the other lane; nothing comes back from there.
    _deliver("deliver", "deliveries", sends=("deliveries-slow", DEAD), most=200),
    # So many hang at most, and leave the rest of the account's functions alone.
    _deliver("deliver_slow", "deliveries-slow", sends=(DEAD,), most=50),
    Function(
        "resume_cascade",
        memory=256,
        seconds=60,
        tables={
            "workspaces": "DeleteItem Query",
            "credentials": "BatchGetItem DeleteItem",
            "tools": "BatchWriteItem Query",
            "conversations": "BatchWriteItem DeleteItem GetItem Query",
            "conversations/index/by_number": "Query",
            "analytics": "BatchWriteItem Query",
            "leads": "BatchWriteItem Query",
        },
        sends=("cascades",),
        queue="cascades",
    ),
)
"""Every function that `app.py` registers; a test compares."""
