"""An engine for tests that run a million requests: dictionaries of items, with the two operations of simple writes.

It takes a tenth of moto's time. A test that uses it must show that moto causes the same results.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError

from chalicelib.storage.client import connection
from tests import moto_tables

Item = dict[str, dict[str, Any]]


class DictionaryEngine:
    """The items of all tables, by table name and key."""

    def __init__(self) -> None:
        """Copy the items in moto's tables."""
        self._keys: dict[str, list[str]] = {}
        self.items: dict[str, dict[tuple[str, ...], Item]] = {}
        for name, table in moto_tables.tables().items():
            self._keys[name] = [one for one in (table.hash_key_attr, table.range_key_attr) if one]
            stored = [one.to_json()["Attributes"] for one in table.all_items()]
            self.items[name] = {self._key(name, one): one for one in stored}

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve the service's requests inside the block. Other operations still use moto."""
        with pytest.MonkeyPatch.context() as patch:
            client: Any = connection._client
            self._others = client._make_api_call
            patch.setattr(client, "_make_api_call", self._call)
            yield

    def _key(self, table: str, item: Item) -> tuple[str, ...]:
        return tuple(item[name]["S"] for name in self._keys[table])

    def _call(self, operation: str, arguments: dict[str, Any]) -> Any:
        if operation == "BatchGetItem":
            return {"Responses": {name: self._read(name, one) for name, one in arguments["RequestItems"].items()}}
        if operation != "PutItem":
            return self._others(operation, arguments)
        table, item = arguments["TableName"], arguments["Item"]
        stored = self.items[table].get(self._key(table, item))
        if not _holds(arguments, stored):
            error = {"Error": {"Code": "ConditionalCheckFailedException"}, "Item": stored}
            raise ClientError(error, operation)
        self.items[table][self._key(table, item)] = item
        return {}

    def _read(self, table: str, batch: Any) -> list[Item]:
        items = [self.items[table].get(self._key(table, key)) for key in batch["Keys"]]
        return [dict(item) for item in items if item]


def _holds(arguments: dict[str, Any], stored: Item | None) -> bool:
    """Return whether an optimistic lock holds. Raise ValueError for any other condition."""
    condition = arguments.get("ConditionExpression")
    if condition is None:
        return True
    if arguments["ExpressionAttributeNames"] != {"#0": "version_tag"}:
        raise ValueError("only optimistic locks are supported")
    tag = stored and stored["version_tag"]
    if condition == "attribute_not_exists (#0)":
        return tag is None
    if condition == "#0 = :0":
        return bool(tag == arguments["ExpressionAttributeValues"][":0"])
    raise ValueError("only optimistic locks are supported")
