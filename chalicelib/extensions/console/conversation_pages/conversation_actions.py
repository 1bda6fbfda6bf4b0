"""A person's actions in a conversation: reply, end, tag and write notes, and those of `assignments`."""

import hashlib
import json
from collections.abc import Callable

from chalicelib import clock, errors
from chalicelib.conversations import store as conversations
from chalicelib.extensions.console.access import calls, guard
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.conversation_pages import assignments, private_notes
from chalicelib.extensions.console.conversation_pages.bubbles import Bubble
from chalicelib.extensions.console.presentation.template_filters import display_name, truncate
from chalicelib.storage import Document

_CHANNEL = "console"  # of an edited message that had no channel
_PATH = "/v3/agents/{agent_id}/convos/{convo_id}"
SEPARATOR = "\t"
"""The separator of several tags in a button's value."""
MAX_NOTES_LENGTH = 5_000
"""The maximum number of characters in a form's private notes."""


def with_action(fields: dict[str, str]) -> dict[str, str]:
    """Return the form with the `action` of its pressed button, whose value may be a person or the undone change."""
    action = next((action for name, action in _BUTTONS.items() if name in fields), "")
    return {"action": action, **fields}


def _reply(session: Session, values: dict[str, str], fields: dict[str, str]) -> None:
    """Add a message from the person. The form contains its `mid`, so submitting the form twice adds one message."""
    _send("POST", "/messages", new_reply(session, fields), values)


def new_reply(session: Session, fields: dict[str, str]) -> Document:
    """Return the request body for a reply form. The reply takes over the conversation. Raise Invalid for an empty text.

    Operators are not clients, so their replies change only the state.
    """
    takeover = {"assignToUserId": session.client_id} if session.client_id else {"state": conversations.WITH_PERSON}
    return {"messages": [_new_message(session, fields)], **takeover}


def _new_message(session: Session, fields: dict[str, str]) -> Document:
    text, mid = submitted_text(session, fields), fields.get("mid")
    item = {"payload": {"message": text}, "text": text, "sender": signature(session)}
    if session.client_id:  # operators are administrators
        item["author"] = author(session.workspace_id, session.client_id, mid)
    return {"mid": mid, "from": "bot", "type": "text", "item": item}


def submitted_text(session: Session, fields: dict[str, str]) -> str:
    """Return a form's message with the line breaks of the API. Browsers send CRLF. Raise Invalid for an empty text."""
    text = normalised(fields.get("text", ""))
    if not text:
        raise guard.form_error(session, "text")
    return text


def normalised(text: str) -> str:
    """Return a text as a form sends it back: without outer blanks, and with the line breaks of the API."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def author(workspace_id: str, client_id: str, mid: str | None) -> str:
    """Return the text that marks a client's message. Visitors can read messages, but must not see clients' ids."""
    return hashlib.sha256(json.dumps([workspace_id, client_id, mid]).encode()).hexdigest()[:32]


def may_change(session: Session, message: Bubble) -> bool:
    """Return whether the person may change or delete a message: administrators any message, other people their own.

    People choose their names, so the name of a message's sender does not matter.
    """
    own = author(session.workspace_id, session.client_id or "", message.mid)
    return session.is_admin or (not message.is_human and message.author == own)


def edited(session: Session, message: Document, item: Document) -> Document:
    """Return the members of a message that change: the item, with the person's name and the Unix time, and the channel.

    Visitors cannot set a message's channel, so a message with a channel proves that a visitor did not forge the name.
    """
    mark = {"editedBy": signature(session), "editedAt": clock.seconds()}
    return {"item": {**item, **mark}, "channel": message.get("channel") or _CHANNEL}


def signature(session: Session) -> str:
    """Return the sender's name for a reply. The name is never the email, because the person signs in with it."""
    return (
        display_name(session.client, "name")
        or display_name(session.organisation, "name")
        or guard.texts(session)("our_team")
    )


def _end(session: Session, values: dict[str, str], fields: dict[str, str]) -> None:
    _send("PATCH", "", {"conversation": {"state": "ended_chat"}}, values)


def text_digest(text: str) -> str:
    """Return a digest of notes or a message for the form, so that saving replaces only a text that it displayed."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _write_notes(session: Session, values: dict[str, str], fields: dict[str, str]) -> None:
    """Replace the private notes with the form's. Raise PreconditionFailed if they have changed since it was shown."""
    notes = fields.get("notes", "").replace("\r\n", "\n").strip()
    if len(notes) > MAX_NOTES_LENGTH:
        raise guard.form_error(session, "notes.length", most=MAX_NOTES_LENGTH)
    record, etag = calls.read(_PATH, **values)
    stored = record.get("notes") or ""
    if stored == notes:  # the form has been submitted twice
        return
    if text_digest(stored) != fields.get("notes_shown"):
        now = truncate(stored, MAX_NOTES_LENGTH) or "–"
        raise guard.form_error(session, "notes.changed", errors.PreconditionFailed, notes=now)
    _send("PATCH", "", {"conversation": {"notes": notes or None}}, values, etag)


def _add_note(session: Session, values: dict[str, str], fields: dict[str, str]) -> None:
    """Add a private note with the person's name and the time. Submitting the form twice adds one note."""
    text = fields.get("note", "").replace("\r\n", "\n").strip()
    if not text:
        raise guard.form_error(session, "text")
    record, etag = calls.read(_PATH, **values)
    stored = record.get("notes") or ""
    notes = private_notes.add(stored, session.name, text, clock.seconds())
    if len(notes) > MAX_NOTES_LENGTH:
        raise guard.form_error(session, "notes.length", most=MAX_NOTES_LENGTH)
    if notes != stored:
        _send("PATCH", "", {"conversation": {"notes": notes}}, values, etag)


def _add_tags(session: Session, values: dict[str, str], fields: dict[str, str]) -> None:
    """Add the form's tags, and put those that are new into the field `changed`.

    Raise PreconditionFailed if the conversation changes at the same time.
    """
    tags = submitted_tags(session, fields)
    if not tags:
        raise guard.form_error(session, "tags")
    record, etag = calls.read(_PATH, **values)
    stored = record.get("tags") or []
    added = [tag for tag in dict.fromkeys(tags) if tag not in stored]
    fields["changed"] = SEPARATOR.join(added)
    if added:
        _send("PATCH", "", {"conversation": {"tags": [*stored, *added]}}, values, etag)


def _remove_tags(session: Session, values: dict[str, str], fields: dict[str, str]) -> None:
    """Remove the tags of the pressed button, and put those that the conversation had into the field `changed`."""
    _require_tags(session)
    pressed = fields.get("untag", "").replace("\r\n", "\n")  # a browser sends line breaks like this
    record, etag = calls.read(_PATH, **values)
    stored = record.get("tags") or []
    tags = [pressed] if pressed in stored else pressed.split(SEPARATOR)
    removed = [tag for tag in stored if tag in tags]
    fields["changed"] = SEPARATOR.join(removed)
    if removed:
        kept = [tag for tag in stored if tag not in removed]
        _send("PATCH", "", {"conversation": {"tags": kept}}, values, etag)


def submitted_tags(session: Session, fields: dict[str, str]) -> list[str]:
    """Return the tags of the pressed button, or the form's comma-separated tags. Raise Forbidden (`_require_tags`)."""
    _require_tags(session)
    if fields.get("retag"):
        return fields["retag"].split(SEPARATOR)
    return [tag.strip() for tag in fields.get("tags", "").split(",") if tag.strip()]


def _require_tags(session: Session) -> None:
    """Raise Forbidden if the organisation does not allow tags to be changed."""
    if session.organisation.get("disallowAnyTags"):
        raise errors.Forbidden("Your organisation does not allow tags to be changed.")


def _insert(session: Session, values: dict[str, str], fields: dict[str, str]) -> None:
    """Append the selected saved reply to the reply in a form. The page's script does this without a request."""
    fields["text"] = fields.get("text", "") + fields.pop("saved", "")


def _send(method: str, below: str, body: Document, values: dict[str, str], if_match: str | None = None) -> None:
    calls.send(method, f"{_PATH}{below}", body, if_match, **values)


Action = Callable[[Session, dict[str, str], dict[str, str]], None]
"""Performs an action. It receives the session, the path's values and the form."""
ACTIONS: dict[str, Action] = {
    "reply": _reply,
    "take": assignments.take_over,
    "assign": assignments.assign,
    "undo": assignments.undo,
    "back": assignments.pass_back,
    "end": _end,
    "tag": _add_tags,
    "untag": _remove_tags,
    "note": _write_notes,
    "add_note": _add_note,
    "insert": _insert,
}
"""The actions in a conversation by the value of the form field `action`."""
_BUTTONS = {
    "to": "assign",
    "undo": "undo",
    "untag": "untag",
    "retag": "tag",
}  # of buttons whose value is not the action
TEXTS = {"reply": "text", "add_note": "note"}
"""The fields for a reply and a note, by the action that sends each. A page keeps their texts until they are sent."""
RESULTS = (*(name for name in ACTIONS if name != "insert"), "change", "delete")
"""The actions that a conversation's page confirms, with those on a message."""
BULK_ACTIONS: dict[str, Action] = {
    "tag": _add_tags,
    "assign": assignments.assign_many,
    "end": _end,
    "reopen": assignments.reopen,
}
"""The actions for several conversations by the value of the form field `action`."""
