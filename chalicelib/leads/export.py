"""The export of leads: NDJSON with whole records, or CSV for a spreadsheet."""

import json
from collections.abc import Iterable

from chalicelib import clock
from chalicelib.http import files

COLUMNS = ("id", "agentId", "agentName", "name", "email", "phone", "channel", "createdAt")


def text(records: Iterable[str], form: str) -> str:
    """The lines of records, which are JSON texts."""
    return "".join(map(_row if form == files.CSV else _line, records))


def _line(record: str) -> str:
    return f"{record}\n"


def _row(record: str) -> str:
    lead = json.loads(record)
    cells = {**lead, "createdAt": clock.iso(lead["createdAt"] // 1000)}
    return files.csv_line(cells.get(name) for name in COLUMNS)
