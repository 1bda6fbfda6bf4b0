"""Saved replies: texts that people insert into a reply to a visitor. They are in the agent's member `savedReplies`.

The API does not know the member, and stores it as sent. Therefore, it may contain any JSON value, and callers that may
not read secrets cannot read it. The console reads and writes a list of texts, and of objects `{name, text}`.
"""

import re
from itertools import chain
from typing import Any, NamedTuple

from chalice.app import Response

from chalicelib import errors, storage
from chalicelib.agents import store as agents
from chalicelib.extensions.console import calls, guard, pages, template_filters
from chalicelib.extensions.console.calls import commit_now
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import current_request
from chalicelib.storage import Document

_PATH = "/v3/agents/{agent_id}"
_MEMBER = "savedReplies"
_FIELD = re.compile(rf"{_MEMBER}\.([0-9]{{1,3}})\.text")
# The maximum size of all replies as HTML, the bytes of the tags around a reply, and the maximum number of replies.
_MAX_BYTES, _REPLY_BYTES, _MAX_REPLIES = 100_000, 250, 200
_ADD, _REMOVE, _UP = "add", "remove", "up"


class SavedReply(NamedTuple):
    """A saved reply. Its name may be empty."""

    name: str
    text: str

    @property
    def value(self) -> Any:
        """The reply in the agent's member: a text, or an object if the reply has a name."""
        return self._asdict() if self.name else self.text


def of_agent(agent: Document) -> list[SavedReply]:
    """Return an agent's saved replies, or none if they are over 200, exceed 100,000 bytes, or have another format."""
    return _parse(agent.get(_MEMBER)) or []


def _parse(value: Any) -> list[SavedReply] | None:
    """Return the saved replies in an agent's member, or None if the console does not show them."""
    entries = [_entry(one) for one in value] if isinstance(value, list) else [None]
    replies = [entry for entry in entries if entry is not None]
    size = _REPLY_BYTES * len(replies) + sum(map(template_filters.size, chain(*replies)))
    return replies if len(replies) == len(entries) <= _MAX_REPLIES and size <= _MAX_BYTES else None


def _entry(value: Any) -> SavedReply | None:
    if isinstance(value, str):
        return SavedReply("", value)
    if not isinstance(value, dict) or value.keys() != {*SavedReply._fields}:
        return None
    return SavedReply(**value) if all(isinstance(text, str) for text in value.values()) else None


def insert(session: Session, values: dict[str, str], sent: dict[str, str]) -> None:
    """Append the selected text to the reply in a form. The page's script does this without a request."""
    sent["text"] = sent.get("text", "") + sent.pop("saved", "")


@signed_in("/agents")
def read_form(session: Session, agent_id: str) -> Response:
    """Show the form for an agent's saved replies. This costs two requests."""
    return _page(session, agent_id)


@signed_in("/agents")
def save(session: Session, agent_id: str) -> Response:
    """Save the form, or add, remove or move a reply in the form.

    If the agent has changed since the page was shown, save nothing and say so.
    """
    sent = guard.form()
    rows = _rows(sent)
    if (edited := _edited(rows, sent.get("action", ""))) is not None:
        return _page(session, agent_id, edited, tag=sent.get("tag", ""))
    try:
        if rows and _kept(session, rows) != of_agent(_read(session, agent_id)):  # otherwise the form was sent twice
            commit_now(lambda: _save(agent_id, _kept(session, rows), sent.get("tag", "")))
    except errors.ApiError as error:
        return _page(session, agent_id, rows, error, tag=sent.get("tag", ""))
    return pages.saved(session.workspace_id, f"/agents/{agent_id}/replies", "true")


def _rows(sent: dict[str, str]) -> list[SavedReply]:
    """Return the replies in the form, in the order of their numbers. Convert the browser's CRLF line breaks."""
    numbers = sorted(int(match[1]) for match in map(_FIELD.fullmatch, sent) if match)
    names = [sent.get(f"{_MEMBER}.{number}.name", "").strip() for number in numbers]
    texts = [sent[f"{_MEMBER}.{number}.text"].replace("\r\n", "\n") for number in numbers]
    return [SavedReply(*pair) for pair in zip(names, texts, strict=True)]


def _edited(rows: list[SavedReply], action: str) -> list[SavedReply] | None:
    """Return the replies after the form's button adds, removes or moves one, or None for its other buttons."""
    name, _, number = action.partition(".")
    place = int(number) if number.isascii() and number.isdecimal() and len(number) < 4 else 0
    if name == _ADD:
        return [*rows, SavedReply("", "")]
    if name == _REMOVE:
        return rows[:place] + rows[place + 1 :]
    if name == _UP and place:
        return [*rows[: place - 1], *reversed(rows[place - 1 : place + 1]), *rows[place + 1 :]]
    return None


def _kept(session: Session, rows: list[SavedReply]) -> list[SavedReply]:
    """Return the replies without empty rows. Raise Invalid for a name without a text."""
    for number, row in enumerate(rows):
        if row.name and not row.text.strip():
            message = guard.texts(session)("wrong.reply")
            raise errors.Invalid("", [{"path": f"{_MEMBER}.{number}.text", "message": message}])
    return [row for row in rows if row.text.strip()]


def _save(agent_id: str, replies: list[SavedReply], tag: str) -> None:
    agent = {_MEMBER: [reply.value for reply in replies] or None}
    calls.patch_as_sent(_PATH, {"agent": agent}, tag, agent_id=agent_id)


def _read(session: Session, agent_id: str) -> Document:
    (row,) = storage.find_many([agents.key(session.workspace_id, agent_id)])
    return row.open() if row else {}


def _page(
    session: Session,
    agent_id: str,
    rows: list[SavedReply] | None = None,
    error: errors.ApiError | None = None,
    tag: str = "",
) -> Response:
    """Return the page with the stored replies, or with the replies in a form that was not saved."""
    agent, current_tag = calls.read(_PATH, agent_id=agent_id)
    value = _read(session, agent_id).get(_MEMBER)
    stored = [] if value is None else _parse(value)
    return guard.form_page(
        session,
        "saved_replies.html",
        "/agents",
        error,
        agent=agent,
        tag=tag or current_tag,
        fits=stored is not None,
        replies=stored if rows is None else rows,
        is_edited=rows is not None,
        saved=current_request.query_value("saved"),
    )
