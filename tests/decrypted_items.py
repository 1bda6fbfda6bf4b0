"""All stored items with their encrypted attributes decrypted, as a holder of the keys could read them.

A test fails on a binary attribute that cannot be decrypted, unless the attribute is known to contain no record.
"""

import base64
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import boto3
from moto.sqs.models import sqs_backends

from chalicelib import storage
from chalicelib.conversations import store as conversations
from chalicelib.storage import encryption, stored_responses
from chalicelib.storage.rows import associated_data
from tests import moto_tables

# Wrapped data keys.
_NOT_SEALED = {"keyring"}
Item = dict[str, dict[str, Any]]


class DecryptedItem(NamedTuple):
    """An item: its table name without the prefix, its keys, and all its attributes as one text."""

    table: str
    keys: list[str]
    text: str


def items() -> list[DecryptedItem]:
    """Return every item of every table."""
    held = moto_tables.items()
    return [_decrypted_item(name, item) for name in held for item in held[name]]


def _decrypted_item(table_name: str, item: Item) -> DecryptedItem:
    keys = [item[one["AttributeName"]]["S"] for one in moto_tables.tables()[table_name].schema]
    return DecryptedItem(table_name.removeprefix(storage.table("")), keys, text_of(table_name, item))


def text_of(table_name: str, item: Item) -> str:
    """Return an item as one text, with its encrypted attributes decrypted."""
    table = table_name.removeprefix(storage.table(""))
    keys = [item[one["AttributeName"]]["S"] for one in moto_tables.tables()[table_name].schema]
    parts = []
    for name, value in item.items():
        ((kind, inner),) = value.items()
        if kind == "B" and table not in _NOT_SEALED:
            raw = inner if isinstance(inner, bytes) else base64.b64decode(inner)
            parts.append(f"{name}={_open(table, keys, name, raw, item)}")
        else:
            parts.append(f"{name}={inner}")
    return "\n".join(parts)


def _open(table: str, keys: list[str], name: str, sealed: bytes, item: Item) -> str:
    workspace_id = storage.split_key(keys[0])[0]
    if table == "conversations" and name == "received":
        image = {one: {kind: base64.b64decode(inner) if kind == "B" and isinstance(inner, str) else inner}
                 for one, value in item.items() for kind, inner in value.items()}  # fmt: skip
        return json.dumps(conversations.read_received(image), ensure_ascii=False)
    if table == "idempotency" and name == "piece":
        return _open_pieces(keys)
    decrypted = encryption.unseal(workspace_id, associated_data(table, keys, name), sealed)
    return decrypted.decode(errors="replace")


def _open_pieces(keys: list[str]) -> str:
    """Return the stored response body that a piece belongs to, joined from all pieces of the same write."""
    writing = storage.split_key(keys[1])[0]
    rows = storage.query(stored_responses.PieceRow, keys[0], stored_responses.PieceRow.part.startswith(f"{writing}#"))
    sealed = b"".join(row.piece for row in rows)
    place = associated_data("idempotency", [keys[0], "answer"], "body")
    return encryption.unseal(rows[0].workspace_id, place, sealed).decode()


def stream_records() -> Iterator[tuple[str, float, str]]:
    """Yield the table, the Unix time of the change, and the text of each image in each stream record."""
    dynamodb, streams = boto3.client("dynamodb"), boto3.client("dynamodbstreams")
    for name, table in moto_tables.tables().items():
        if table.stream_shard is None:
            continue
        arn = dynamodb.describe_table(TableName=name)["Table"]["LatestStreamArn"]
        place = {"StreamArn": arn, "ShardId": table.stream_shard.id, "ShardIteratorType": "TRIM_HORIZON"}
        iterator = streams.get_shard_iterator(**place)["ShardIterator"]
        while records := (answer := streams.get_records(ShardIterator=iterator, Limit=1000))["Records"]:
            for changed in (one["dynamodb"] for one in records):
                for image in filter(None, (changed.get("OldImage"), changed.get("NewImage"))):
                    yield name, changed["ApproximateCreationDateTime"].timestamp(), text_of(name, image)
            iterator = answer["NextShardIterator"]


def messages() -> Iterator[tuple[str, str]]:
    """Yield every message in every queue, including delayed messages and messages in flight."""
    for name, queue in sqs_backends["123456789012"]["eu-west-1"].queues.items():
        for message in queue._messages:
            yield name, message.body
