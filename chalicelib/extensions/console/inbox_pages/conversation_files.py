"""The listed conversations with all of their messages, as a JSON or CSV file."""

import json
from collections.abc import Iterator
from contextlib import suppress

from chalice.app import Response

from chalicelib import clock, errors
from chalicelib.conversations.new_messages import text_of
from chalicelib.extensions.console.access import calls
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.inbox_pages import conversation_list
from chalicelib.extensions.console.presentation import pages
from chalicelib.extensions.console.presentation.template_filters import unix_seconds
from chalicelib.http import files, responses
from chalicelib.storage import Document, encode_json

# The maximum size of a file's conversations as JSON, in bytes, which limits how much a download reads.
_MAX_BYTES = 4_000_000
# The maximum size of a file in bytes, as the JSON string in a Lambda response, where quotation marks are escaped.
_MAX_FILE = responses.RESPONSE_LIMIT
_MAX_IDS = 100  # per request
_METADATA = ("title", "state", "userID", "userName", "userEmail", "userPhone", "origin", "chatAssignedTo")
_COLUMNS = ("agentId", "ID", "ts", "lastModified", *_METADATA, "tags", "messagesNum", "transcript")


@signed_in("/convos")
def download_json(session: Session) -> Response:
    """Return the conversations of the query's tab and filters as a JSON file."""
    text = json.dumps(_read(session), ensure_ascii=False, indent=1)
    return _file("conversations.json", "application/json", text)


@signed_in("/convos")
def download_csv(session: Session) -> Response:
    """Return the conversations of the query's tab and filters as a CSV file, with at most 32,000 characters a cell."""
    lines = [files.csv_line(map(_cells(record).get, _COLUMNS)) for record in _read(session)]
    return _file("conversations.csv", files.MEDIA[files.CSV], files.csv_line(_COLUMNS) + "".join(lines))


def _file(name: str, media: str, text: str) -> Response:
    """Return a file. Raise TooLarge if quotation marks or indentation make it too large for a response."""
    if len(encode_json(text)) > _MAX_FILE:
        raise _too_large()
    return pages.download(name, media, text)


def _too_large() -> errors.TooLarge:
    return errors.TooLarge("The file would be too large; choose a filter, or use the API.")


def _read(session: Session) -> list[Document]:
    """Return the conversations with their messages, in the order of the list. Raise TooLarge."""
    listed = [(record["agentId"], record["ID"]) for record in conversation_list.read_first(session)]
    size, exported = 0, dict[tuple[str, str], Document]()
    for agent_id in {agent_id for agent_id, _ in listed}:
        for record in _export(agent_id, [conversation for agent, conversation in listed if agent == agent_id]):
            exported[agent_id, record["ID"]] = record
            size += len(encode_json(record))
            if size > _MAX_BYTES:
                raise _too_large()
    return [exported[key] for key in dict.fromkeys(listed) if key in exported]


def _export(agent_id: str, conversation_ids: list[str]) -> Iterator[Document]:
    """Yield an agent's conversations with their messages. Deleted conversations and agents are omitted."""
    with suppress(errors.NotFound):
        for start in range(0, len(conversation_ids), _MAX_IDS):
            query = {"convoIds": conversation_ids[start : start + _MAX_IDS], "limit": _MAX_IDS, "cursor": None}
            while True:
                page = calls.get("/v3/agents/{agent_id}/convos/export", query, agent_id=agent_id)
                yield from page["data"]
                query["cursor"] = page.get("nextCursor")
                if query["cursor"] is None:
                    break


def _cells(record: Document) -> Document:
    """Return a conversation's cells by column. A transcript has one line per message."""
    texts = (f"{message.get('from', '')}: {text_of(message.get('item'))}" for message in record["messages"])
    times = {name: clock.iso_or_none(unix_seconds(record.get(name))) for name in ("ts", "lastModified")}
    tags = ", ".join(map(str, record.get("tags") or ()))
    return {**record, **times, "tags": tags, "transcript": "\n".join(texts)}
