"""The CSV file of usage, which has a line for each agent and day, with the agent's organisations."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from chalicelib import clock
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.figure_pages import usage_records
from chalicelib.extensions.console.figure_pages.usage_records import COUNTS
from chalicelib.extensions.console.presentation.template_filters import display_name, truncate
from chalicelib.http import files
from chalicelib.storage import Document, encode_json

MAX_PAGES = 10
"""The maximum number of pages of 20 agents in a file. Each agent costs two requests."""
# The size in bytes, as the JSON string in a Lambda response, after which a file has no further page of agents.
_MAX_BYTES = 2_000_000
_MAX_NAME = 50
_COLUMNS = ("organisation", "organisationId", "agent", "agentId", "day", *COUNTS)


class UsageFile(NamedTuple):
    """The text of a file, and the cursor of the next file if this one has no space for all agents."""

    text: str
    next_cursor: str | None


def read(
    session: Session,
    query: dict[str, str],
    organisations: Sequence[Document],
    agent_ids: Sequence[str] | None,
    cursor: str | None,
) -> UsageFile:
    """Return the file of these agents or else of all agents. Raise InvalidPeriod.

    In addition to the usage, this costs one request per page of 20 agents for their names.
    """
    text = files.heading(files.CSV, _COLUMNS)
    for _ in range(MAX_PAGES):
        page = usage_records.read(query, agent_ids, cursor)
        text += "".join(map(files.csv_line, _lines(session, page["data"], organisations)))
        cursor = page.get("nextCursor")
        if cursor is None or len(encode_json(text)) > _MAX_BYTES:
            break
    return UsageFile(text, cursor)


def _lines(
    session: Session, records: Sequence[Document], organisations: Sequence[Document]
) -> Iterator[tuple[Any, ...]]:
    usage_records.add_titles(session, records)
    for record in records:
        agent_id = record.get("agentId")
        own = [
            one for one in organisations if agent_id in (one.get("widgetIDs") or ()) and not record.get("isReplaced")
        ]
        names = _joined(truncate(display_name(one, "name", "ID"), _MAX_NAME) for one in own)
        cells = (
            names,
            _joined(one["ID"] for one in own),
            truncate(record.get("title", ""), _MAX_NAME),
            agent_id,
        )
        for day in record["days"]:
            yield *cells, clock.iso(day["from"])[:10], *(day[name] for name in COUNTS)


def _joined(texts: Iterable[str]) -> str:
    """Join the names or ids of an agent's organisations in one cell."""
    return ", ".join(texts)
