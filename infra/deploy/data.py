"""The end of a stage's data: its tables, the key without which no copy of them can be read, and the stack.

DynamoDB keeps a last backup of each table for 35 days by itself, as point-in-time recovery is on, and the key is only
scheduled: for 30 days it can still be called back. The stack goes last, so that what was interrupted can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError

from infra.deploy import stack
from infra.tables import declared

_KEY_DAYS = 30


def delete(sdk: Callable[[str], Any], name: str) -> None:
    """Delete tables, key and stack. The tables must not be protected any more."""
    cloud = sdk("cloudformation")
    for properties in declared("AWS::DynamoDB::Table"):
        with _already("ResourceNotFoundException"):
            sdk("dynamodb").delete_table(TableName=properties["TableName"]["Fn::Sub"].replace("${Name}", name))
    with _already("KMSInvalidStateException"):
        key = stack.outputs(cloud, name)["EncryptionKeyArn"]
        sdk("kms").schedule_key_deletion(KeyId=key, PendingWindowInDays=_KEY_DAYS)
    stack.delete(cloud, name)


@contextmanager
def _already(code: str) -> Iterator[None]:
    """Done by an earlier attempt, says an error with this code."""
    try:
        yield
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != code:
            raise
