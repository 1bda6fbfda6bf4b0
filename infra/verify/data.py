"""Checks of a stage's keys, tables and queues."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from infra.deploy import sdk_errors, template
from infra.tables import resolve
from infra.verify.deployment import Deployment, Note

_KMS_KEY = "EncryptionKeyArn"


def check_keys(stage: Deployment) -> Iterator[str]:
    """Check that each key is enabled, and that KMS rotates the key that wraps the data keys."""
    kms = stage.sdk("kms")
    for logical_id in template.key_ids(stage.extensions):
        arn = stage.outputs[f"{logical_id}Arn"]
        state = kms.describe_key(KeyId=arn)["KeyMetadata"]["KeyState"]
        if state != "Enabled":
            yield f"The KMS key {arn} is {state}: cancel its deletion or enable it."
    arn = stage.outputs[_KMS_KEY]
    if not kms.get_key_rotation_status(KeyId=arn)["KeyRotationEnabled"]:
        yield f"KMS does not rotate the key {arn}: run `aws kms enable-key-rotation --key-id {arn}`."


def check_tables(stage: Deployment) -> Iterator[str]:
    """Check each table: state, encryption, indexes, stream, TTL, point-in-time recovery and deletion protection."""
    dynamodb = stage.sdk("dynamodb")
    for properties in template.declared("AWS::DynamoDB::Table", stage.extensions):
        table = resolve(properties["TableName"], stage.name)
        response = sdk_errors.unless_missing(dynamodb.describe_table, TableName=table)
        if response is None:
            yield f"The table {table} does not exist: restore the stage (docs/operate.md, Restore)."
            continue
        yield from _table_problems(table, response["Table"], properties)
        yield from _recovery_problems(dynamodb, table, properties)


def _table_problems(table: str, description: dict[str, Any], properties: dict[str, Any]) -> Iterator[str]:
    if description["TableStatus"] != "ACTIVE":
        yield f"The table {table} is {description['TableStatus']}: wait until it is ACTIVE."
    # If the description is missing, DynamoDB encrypts the table with an AWS owned key.
    encryption = (description.get("SSEDescription") or {}).get("Status", "ENABLED")
    if encryption != "ENABLED":
        yield f"The encryption at rest of the table {table} is {encryption}: check the table's KMS key."
    if not description.get("DeletionProtectionEnabled"):
        yield (
            f"The table {table} has no deletion protection: run `aws dynamodb update-table --table-name {table} "
            "--deletion-protection-enabled`."
        )
    indexes = {
        one["IndexName"]: one.get("IndexStatus", "ACTIVE") for one in description.get("GlobalSecondaryIndexes") or ()
    }
    for index in properties.get("GlobalSecondaryIndexes", ()):
        if indexes.get(index["IndexName"]) != "ACTIVE":
            state = indexes.get(index["IndexName"], "missing")
            yield f"The index {index['IndexName']} of the table {table} is {state}."
    view = properties.get("StreamSpecification", {}).get("StreamViewType")
    stream = description.get("StreamSpecification") or {}
    if view and not (stream.get("StreamEnabled") and stream.get("StreamViewType") == view):
        yield f"The table {table} has no stream with {view}: its changes trigger no webhooks, counts or history."


def _recovery_problems(dynamodb: Any, table: str, properties: dict[str, Any]) -> Iterator[str]:
    backups = dynamodb.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
    if backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") != "ENABLED":
        yield f"The table {table} has no point-in-time recovery: enable it, because `make restore` needs it."
    ttl = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    expected = properties.get("TimeToLiveSpecification", {}).get("AttributeName")
    is_on = ttl["TimeToLiveStatus"] in ("ENABLED", "ENABLING")
    if expected and not (is_on and ttl.get("AttributeName") == expected):
        yield f"TTL of the table {table} is not enabled on {expected}: its records never expire."


def check_queues(stage: Deployment) -> Iterator[str]:
    """Check each queue and its redrive policy, and note messages in dead-letter queues."""
    sqs = stage.sdk("sqs")
    resources = template.build(stage.extensions)["Resources"]
    for properties in template.declared("AWS::SQS::Queue", stage.extensions):
        queue = resolve(properties["QueueName"], stage.name)
        try:
            url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
            actual = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        except ClientError as error:
            if sdk_errors.code(error) in sdk_errors.MISSING:
                yield f"The queue {queue} does not exist: create it as infra/template.yaml declares it."
            else:
                yield f"The queue {queue} cannot be read: {' '.join(str(error).split())}"
            continue
        for member in ("VisibilityTimeout", "MessageRetentionPeriod"):
            if member in properties and actual.get(member) != str(properties[member]):
                yield f"{member} of the queue {queue} is {actual.get(member)}, not {properties[member]}."
        if "RedrivePolicy" in properties:
            yield from _redrive_problems(queue, actual, properties["RedrivePolicy"], resources, stage)
        elif (count := int(actual.get("ApproximateNumberOfMessages", 0))) > 0:
            yield Note(f"{queue} has {count} dead letters (docs/operate.md, Dead letters)")


def _redrive_problems(
    queue: str, actual: dict[str, str], declared: dict[str, Any], resources: dict[str, Any], stage: Deployment
) -> Iterator[str]:
    logical_id = declared["deadLetterTargetArn"]["Fn::GetAtt"][0]
    dead = resolve(resources[logical_id]["Properties"]["QueueName"], stage.name)
    policy = json.loads(actual.get("RedrivePolicy") or "{}")
    target = str(policy.get("deadLetterTargetArn", "")).rpartition(":")[2]
    if (target, int(policy.get("maxReceiveCount", 0))) != (dead, declared["maxReceiveCount"]):
        yield (
            f"The queue {queue} does not move messages to {dead} after {declared['maxReceiveCount']} receives: set its "
            "redrive policy as infra/template.yaml declares it."
        )
