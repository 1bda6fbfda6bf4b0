"""Decrypt a sample from each table of a stage: `python -m infra.deploy.sample` in the stage's environment.

For each table, print the number of records read, and how often each attribute was decrypted. Exit with a one-sentence
error if an attribute cannot be decrypted.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib import errors, extensions, settings
from chalicelib.conversations import store as conversations
from chalicelib.conversations import transcript
from chalicelib.conversations.rows import CONVERSATION_ITEM
from chalicelib.storage import ConditionFailed, encryption, keyring, layouts, rows, sdk_client
from infra.deploy import sdk_errors
from infra.tables import declared, table_name

# Number of scan segments per table. Segments divide the keys by their hash, so no single partition fills the sample.
_SEGMENTS = 10
# Each segment is read until this many of its records have a sealed attribute, or for at most this many 1 MB pages.
_RECORDS, _PAGES = 20, 8
# The keyring's wrapped keys, and the pieces of long sealed responses.
_NOT_SEALED = ("wrapped", "piece")

Item = dict[str, dict[str, Any]]


def main() -> None:
    """Check every table in the template."""
    prefix = settings.table_prefix()
    enabled = [extension.name for extension in extensions.enabled()]
    for properties in declared("AWS::DynamoDB::Table", enabled):
        name = table_name(properties, prefix)
        try:
            records, decrypted = _check(name.removeprefix(prefix), name, properties["KeySchema"])
        except encryption.DecryptionError:
            sys.exit(f"A record of {name} cannot be decrypted with the keys in {prefix}keyring.")
        except layouts.UnknownLayout:
            sys.exit(f"A newer version has stored a record of {name}: restore with that version.")
        except ConditionFailed:
            sys.exit(f"A conversation in {name} lacks part of its transcript.")
        except errors.Unavailable as error:
            sys.exit(f"A record of {name} cannot be decrypted: {error.message}")
        except (BotoCoreError, ClientError) as error:
            sys.exit(f"{name}: {sdk_errors.sentence(error)}")
        found = ", ".join(f"{count} {attribute}" for attribute, count in sorted(decrypted.items()))
        sys.stdout.write(f"{name}: {records} records, decrypted attributes: {found or 'none'}\n")


def _check(table: str, name: str, schema: list[dict[str, str]]) -> tuple[int, Counter[str]]:
    """Decrypt a sample of a table. Return the record count, and the count of decrypted attributes by name."""
    records, decrypted = 0, Counter[str]()
    for item in _sample(name):
        records += 1
        decrypted.update(decrypt(table, [item[key["AttributeName"]]["S"] for key in schema], item))
    return records, decrypted


def _sample(name: str) -> Iterator[Item]:
    scan = sdk_client("dynamodb").get_paginator("scan")
    for segment in range(_SEGMENTS):
        sealed = 0
        for page in islice(scan.paginate(TableName=name, Segment=segment, TotalSegments=_SEGMENTS), _PAGES):
            yield from page["Items"]
            sealed += sum(bool(_sealed(item)) for item in page["Items"])
            if sealed >= _RECORDS:
                break


def _sealed(item: Item) -> dict[str, bytes]:
    return {name: value["B"] for name, value in item.items() if "B" in value and name not in _NOT_SEALED}


def decrypt(table: str, keys: list[str], item: Item) -> list[str]:
    """Decrypt the sealed attributes of an item; return their names. Raise DecryptionError."""
    sealed = _sealed(item)
    for name, value in sealed.items():
        if name == "received":
            conversations.read_received(item)
        else:
            encryption.unseal(rows.split_key(keys[0])[0], rows.associated_data(table, keys, name), value)
    if table == "conversations" and keys[1] == CONVERSATION_ITEM:
        json.loads(transcript.read_state(conversations.ConversationRow.from_raw_data(item)).turns)
    if table == "keyring":
        keyring.find(bytes.fromhex(item["key_id"]["S"]))
        return ["wrapped"]
    return [*sealed]


if __name__ == "__main__":
    main()
