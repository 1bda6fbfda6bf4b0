"""Delete a stage's data: its tables, keys and stack. Empty its package bucket.

Because of point-in-time recovery, DynamoDB keeps a system backup of each deleted table for 35 days. KMS deletes the key
after 30 days; until then the deletion can be cancelled. A key that another stage uses is kept. The stack is deleted
last, so an interrupted deletion can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infra.deploy import sdk_errors, stack, template
from infra.tables import declared, resolve

_KEY_DELETION_DAYS = 30
_ENCRYPTION_KEY = "EncryptionKey"


def delete_data(sdk: Callable[[str], Any], name: str) -> None:
    """Delete the tables, the unshared keys and the stack `name`. Deletion protection must be off."""
    cloudformation = sdk("cloudformation")
    for properties in declared("AWS::DynamoDB::Table"):
        with sdk_errors.ignore(*sdk_errors.MISSING):  # an interrupted run has deleted it
            sdk("dynamodb").delete_table(TableName=resolve(properties["TableName"], name))
    outputs = stack.outputs(cloudformation, name)
    others = [outputs.get(f"{logical_id}Arn") for logical_id in template.key_ids() if logical_id != _ENCRYPTION_KEY]
    for key in filter(None, (key_to_delete(cloudformation, name), *others)):
        schedule_key_deletion(sdk("kms"), key)
    stack.delete(cloudformation, name)


def empty_packages(sdk: Callable[[str], Any], name: str) -> None:
    """Delete every package in the bucket of the stack `name`, because CloudFormation deletes only an empty bucket."""
    # Stacks from earlier versions and stacks that were reduced to their data have no such bucket.
    bucket = stack.outputs(sdk("cloudformation"), name).get("PackagesBucket")
    pages = sdk("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket) if bucket else ()
    for package in (item for page in pages for item in page.get("Contents", ())):
        sdk("s3").delete_object(Bucket=bucket, Key=package["Key"])


def schedule_key_deletion(kms: Any, key: str) -> None:
    """Schedule a key's deletion in KMS, unless it is already scheduled."""
    with sdk_errors.ignore("KMSInvalidStateException"):
        kms.schedule_key_deletion(KeyId=key, PendingWindowInDays=_KEY_DELETION_DAYS)


def key_to_delete(cloudformation: Any, name: str) -> str | None:
    """Return the ARN of the stack's key, or None if another stage owns the key or was restored with it."""
    key = stack.outputs(cloudformation, name)["EncryptionKeyArn"]
    is_shared = stack.parameters_of(cloudformation, name, ("KeyArn",)).get("KeyArn") or stack.list_users(
        cloudformation, key
    )
    return None if is_shared else key
