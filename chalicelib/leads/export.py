"""Lead exports: NDJSON with whole records, or CSV for spreadsheets."""

import json
from collections.abc import Iterable

from chalicelib import clock
from chalicelib.http import files

COLUMNS = ("id", "agentId", "agentName", "name", "email", "phone", "channel", "createdAt")


def text(records: Iterable[str], form: str) -> str:
    """Return the file's lines for these records, which are JSON texts."""
    return "".join(map(_row if form == files.CSV else "{}\n".format, records))


def _row(record: str) -> str:
    lead = json.loads(record)
    captured = lead.get("createdAt")
    cells = {**lead, "createdAt": clock.iso_or_none(captured, units=1000) or captured}
    return files.csv_line(cells.get(name) for name in COLUMNS)
