"""The base classes of all rows: keys, deserialisation, associated data and version tags.

The partition key of a workspace's row begins with the credential's workspace id, so no request can find another
workspace's record. Credentials and sign-in attempts are found by a hash, and data keys by their id.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeVar

from pynamodb.attributes import UnicodeAttribute
from pynamodb.connection.table import TableConnection
from pynamodb.models import Model

from chalicelib import settings
from chalicelib.storage.client import connection

_SEPARATOR = "#"  # `ids.IDENTIFIER` excludes it

AnyRow = TypeVar("AnyRow", bound="Row")


def table(name: str) -> str:
    """Return a table's physical name: the configured prefix and the table's name in the template."""
    return settings.table_prefix() + name


def join_key(*parts: str) -> str:
    """Join the parts of a partition key or sort key with `#`."""
    return _SEPARATOR.join(parts)


def split_key(key: str) -> list[str]:
    """Return the parts of a key that `join_key` built."""
    return key.split(_SEPARATOR)


def associated_data(table: str, keys: Sequence[str], attribute: str) -> str:
    """Return an encrypted attribute's associated data (AAD): its table, item key and name.

    `table` is the name in the template without the stage's prefix, so that another stage can read a restored table.
    """
    return "/".join((table, *keys, attribute))


@cache
def logical_name(table_name: str) -> str:
    """Return the template's name for the table with this physical name."""
    return table_name.removeprefix(settings.table_prefix())


@cache
def _defaults(row: type["Row"]) -> dict[str, Any]:
    """Return the values of attributes that a stored item does not have."""
    return {name: one.default for name, one in row.get_attributes().items() if one.default is not None}


class Lifecycle(NamedTuple):
    """A row class's keys and lifecycle. docs/storage.md lists the keys. Tests compare both with the code.

    Key patterns consist of literal parts, `{placeholders}` and alternatives (` or `). A row is deleted with its
    `owner`: an `agent`, a `conversation` or the `workspace`. A row owned by the `stage` remains or expires. `export`
    and `erasure` are the export and erasure kinds that include the row, or `no: ` and the reason.
    """

    partition: str
    sort: str
    owner: str
    export: str
    erasure: str


class Row(Model):
    """A table item. Only a class that reads other classes' rows has no `lifecycle`."""

    lifecycle: ClassVar[Lifecycle]
    _hash_keyname: str

    @classmethod
    def _get_connection(cls) -> TableConnection:
        is_new = cls._connection is None
        table_connection = super()._get_connection()
        if is_new:  # all models share one SDK client
            table_connection.connection._client = connection._client
        return table_connection

    @classmethod
    def from_raw_data(cls: type[AnyRow], data: dict[str, dict[str, Any]]) -> AnyRow:
        """Return the row for a stored item. PynamoDB's method takes more time for absent attributes."""
        row = cls.__new__(cls)
        attributes = cls.get_attributes()
        row.attribute_values = dict(_defaults(cls))
        for name, stored in data.items():
            if name in attributes and "NULL" not in stored:
                attribute = attributes[name]
                row.attribute_values[name] = attribute.deserialize(stored[attribute.attr_type])
        return row

    def serialize(self, null_check: bool = True) -> dict[str, dict[str, Any]]:
        """Return the item to store. Raise ValueError for a missing value. PynamoDB's method takes far longer."""
        item: dict[str, dict[str, Any]] = {}
        for name, attribute in self.get_attributes().items():
            value = self.attribute_values.get(name)
            serialized = None if value is None else attribute.serialize(value)
            if serialized is not None:  # an empty set has no serialised form
                item[name] = {attribute.attr_type: serialized}
            elif null_check and not attribute.null:
                raise ValueError(f"The attribute {name} has no value.")
        return item

    @classmethod
    def raw_key(cls, partition: str, sort: str | None = None) -> dict[str, dict[str, str]]:
        """Return an item's key as a request contains it. All keys are texts."""
        key = {cls._hash_keyname: {"S": partition}}
        return key if sort is None or cls._range_keyname is None else {**key, cls._range_keyname: {"S": sort}}

    @property
    def keys(self) -> tuple[str, ...]:
        """The item's partition key and, if the table has one, its sort key."""
        partition, sort_name = self.attribute_values[self._hash_keyname], self._range_keyname
        return (partition, self.attribute_values[sort_name]) if sort_name else (partition,)

    @property
    def workspace_id(self) -> str:
        """The workspace id in the partition key."""
        return split_key(self.attribute_values[self._hash_keyname])[0]

    @property
    def position(self) -> str:
        """The sort key, after which a list cursor continues."""
        return self.keys[-1]

    def associated_data(self, attribute: str) -> str:
        """Return an encrypted attribute's associated data (AAD)."""
        return associated_data(logical_name(self.Meta.table_name), self.keys, attribute)

    def __repr__(self) -> str:
        # PynamoDB's repr prints every value, and some values are credentials. Keys contain ids, which may be emails.
        return f"{type(self).__name__}({self.workspace_id})"


class TaggedRow(Row):
    """An item with a version tag: a ULID that is replaced on every write. Callers see it as the record's `ETag`."""

    version_tag = UnicodeAttribute()


class VersionedRow(TaggedRow):
    """An item with optimistic locking: a write succeeds only if the item still has the version tag that was read."""


class Key(NamedTuple):
    """The key of one item: its row class, partition key and sort key.

    `find_many` reads the item strongly consistently, or eventually consistently at half the cost.
    """

    row: type[Row]
    partition: str
    sort: str | None = None
    consistent: bool = True
