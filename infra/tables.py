"""Creates the tables, key and queues of the template through the SDK, for the local run and the tests.

A deployment creates them as a CloudFormation stack. This module omits deletion protection and point-in-time recovery.
"""

import json
from collections.abc import Callable
from typing import Any

from infra.extension_parts import template

Sdk = Callable[[str], Any]
"""Creates an SDK client for a service name, like `boto3.client`."""

_TABLE_PROPERTIES = ("TableName", "BillingMode", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")
_KEY_PROPERTIES = ("Description", "KeySpec", "KeyUsage")


def declared(kind: str) -> list[dict[str, Any]]:
    """The properties of all resources with one type, such as `AWS::DynamoDB::Table`, unresolved."""
    return [one.get("Properties", {}) for one in template()["Resources"].values() if one["Type"] == kind]


def create_missing(sdk: Sdk, prefix: str = "cams-") -> None:
    """Create all missing tables, queues and keys. Idempotent.

    `prefix` starts the name of each table and queue. Also adds the indexes and streams that a table of an earlier
    version lacks, and updates TTL and queue attributes that differ.
    """
    _create_tables(sdk("dynamodb"), prefix)
    _create_keys(sdk("kms"))
    _create_queues(sdk("sqs"), prefix)


def _create_tables(dynamodb: Any, prefix: str) -> None:
    existing = {name for page in dynamodb.get_paginator("list_tables").paginate() for name in page["TableNames"]}
    for properties in declared("AWS::DynamoDB::Table"):
        wanted = {name: properties[name] for name in _TABLE_PROPERTIES if name in properties}
        wanted["TableName"] = table_name(properties, prefix)
        if "StreamSpecification" in properties:
            wanted["StreamSpecification"] = {**properties["StreamSpecification"], "StreamEnabled": True}
        if wanted["TableName"] in existing:
            _add_missing(dynamodb, wanted)
        else:
            dynamodb.create_table(**wanted)
        if "TimeToLiveSpecification" in properties:
            enable_ttl(dynamodb, wanted["TableName"], properties["TimeToLiveSpecification"])


def _add_missing(dynamodb: Any, wanted: dict[str, Any]) -> None:
    """Add the indexes and the stream that an existing table lacks. An update creates at most one index."""
    table = {"TableName": wanted["TableName"]}
    current = dynamodb.describe_table(**table)["Table"]
    existing = {one["IndexName"] for one in current.get("GlobalSecondaryIndexes", ())}
    for index in wanted.get("GlobalSecondaryIndexes", ()):
        if index["IndexName"] not in existing:
            keys = {one["AttributeName"] for one in (*current["KeySchema"], *index["KeySchema"])}
            definitions = [one for one in wanted["AttributeDefinitions"] if one["AttributeName"] in keys]
            update = {"AttributeDefinitions": definitions, "GlobalSecondaryIndexUpdates": [{"Create": index}]}
            dynamodb.update_table(**table, **update)
    if "StreamSpecification" in wanted and "StreamSpecification" not in current:
        dynamodb.update_table(**table, StreamSpecification=wanted["StreamSpecification"])


def table_name(properties: dict[str, Any], prefix: str) -> str:
    """The name of a declared table."""
    return _name(properties["TableName"], prefix)


def enable_ttl(dynamodb: Any, table: str, wanted: dict[str, Any]) -> None:
    """Enable TTL if it is not enabled. An interrupted run may have created the table without it."""
    current = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    if current["TimeToLiveStatus"] not in ("ENABLED", "ENABLING"):
        dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification=wanted)


def _create_keys(kms: Any) -> None:
    existing = {one["AliasName"] for page in kms.get_paginator("list_aliases").paginate() for one in page["Aliases"]}
    for alias in declared("AWS::KMS::Alias"):
        name = alias["AliasName"]["Fn::Sub"].replace("${Name}", template()["Parameters"]["Name"]["Default"])
        if name not in existing:
            properties = template()["Resources"][alias["TargetKeyId"]["Ref"]]["Properties"]
            key = kms.create_key(**{one: properties[one] for one in _KEY_PROPERTIES if one in properties})
            kms.create_alias(AliasName=name, TargetKeyId=key["KeyMetadata"]["KeyId"])


def _create_queues(sqs: Any, prefix: str) -> None:
    queues = {name: one for name, one in template()["Resources"].items() if one["Type"] == "AWS::SQS::Queue"}
    # Without attributes, because CreateQueue fails on an existing queue whose attributes differ.
    urls = {
        name: sqs.create_queue(QueueName=_name(one["Properties"]["QueueName"], prefix))["QueueUrl"]
        for name, one in queues.items()
    }
    current = {
        name: sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"] for name, url in urls.items()
    }
    for name, one in queues.items():
        properties = one["Properties"]
        wanted = {member: str(value) for member, value in properties.items() if isinstance(value, int)}
        if "RedrivePolicy" in properties:
            wanted["RedrivePolicy"] = _redrive_policy(properties["RedrivePolicy"], current)
        if not wanted.items() <= current[name].items():
            sqs.set_queue_attributes(QueueUrl=urls[name], Attributes=wanted)


def _redrive_policy(declared_policy: dict[str, Any], current: dict[str, dict[str, str]]) -> str:
    dead_letter_queue, _ = declared_policy["deadLetterTargetArn"]["Fn::GetAtt"]
    return json.dumps({**declared_policy, "deadLetterTargetArn": current[dead_letter_queue]["QueueArn"]})


def _name(declared_name: dict[str, str], prefix: str) -> str:
    return declared_name["Fn::Sub"].replace("${Name}-", prefix)
