"""Reads a message by its id, and the messages after it in a list."""

from itertools import islice

from chalicelib.conversations import store, transcript
from chalicelib.extensions.openai import items
from chalicelib.storage import Document


def find(row: store.ConversationRow, index_rows: transcript.IndexRows) -> Document | None:
    """Return the stored turn of the message in `index_rows`, if any. Raise ConditionFailed as `read` does."""
    return next(iter(transcript.find_stored(row, transcript.read_end(row), index_rows).values()), None)


def read(row: store.ConversationRow, after: transcript.IndexRows, count: int, is_asc: bool) -> list[Document] | None:
    """Return up to `count` messages, oldest or newest first. Raise ConditionFailed as `transcript.read_state` does.

    `after` contains the index item of the message before the page, by the item's id, and is empty for the first page.
    Return None if that message is not stored. If the oldest messages come first and it has an index item, this costs
    one request. Otherwise, this costs one request per chunk from the end of the transcript to that message.
    """
    newest, newer = transcript.newest_messages(row), list[Document]()
    if not after:
        return transcript.messages_from(row, 0, count) if is_asc else [*islice(newest, count)]
    ((mid, index_row),), lengths = after.items(), dict(transcript.chunks(row))
    if is_asc and index_row and index_row.writing in lengths:
        width = 3 * count * sum(lengths.values()) // int(store.read_metadata(row)["messagesNum"] or 1)  # an estimate
        start, end = int(index_row.start), int(index_row.start + index_row.length)
        page = transcript.first_messages(*transcript.read_spans(row, [(start, end + width)]))
        if len(page) > count and page[0]["mid"] == mid:
            return page[1 : count + 1]
    for message in newest:
        if items.item_id(message["mid"]) == mid:
            return newer[::-1][:count] if is_asc else [*islice(newest, count)]
        newer.append(message)
    return None
