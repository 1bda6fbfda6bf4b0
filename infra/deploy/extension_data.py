"""Removes a disabled extension's data: its tables, queues, keys and rows.

`ROWS` in an extension's `deploy/data.py` declares its rows in core's tables. A deployment fails if it would orphan
data, because erasures would no longer reach that data. The deployment deletes the data if the operator requests it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from chalicelib.extensions import present
from infra.deploy import sdk_errors, stack, teardown
from infra.deploy.checks import NotReady
from infra.extension_parts import modules, template
from infra.tables import resolve

Sdk = Callable[[str], Any]

# Messages of version 1.0 requested counts, which `infra.cams tallies recount` repeats.
_WITHOUT_DATA = ("TalliesQueue",)
_MESSAGES = tuple(f"ApproximateNumberOfMessages{state}" for state in ("", "NotVisible", "Delayed"))


def disabled_extensions(cloudformation: Any, name: str, extensions: Collection[str]) -> list[str]:
    """Return the extensions of the stack `name` that `extensions` does not include."""
    if stack.status(cloudformation, name) in (None, *stack.NEVER_CREATED):
        return []
    return sorted({*stack.extensions(cloudformation, name)} - {*extensions})


def check(sdk: Sdk, name: str, stage_name: str, extensions: Collection[str], deleted: Collection[str]) -> None:
    """Raise NotReady if a deployment with these extensions would orphan data. Ignore the `deleted` extensions."""
    off = disabled_extensions(sdk("cloudformation"), name, extensions)
    for extension in deleted:
        if extension not in off:
            raise NotReady(
                f"Stage {stage_name} still has the extension {extension}, or never had it: omit --delete-data."
            )
    for extension in off:
        if extension not in present():
            raise NotReady(
                f"Stage {stage_name} has the extension {extension}, whose folder is missing: restore the folder, and "
                'delete it after a deployment with "extensions" without it.'
            )
        if extension not in deleted and any(_rows(sdk("dynamodb"), name, extension)):
            raise NotReady(_has_data(f"The extension {extension} has records", extension, stage_name))
    owners = {logical_id: extension for extension in off for logical_id in _own_resources(extension)}
    for logical_id, resource in stack.removed_resources(sdk("cloudformation"), name, extensions).items():
        owner = owners.get(logical_id, "")
        if owner in deleted or logical_id in _WITHOUT_DATA:
            continue
        if place := _find_data(sdk, name, resource):
            raise NotReady(_has_data(f"{place} is not empty", owner, stage_name))


def _has_data(problem: str, extension: str, stage_name: str) -> str:
    if not extension:
        return f"{problem}, and this version does not have it: deploy after its messages have been processed."
    return (
        f'{problem}: list {extension} in "extensions" of stage {stage_name}, or delete its data with '
        f'`make deploy STAGE={stage_name} ARGS="--delete-data {extension}"`.'
    )


def delete(sdk: Sdk, name: str, extension: str) -> None:
    """Delete an extension's rows and tables, and its keys after 30 days. The function is idempotent."""
    dynamodb, outputs = sdk("dynamodb"), stack.outputs(sdk("cloudformation"), name)
    for table, key in _rows(dynamodb, name, extension):
        dynamodb.delete_item(TableName=table, Key=key)
    for logical_id, resource in _own_resources(extension).items():
        if resource["Type"] == "AWS::DynamoDB::Table":
            with sdk_errors.ignore(*sdk_errors.MISSING):
                _delete_table(dynamodb, resolve(resource["Properties"]["TableName"], name))
        elif resource["Type"] == "AWS::KMS::Key" and (key_arn := outputs.get(f"{logical_id}Arn")):
            teardown.schedule_key_deletion(sdk("kms"), key_arn)


def _delete_table(dynamodb: Any, table: str) -> None:
    """Delete a table and wait until its name is free again."""
    dynamodb.update_table(TableName=table, DeletionProtectionEnabled=False)
    dynamodb.get_waiter("table_exists").wait(TableName=table, WaiterConfig={"Delay": 1, "MaxAttempts": 300})
    dynamodb.delete_table(TableName=table)
    dynamodb.get_waiter("table_not_exists").wait(TableName=table, WaiterConfig={"Delay": 1, "MaxAttempts": 300})


def _find_data(sdk: Sdk, name: str, resource: Mapping[str, Any]) -> str:
    """Return the name of a table with records or a queue with messages, or an empty string if there is no data."""
    with sdk_errors.ignore(*sdk_errors.MISSING):  # an interrupted deployment deleted it
        if resource["Type"] == "AWS::DynamoDB::Table":
            table = resolve(resource["Properties"]["TableName"], name)
            return f"The table {table}" if sdk("dynamodb").scan(TableName=table, Limit=1)["Items"] else ""
        if resource["Type"] == "AWS::SQS::Queue":
            queue = resolve(resource["Properties"]["QueueName"], name)
            url = sdk("sqs").get_queue_url(QueueName=queue)["QueueUrl"]
            numbers = sdk("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=[*_MESSAGES])["Attributes"]
            return f"The queue {queue}" if any(map(int, numbers.values())) else ""
    return ""


def _own_resources(extension: str) -> dict[str, Any]:
    """Return the resources that only this extension declares, keyed by logical id."""
    core = template([])["Resources"]
    return {key: resource for key, resource in template([extension])["Resources"].items() if key not in core}


def _rows(dynamodb: Any, name: str, extension: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the table and key of each extension row in core's tables."""
    rows = [row for module in modules("data", [extension]) for row in module.ROWS]
    for table, attribute, prefix in rows:
        schema = dynamodb.describe_table(TableName=f"{name}-{table}")["Table"]["KeySchema"]
        keys = [key["AttributeName"] for key in schema]
        pages = dynamodb.get_paginator("scan").paginate(
            TableName=f"{name}-{table}",
            FilterExpression="begins_with(#attribute, :prefix)",
            ExpressionAttributeNames={"#attribute": attribute},
            ExpressionAttributeValues={":prefix": {"S": prefix}},
        )
        yield from ((f"{name}-{table}", {key: item[key] for key in keys}) for page in pages for item in page["Items"])
