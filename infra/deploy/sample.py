"""Decrypts a sample of each table of a stage: `python -m infra.deploy.sample`, in the environment of the stage.

Prints the number of records read and the number of attributes decrypted. Fails with one sentence if one does not
decrypt.
"""

from __future__ import annotations

import sys
from typing import Any

from chalicelib import settings
from chalicelib.conversations import store as conversations
from chalicelib.storage import encryption, layouts, rows, sdk_client
from infra.tables import declared, table_name

_RECORDS = 100  # of each table, at most; a scan reads a megabyte
# The wrapped keys of the keyring, and the parts of a long sealed response.
_NOT_SEALED = ("wrapped", "piece")


def main() -> None:
    """Check every table of the template."""
    records = attributes = 0
    prefix = settings.table_prefix()
    for properties in declared("AWS::DynamoDB::Table"):
        name = table_name(properties, prefix)
        names = [one["AttributeName"] for one in properties["KeySchema"]]
        for item in sdk_client("dynamodb").scan(TableName=name, Limit=_RECORDS)["Items"]:
            records += 1
            try:
                attributes += _decrypt(name.removeprefix(prefix), [item[one]["S"] for one in names], item)
            except encryption.DecryptionError:
                sys.exit(f"A record of {name} cannot be decrypted with the keys in {prefix}keyring.")
            except layouts.UnknownLayout:
                sys.exit(f"A newer version has stored a record of {name}: restore with that version.")
    sys.stdout.write(f"{records} records, {attributes} decrypted attributes\n")


def _decrypt(table: str, keys: list[str], item: dict[str, Any]) -> int:
    """Decrypt the sealed attributes of an item; returns their number. Raises DecryptionError."""
    sealed = {name: value["B"] for name, value in item.items() if "B" in value and name not in _NOT_SEALED}
    for name, value in sealed.items():
        if name == "received":
            conversations.read_received(item)
        else:
            encryption.unseal(rows.split_key(keys[0])[0], rows.associated_data(table, keys, name), value)
    return len(sealed)


if __name__ == "__main__":
    main()
