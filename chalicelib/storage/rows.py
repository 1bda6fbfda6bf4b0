"""The base of every table: what an item is, its keys, how it is read, and its version tag.

Every partition key begins with a workspace id that came from a credential, so a record of another
workspace is not found rather than refused.
"""

from typing import Any, NamedTuple, TypeVar

from pynamodb.attributes import UnicodeAttribute
from pynamodb.connection.table import TableConnection
from pynamodb.models import Model

from chalicelib import settings
from chalicelib.storage.client import connection

_SEPARATOR = "#"  # no identifier may contain it, see http.identifier

AnyRow = TypeVar("AnyRow", bound="Row")


def table(name: str) -> str:
    """The physical name of a table of the template."""
    return settings.table_prefix() + name


def key(workspace_id: str, *parts: str) -> str:
    """A partition key: the workspace id first, then the identifiers that narrow it down."""
    return _SEPARATOR.join((workspace_id, *parts))


def split_key(partition: str) -> list[str]:
    """What a partition key was made of."""
    return partition.split(_SEPARATOR)


class Row(Model):
    """An item of a table."""

    @classmethod
    def _get_connection(cls) -> TableConnection:
        new = cls._connection is None
        own = super()._get_connection()
        if new:
            own.connection._client = connection._client
        return own

    @classmethod
    def from_raw_data(cls: type[AnyRow], data: dict[str, dict[str, Any]]) -> AnyRow:
        """The row of a stored item. A page has twenty: PynamoDB's own way goes over all attributes three times."""
        row = cls.__new__(cls)
        row.attribute_values = {}
        for name, attribute in cls.get_attributes().items():
            stored = data.get(name)
            if stored is not None and "NULL" not in stored:
                row.attribute_values[name] = attribute.deserialize(stored[attribute.attr_type])
            elif attribute.default is not None:
                row.attribute_values[name] = attribute.default
        return row

    @property
    def keys(self) -> tuple[str, ...]:
        """The item's partition key, and its sort key where the table has one."""
        names = (self._hash_keyname, self._range_keyname)
        return tuple([self.attribute_values[name] for name in names if name])

    @property
    def workspace_id(self) -> str:
        """The workspace that the item belongs to."""
        return split_key(self.keys[0])[0]

    def associated_data(self, attribute: str) -> str:
        """Where an attribute is stored; what is sealed for one place opens at no other."""
        return "/".join((self.Meta.table_name, *self.keys, attribute))

    def __repr__(self) -> str:
        # PynamoDB's own prints every value, and some of them are credentials.
        return f"{type(self).__name__}({'/'.join(self.keys)})"


class TaggedRow(Row):
    """An item with a version tag: a ULID, new at each write. Callers see it as the record's `ETag`."""

    version_tag = UnicodeAttribute()


class VersionedRow(TaggedRow):
    """An item that is read, changed and written under optimistic locking: only as it was read, by its version tag."""


class Key(NamedTuple):
    """One item to read: its row class, partition key and sort key."""

    row: type[Row]
    partition: str
    sort: str | None = None
