"""Create the template's tables, keys and queues using the SDK, for the local run and the tests.

A deployment creates them as a CloudFormation stack. This module omits deletion protection and point-in-time recovery.
"""

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from chalicelib import extensions as registry
from infra.extension_parts import template

Resources = dict[str, dict[str, Any]]
Sdk = Callable[[str], Any]
"""A function that creates an SDK client for a service name, like `boto3.client`."""

_TABLE_PROPERTIES = ("TableName", "BillingMode", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")
_KEY_PROPERTIES = ("Description", "KeySpec", "KeyUsage")


def declared(kind: str, extensions: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Return the unresolved properties of all resources of one type, such as `AWS::DynamoDB::Table`.

    `extensions` are the extensions to include, by default all that are present.
    """
    return [*_of_type(kind, template(extensions)["Resources"]).values()]


def create_missing(sdk: Sdk, prefix: str = "cams-") -> None:
    """Create all missing tables, queues and keys for core and the enabled extensions.

    Every table and queue name begins with `prefix`. This function is idempotent. It also adds indexes and streams that
    tables from earlier versions lack, and updates TTL and queue attributes that differ.
    """
    content = template([extension.name for extension in registry.enabled()])
    resources: Resources = content["Resources"]
    _create_tables(sdk("dynamodb"), prefix, resources)
    _create_keys(sdk("kms"), content["Parameters"]["Name"]["Default"], resources)
    _create_queues(sdk("sqs"), prefix, resources)


def _create_tables(dynamodb: Any, prefix: str, resources: Resources) -> None:
    existing = list_names(dynamodb)
    for properties in _of_type("AWS::DynamoDB::Table", resources).values():
        table = {name: properties[name] for name in _TABLE_PROPERTIES if name in properties}
        table["TableName"] = table_name(properties, prefix)
        if "StreamSpecification" in properties:
            table["StreamSpecification"] = {**properties["StreamSpecification"], "StreamEnabled": True}
        if table["TableName"] in existing:
            _add_missing(dynamodb, table)
        else:
            dynamodb.create_table(**table)
        if "TimeToLiveSpecification" in properties:
            enable_ttl(dynamodb, table["TableName"], properties["TimeToLiveSpecification"])


def _add_missing(dynamodb: Any, declaration: dict[str, Any]) -> None:
    """Add the indexes and the stream that an existing table lacks. An update creates at most one index."""
    table = {"TableName": declaration["TableName"]}
    current = dynamodb.describe_table(**table)["Table"]
    existing = {index["IndexName"] for index in current.get("GlobalSecondaryIndexes", ())}
    for index in declaration.get("GlobalSecondaryIndexes", ()):
        if index["IndexName"] not in existing:
            keys = {key["AttributeName"] for key in (*current["KeySchema"], *index["KeySchema"])}
            definitions = [
                definition for definition in declaration["AttributeDefinitions"] if definition["AttributeName"] in keys
            ]
            update = {"AttributeDefinitions": definitions, "GlobalSecondaryIndexUpdates": [{"Create": index}]}
            dynamodb.update_table(**table, **update)
    if "StreamSpecification" in declaration and "StreamSpecification" not in current:
        dynamodb.update_table(**table, StreamSpecification=declaration["StreamSpecification"])


def table_name(properties: dict[str, Any], prefix: str) -> str:
    """Return the name of a declared table."""
    return _name(properties["TableName"], prefix)


def list_names(dynamodb: Any) -> set[str]:
    """Return the names of all tables in the account."""
    return {name for page in dynamodb.get_paginator("list_tables").paginate() for name in page["TableNames"]}


def resolve(declared_name: Mapping[str, str], stack: str) -> str:
    """Return a declared name that contains the stack name, such as `cams-prod`."""
    return declared_name["Fn::Sub"].replace("${Name}", stack)


def enable_ttl(dynamodb: Any, table: str, specification: dict[str, Any]) -> None:
    """Enable TTL if it is not enabled. An interrupted run may have created the table without TTL."""
    current = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    if current["TimeToLiveStatus"] not in ("ENABLED", "ENABLING"):
        dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification=specification)


def _create_keys(kms: Any, stack: str, resources: Resources) -> None:
    existing = {one["AliasName"] for page in kms.get_paginator("list_aliases").paginate() for one in page["Aliases"]}
    for alias in _of_type("AWS::KMS::Alias", resources).values():
        name = resolve(alias["AliasName"], stack)
        if name not in existing:
            properties = resources[alias["TargetKeyId"]["Ref"]]["Properties"]
            key = kms.create_key(**{one: properties[one] for one in _KEY_PROPERTIES if one in properties})
            kms.create_alias(AliasName=name, TargetKeyId=key["KeyMetadata"]["KeyId"])


def _create_queues(sqs: Any, prefix: str, resources: Resources) -> None:
    queues = _of_type("AWS::SQS::Queue", resources)
    # CreateQueue is called without attributes, because it fails on an existing queue whose attributes differ.
    urls = {
        name: sqs.create_queue(QueueName=_name(properties["QueueName"], prefix))["QueueUrl"]
        for name, properties in queues.items()
    }
    current = {
        name: sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"] for name, url in urls.items()
    }
    for name, properties in queues.items():
        attributes = {member: str(value) for member, value in properties.items() if isinstance(value, int)}
        if "RedrivePolicy" in properties:
            attributes["RedrivePolicy"] = _redrive_policy(properties["RedrivePolicy"], current)
        if not attributes.items() <= current[name].items():
            sqs.set_queue_attributes(QueueUrl=urls[name], Attributes=attributes)


def _of_type(kind: str, resources: Resources) -> dict[str, dict[str, Any]]:
    """Return the properties of all resources of one type, keyed by logical id."""
    return {name: one.get("Properties", {}) for name, one in resources.items() if one["Type"] == kind}


def _redrive_policy(declared_policy: dict[str, Any], current: dict[str, dict[str, str]]) -> str:
    dead_letter_queue, _ = declared_policy["deadLetterTargetArn"]["Fn::GetAtt"]
    return json.dumps({**declared_policy, "deadLetterTargetArn": current[dead_letter_queue]["QueueArn"]})


def _name(declared_name: dict[str, str], prefix: str) -> str:
    return declared_name["Fn::Sub"].replace("${Name}-", prefix)
