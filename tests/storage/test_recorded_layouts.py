"""This version reads every layout's recorded rows, and derives the recorded responses and events from them.

`CAMS_RECORD_LAYOUT=1 make test ARGS=tests/storage/test_recorded_layouts.py` records a new layout's rows. Do this once,
before the first release that writes the layout. Never change recorded rows.
"""

import json
import os
from base64 import b64decode
from collections import Counter
from typing import Any

import pytest

from chalicelib import extensions, storage
from chalicelib.storage import layouts
from infra.deploy import sample
from infra.tables import declared, table_name
from tests.capacity import Item
from tests.storage import recorded_rows

# These tables were added after the recordings, and store no layout.
LATER: dict[str, list[Item]] = {"history": []} if extensions.has("history") else {}


def load(layout: int) -> dict[str, Any]:
    path = recorded_rows.path_of(layout)
    if not path.exists() and os.environ.get("CAMS_RECORD_LAYOUT"):
        recorded_rows.write(layout)
    assert path.exists(), f"{path.name} is missing: record it with CAMS_RECORD_LAYOUT=1"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("layout", layouts.READABLE)
def test_recorded_rows_read_as_when_they_were_written(layout: int, capsys: pytest.CaptureFixture[str]) -> None:
    rows = load(layout)
    with recorded_rows.restored(rows) as api:
        capsys.readouterr()
        sample.main()
        tables = {**LATER, **rows["tables"]}
        assert {*capsys.readouterr().out.splitlines()} == {*map(sampled, tables, tables.values())}
        then = rows["read"]
        recorded_rows.check_shown(then, recorded_rows.read(api, then["answers"]))


@pytest.mark.parametrize("layout", layouts.READABLE)
def test_the_recorded_rows_are_of_every_table_and_attribute_and_of_one_layout(layout: int) -> None:
    tables = load(layout)["tables"]
    assert tables.keys() | LATER.keys() == {table_name(one, "") for one in declared("AWS::DynamoDB::Table")}
    assert all(tables.values())
    sealed = {name: b64decode(value["B"])[0] for items in tables.values() for name, value in binaries(items)}
    assert set(sealed.values()) == {layout}
    assert sealed.keys() == {"document", "summary", "metadata", "turns", "part", "received", "load", "convo", "body"}
    # New messages are stored in one of two ways: with or without an expiry time.
    assert {"expires_at" in item for item in tables["conversations"] if "received" in item} == {True, False}


def sampled(table: str, items: list[Item]) -> str:
    """Return the line that the restore check prints for a table if it decrypts the whole table."""
    names = ["wrapped" for _ in items] if table == "keyring" else [name for name, _ in binaries(items)]
    found = ", ".join(f"{count} {name}" for name, count in sorted(Counter(names).items()))
    return f"{storage.table(table)}: {len(items)} records, decrypted attributes: {found or 'none'}"


def binaries(items: list[Item]) -> list[tuple[str, Any]]:
    named = [one for item in items for one in item.items()]
    return [(name, value) for name, value in named if "B" in value and name not in sample._NOT_SEALED]
