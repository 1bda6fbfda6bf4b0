"""What Lambda hands a function for records of a stream and messages of a queue, made of what the SDK answers. Pure.

https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html and …/with-sqs.html have the shapes.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

Event = dict[str, list[dict[str, Any]]]

_OF_RECORD = ("eventID", "eventName", "eventVersion", "eventSource", "awsRegion")


def of_records(records: Sequence[Mapping[str, Any]], stream_arn: str) -> Event:
    """The event for records of GetRecords."""
    return {"Records": [_record(record, stream_arn) for record in records]}


def of_messages(messages: Sequence[Mapping[str, Any]], queue_arn: str) -> Event:
    """The event for messages of ReceiveMessage."""
    return {"Records": [_message(message, queue_arn) for message in messages]}


def _record(record: Mapping[str, Any], stream_arn: str) -> dict[str, Any]:
    made = {name: record[name] for name in _OF_RECORD}
    made |= {"eventSourceARN": stream_arn, "dynamodb": _as_json(record["dynamodb"])}
    if identity := record.get("userIdentity"):
        made["userIdentity"] = _from_small_letter(identity)
    return made


def _message(message: Mapping[str, Any], queue_arn: str) -> dict[str, Any]:
    attributes = message.get("MessageAttributes", {})
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {name: _from_small_letter(_as_json(value)) for name, value in attributes.items()},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": queue_arn.split(":")[3],
    }


def _as_json(value: Any) -> Any:
    """A value of the SDK as the event has it: bytes are base64, a time is in seconds."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, Mapping):
        return {name: _as_json(inner) for name, inner in value.items()}
    return [_as_json(inner) for inner in value] if isinstance(value, list | tuple | set) else value


def _from_small_letter(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name[0].lower() + name[1:]: value for name, value in members.items()}
