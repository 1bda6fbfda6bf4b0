"""Each row class declares how its rows are exported, erased and deleted. docs/storage.md lists the row classes.

`CAMS_UPDATE_DOCS=1 make test ARGS=tests/storage/test_stored_rows.py` writes the tables.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pynamodb.attributes import BinaryAttribute, TTLAttribute

from chalicelib import extensions
from infra.extension_parts import modules
from infra.operator import records
from infra.tables import declared, table_name
from tests import generated_docs
from tests.storage.row_classes import RowClass, attributes_of, extension_of, keys_of, row_classes, table_of

ROOT = Path(__file__).parents[2]
PAGE = "docs/storage.md"
ENABLED = [extension.name for extension in extensions.enabled()]
TABLES = {table_name(one, ""): one for one in declared("AWS::DynamoDB::Table", ENABLED)}
CORE_TABLES = {table_name(one, ""): one for one in declared("AWS::DynamoDB::Table", [])}
INDEXES = "GlobalSecondaryIndexes"
OWNERS = {"agent", "conversation", "workspace", "stage"}
COLUMNS = ("Table", "Row", "Keys", "Sealed", "Plain", "TTL")


def test_every_row_class_declares_its_lifecycle() -> None:
    assert not [row.__name__ for row in row_classes() if "lifecycle" not in vars(row)]
    assert {row.lifecycle.owner for row in row_classes()} == OWNERS
    assert not [row for row in row_classes() if bool(row.lifecycle.sort) != (len(keys_of(row)) == 2)]


def test_every_index_of_a_table_has_a_class() -> None:
    """`test_template` compares the classes' indexes, including their keys, with the template."""
    of_template = {(name, one["IndexName"]) for name, table in TABLES.items() for one in table.get(INDEXES, ())}
    assert of_template == {(table_of(row), name) for row in row_classes() for name in row._indexes}


def test_the_kinds_of_an_export_are_those_of_the_rows() -> None:
    assert kinds("export") == records.KINDS.keys()


def kinds(member: str) -> set[str]:
    values = {getattr(row.lifecycle, member) for row in row_classes()}
    return {value for value in values if not value.startswith("no: ")}


def test_switching_an_extension_off_deletes_its_rows_in_tables_of_core() -> None:
    """Rows that always expire need not be deleted."""
    of_extensions = [row for row in row_classes() if extension_of(row) and table_of(row) in CORE_TABLES]
    lasting = {row for row in of_extensions if not expires(row)}
    for row in lasting:
        (data,) = modules("data", [extension_of(row)])
        assert {*records.row_prefixes(row)} <= {*data.ROWS}, row


def expires(row: RowClass) -> bool:
    """Return whether all of a class's rows expire."""
    return ttl(row) == "every"


def ttl(row: RowClass) -> str:
    """Return which of a class's rows expire: `every`, `some`, or an empty string for none."""
    expiry = [one for one in attributes_of(row).values() if isinstance(one, TTLAttribute)]
    return "" if not expiry else "some" if expiry[0].null else "every"


def test_the_page_lists_every_row_of_core() -> None:
    rows = [row for row in row_classes() if not extension_of(row)]
    rows.sort(key=lambda row: [*CORE_TABLES].index(table_of(row)))
    generated_docs.check(PAGE, "core", "\n".join([row_table(rows), index_table(CORE_TABLES)]))


@pytest.mark.parametrize("extension", ENABLED)
def test_the_page_lists_every_row_of_an_extension(extension: str) -> None:
    rows = [row for row in row_classes() if extension_of(row) == extension]
    own = {table_of(row): TABLES[table_of(row)] for row in rows if table_of(row) not in CORE_TABLES}
    if rows:
        generated_docs.check(PAGE, extension, "\n".join(filter(None, [row_table(rows), index_table(own)])))


def row_table(rows: Iterable[RowClass]) -> str:
    return generated_docs.table(COLUMNS, map(cells, rows))


def index_table(tables: dict[str, dict[str, Any]]) -> str:
    rows = []
    for table, declaration in tables.items():
        for index in declaration.get(INDEXES, ()):
            keys = names(key["AttributeName"] for key in index["KeySchema"])
            projection = index["Projection"]
            kind = projection["ProjectionType"].lower().replace("_", " ")
            content = names(projection.get("NonKeyAttributes", ())) or kind
            rows.append([table, f"`{index['IndexName']}`", keys, content])
    return generated_docs.table(["Table", "Index", "Keys", "Contains"], rows) if rows else ""


def cells(row: RowClass) -> list[str]:
    attributes = row.get_attributes()
    forms = zip(keys_of(row), row.lifecycle[:2], strict=False)
    others = {name: f"{name}{'?' * bool(one.null)}" for name, one in sorted(attributes_of(row).items())}
    sealed = [shown for name, shown in others.items() if isinstance(attributes[name], BinaryAttribute)]
    plain = [shown for shown in others.values() if shown not in sealed]
    return [
        table_of(row),
        f"`{row.__name__}`",
        "<br>".join(f"`{name}`: {names(form.split(' or '))}" for name, form in forms),
        names(sealed),
        names(plain),
        ttl(row),
    ]


def names(values: Iterable[str]) -> str:
    return ", ".join(f"`{value}`" for value in values)
