"""Convert SDK responses into the events that Lambda passes to functions. This module has no side effects.

https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html and …/with-sqs.html document the events.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

Event = dict[str, list[dict[str, Any]]]

_RECORD_MEMBERS = ("eventID", "eventName", "eventVersion", "eventSource", "awsRegion")


def from_records(records: Sequence[Mapping[str, Any]], stream_arn: str) -> Event:
    """Return the event for the records in a GetRecords response."""
    return {"Records": [_record(record, stream_arn) for record in records]}


def from_messages(messages: Sequence[Mapping[str, Any]], queue_arn: str) -> Event:
    """Return the event for the messages in a ReceiveMessage response."""
    return {"Records": [_message(message, queue_arn) for message in messages]}


def _record(record: Mapping[str, Any], stream_arn: str) -> dict[str, Any]:
    converted = {name: record[name] for name in _RECORD_MEMBERS}
    converted |= {"eventSourceARN": stream_arn, "dynamodb": _as_json(record["dynamodb"])}
    if identity := record.get("userIdentity"):
        converted["userIdentity"] = _lower_initials(identity)
    return converted


def _message(message: Mapping[str, Any], queue_arn: str) -> dict[str, Any]:
    attributes = message.get("MessageAttributes", {})
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {name: _lower_initials(_as_json(value)) for name, value in attributes.items()},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": queue_arn.split(":")[3],
    }


def _as_json(value: Any) -> Any:
    """Return an SDK value as JSON: bytes become base64 text, and times become Unix seconds."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, Mapping):
        return {name: _as_json(inner) for name, inner in value.items()}
    return [_as_json(inner) for inner in value] if isinstance(value, list | tuple | set) else value


def _lower_initials(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name[0].lower() + name[1:]: value for name, value in members.items()}
