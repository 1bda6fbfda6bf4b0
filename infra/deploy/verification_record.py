"""A record that a stage has passed verification. If it is missing, a deployment starts a verification.

The record is an item in the table `idempotency`, like the lock (`stage_lock`). It contains the API id. A stage that was
destroyed and deployed again has a new API, so it is verified again.
"""

from __future__ import annotations

from typing import Any


def is_recorded(dynamodb: Any, name: str, api_id: str) -> bool:
    """Return whether the stage with this stack name and API has passed verification."""
    item = dynamodb.get_item(TableName=_table(name), Key=_key(name), ConsistentRead=True).get("Item", {})
    return bool(item.get("api") == {"S": api_id})


def record(dynamodb: Any, name: str, api_id: str) -> None:
    """Record that the stage with this API has passed verification."""
    dynamodb.put_item(TableName=_table(name), Item={**_key(name), "api": {"S": api_id}})


def _table(name: str) -> str:
    return f"{name}-idempotency"


def _key(name: str) -> dict[str, Any]:
    return {"request": {"S": f"deployment#{name}"}, "part": {"S": "verified"}}
