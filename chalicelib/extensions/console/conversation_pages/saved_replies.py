"""The page of an agent's saved replies, and the replies in a conversation's menu."""

import re
from functools import partial
from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.access import calls, guard
from chalicelib.extensions.console.access.calls import commit_now
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.agent_pages import agent_facts
from chalicelib.extensions.console.conversation_pages import reply_copies, reply_placeholders
from chalicelib.extensions.console.conversation_pages.conversation_actions import normalised, signature
from chalicelib.extensions.console.conversation_pages.stored_replies import (
    MAX_BYTES,
    MAX_REPLIES,
    MEMBER,
    SavedReply,
    parse,
    read,
    size,
)
from chalicelib.extensions.console.presentation import differences, pages, template_filters
from chalicelib.http import current_request
from chalicelib.storage import Document

_PATH = "/v3/agents/{agent_id}"
_FIELD = re.compile(r"reply\.([0-9]{1,3})\.text")
_ACTION = re.compile(r"(remove|up)\.([0-9]{1,3})")
_EXAMPLE, _DRAFT, _COPY = "example", "draft", "copy"
_FROM = "from"  # the query parameter that contains the conversation from which the person came
_MAX_LABEL = 40  # the maximum characters of a text that names its reply in a comparison


def for_visitor(session: Session, agent: Document, name: str) -> list[SavedReply]:
    """Return an agent's saved replies, with the values of their placeholders for a visitor with this name.

    There are none if they are over 200, exceed 100,000 bytes, or have another format. If the values would make them too
    large, the placeholders are kept.
    """
    stored, values = parse(agent.get(MEMBER)) or [], _values(session, agent, name)
    filled = [reply._replace(text=reply_placeholders.fill(reply.text, values)) for reply in stored]
    return filled if size(filled) <= MAX_BYTES else stored


def _values(session: Session, agent: Document, visitor: str) -> dict[str, str]:
    title = template_filters.display_name(agent, "title")
    return dict(zip(reply_placeholders.NAMES, (visitor, title, signature(session)), strict=True))


@signed_in("/agents")
def read_form(session: Session, agent_id: str) -> Response:
    """Show the form for an agent's saved replies, or with `copy` in the query, the form that copies them."""
    return reply_copies.page(session, agent_id) if current_request.query_value("copy") else _page(session, agent_id)


@signed_in("/agents")
def save(session: Session, agent_id: str) -> Response:
    """Save the form, or change the replies in the form without saving them.

    If the stored replies have changed since the page was shown, save nothing and show the differences.
    """
    sent = guard.form()
    rows, action = _rows(sent), sent.get("action", "")
    if action == _DRAFT:  # of a conversation's reply, whose text becomes a new reply in the form
        return _page(session, agent_id, draft=normalised(sent.get("text", "")))
    if action == _COPY:
        return reply_copies.copy(session, agent_id, sent)
    show = partial(_page, session, agent_id, tag=sent.get("tag", ""))
    try:
        if action:
            return show(_edited(session, rows, action))
        if conflicts := _save(session, agent_id, _checked(session, rows), sent.get("tag", "")):
            return _page(session, agent_id, rows, conflicts=conflicts)
    except errors.ApiError as error:
        return show(rows or None, error)
    conversation = _conversation()
    others = {_FROM: conversation} if conversation else {}
    return pages.saved(session.workspace_id, f"/agents/{agent_id}/replies", "true", **others)


def _conversation() -> str:
    """Return the page of the conversation from which the person came, or an empty string."""
    page = guard.safe_page(current_request.query_value(_FROM))
    return page if page.startswith("/convos/") else ""


def _rows(sent: dict[str, str]) -> list[SavedReply]:
    """Return the replies in the form, in the order of their numbers. Convert the browser's CRLF line breaks."""
    numbers = sorted((match[1] for match in map(_FIELD.fullmatch, sent) if match), key=int)
    names = [sent.get(f"reply.{number}.name", "").strip() for number in numbers]
    texts = [sent[f"reply.{number}.text"].replace("\r\n", "\n") for number in numbers]
    return [SavedReply(*pair) for pair in zip(names, texts, strict=True)]


def _filled(rows: list[SavedReply]) -> list[SavedReply]:
    return [row for row in rows if row.name or row.text.strip()]


def _edited(session: Session, rows: list[SavedReply], action: str) -> list[SavedReply]:
    """Return the replies after a button of the form removes or moves one, or adds the example. Raise Invalid."""
    if action == _EXAMPLE:
        t = guard.texts(session)
        return [*_filled(rows), SavedReply(t("reply_name_example"), t("reply_example"))]
    match = _ACTION.fullmatch(action)
    place = int(match[2]) if match else len(rows)
    if not match or place >= len(rows):
        raise guard.form_error(session, MEMBER)
    others = rows[:place] + rows[place + 1 :]
    if match[1] == "up":
        others.insert(max(place - 1, 0), rows[place])
    return others


def _save(session: Session, agent_id: str, replies: list[SavedReply], tag: str) -> differences.Differences | None:
    """Save replies, unless the agent has them already. Raise PreconditionFailed.

    If the stored replies are others than the form showed, save nothing and return the differences.
    """
    stored = read(session, agent_id)
    if replies == stored.replies:  # the form was sent twice
        return None
    if stored.replies is None:
        raise errors.PreconditionFailed(guard.texts(session)("saved_replies_elsewhere"))
    if tag != stored.tag and (changes := _compare(stored.replies, replies)):
        return changes
    agent = {MEMBER: [reply.value for reply in replies] or None}
    commit_now(lambda: calls.patch_as_sent(_PATH, {"agent": agent}, stored.agent_tag, agent_id=agent_id))
    return None


def _compare(before: list[SavedReply], after: list[SavedReply]) -> differences.Differences:
    """Return the differences between unequal lists of replies: of the texts, or of the order if no text differs."""
    return differences.between(_by_label(before), _by_label(after)) or differences.between(
        _in_order(before), _in_order(after)
    )


def _in_order(replies: list[SavedReply]) -> Document:
    """Return a line for each reply, with its name and text."""
    return {MEMBER: [" – ".join(filter(None, (reply.name, *reply.text.split("\n")))) for reply in replies]}


def _by_label(replies: list[SavedReply]) -> Document:
    """Return the replies' texts by name, or by the beginning of the text, for a comparison."""
    texts: dict[str, str] = {}
    for reply in replies:
        label = template_filters.truncate(reply.name or reply.text, _MAX_LABEL)
        texts[label] = "\n".join(filter(None, (texts.get(label), reply.text)))
    return {MEMBER: texts}


def _checked(session: Session, rows: list[SavedReply]) -> list[SavedReply]:
    """Return the replies without empty rows. Raise Invalid if the console would not show them, or one has no text."""
    replies = _filled(rows)
    for number, reply in enumerate(replies):
        if not reply.text.strip():
            message = guard.texts(session)("wrong.reply")
            raise errors.Invalid("", [{"path": f"reply.{number}.text", "message": message}])
    if not rows:
        raise guard.form_error(session, MEMBER)
    if len(replies) > MAX_REPLIES:
        raise guard.form_error(session, f"{MEMBER}.number", number=len(replies), most=MAX_REPLIES)
    if (bytes_used := size(replies)) > MAX_BYTES:
        raise guard.form_error(session, f"{MEMBER}.size", size=f"{bytes_used:,}", most=f"{MAX_BYTES:,}")
    return replies


def _page(
    session: Session,
    agent_id: str,
    rows: list[SavedReply] | None = None,
    error: errors.ApiError | None = None,
    conflicts: Any = (),
    tag: str = "",
    draft: str = "",
) -> Response:
    """Return the page with the stored replies, or with the replies in a form that was not saved.

    `draft` is the text of a new reply.
    """
    agent, _ = calls.read(_PATH, agent_id=agent_id)
    stored = read(session, agent_id)
    replies = stored.replies if rows is None else _filled(rows)
    return guard.form_page(
        session,
        "saved_replies.html",
        "/agents",
        error,
        conflicts,
        agent=agent,
        facts=agent_facts.read(session, [agent_id]),
        tag=tag or stored.tag,
        fits=stored.replies is not None,
        replies=replies,
        has_room=len(replies or ()) < MAX_REPLIES,
        draft=draft,
        is_edited=rows is not None or bool(draft),
        placeholders=_values(session, agent, guard.texts(session)("visitor_example")),
        unknown=reply_placeholders.unknown(reply.text for reply in replies or ()),
        conversation=_conversation(),
        back=calls.query_string({_FROM: _conversation()}),
        saved=current_request.query_value("saved"),
    )
