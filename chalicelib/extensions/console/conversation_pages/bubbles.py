"""Selects the messages of a transcript that fit on a page. The module performs no I/O."""

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from chalicelib import clock
from chalicelib.extensions.console.presentation import template_filters
from chalicelib.ids import DOT_SEGMENTS, IDENTIFIER
from chalicelib.storage import Document

if TYPE_CHECKING:
    from datetime import tzinfo

# The maximum size of a transcript as HTML, in bytes. For example, an apostrophe takes five bytes. One message always
# fits.
_MAX_BYTES = 250_000
_TAGS_BYTES = 1_100  # around a message's texts
# The maximum length in characters of a text, of a title or name, and of a link.
_MAX_TEXT, _MAX_NAME, _MAX_LINK = 20_000, 200, 2_000
_MAX_CHOICES = 50
# The members of a message's item that contain its text.
_TEXTS = ("payload", "message", "text", "label", "content", "parts")
# A group contains messages of one author with less than this time between them. The page's script uses the same time.
GROUP_SECONDS = 300


class Bubble(NamedTuple):
    """A message on a page. `item` contains an item in an unknown format as JSON. A truncated message has a `digest`.

    `mark` identifies the message in the page. It is empty if the message has no id. `mid` is the id, or empty if the id
    cannot be part of an address. `author` marks the client who sent the message in the console. `editor` is the name of
    the person who changed the message in the console at the Unix time `edited_at`. It is empty if a visitor may have
    sent it. If `is_editable`, a form can replace `text`, which is then not truncated.
    """

    mark: str
    mid: str
    digest: str | None
    is_human: bool
    person: str
    author: str
    editor: str
    edited_at: int | None
    kind: str
    time: int | None
    title: str
    text: str
    image: str
    link: str
    choices: list[str]
    item: str
    is_editable: bool

    def day(self, zone: "tzinfo") -> str:
        """Return the message's day in a time zone, or an empty string if its time is unknown."""
        return clock.to_datetime(self.time).astimezone(zone).date().isoformat() if self.time else ""

    def continues(self, earlier: "Bubble | None", zone: "tzinfo") -> bool:
        """Return whether the message belongs to the same group as the earlier message, so that it needs no name.

        A group ends with its day in the time zone.
        """
        if earlier is None or (self.is_human, self.person) != (earlier.is_human, earlier.person):
            return False
        return self.day(zone) == earlier.day(zone) and (self.time or 0) - (earlier.time or 0) < GROUP_SECONDS


def bubbles_that_fit(messages: Iterable[Document]) -> list[Bubble]:
    """Return the first messages that fit on a page, but always at least one."""
    bubbles: list[Bubble] = []
    left = _MAX_BYTES
    for message in messages:
        bubble = _bubble(message)
        texts = (*bubble.choices, bubble.title, bubble.image, bubble.image, bubble.link, bubble.link, bubble.item)
        size = sum(template_filters.size(text) for text in texts)
        left -= _TAGS_BYTES + size + len(template_filters.linked(bubble.text).encode())
        if bubbles and left < 0:
            break
        bubbles.append(bubble)
    return bubbles


def digest(message: Document) -> str:
    """Return a digest that identifies a message in a link, because the message id may be too long."""
    return hashlib.sha256(str(message.get("mid")).encode(errors="replace")).hexdigest()


def editable_text(item: Any) -> str:
    """Return the text of a message item that `replace_text` can replace, or an empty string. Long texts are omitted."""
    text = template_filters.text_of(item)
    return text if text and len(text) <= _MAX_TEXT and replace_text(item, text, "") != item else ""


def replace_text(content: Any, old: str, new: str) -> Any:
    """Return a message item, or a part of it, in which `new` replaces each text that equals `old`."""
    if isinstance(content, dict):
        return {name: replace_text(part, old, new) if name in _TEXTS else part for name, part in content.items()}
    if isinstance(content, list):
        return [replace_text(part, old, new) for part in content]
    return new if content == old else content


def full_text(message: Document) -> str:
    """Return a message's whole text, or its item as JSON if the item contains more than text."""
    item = message.get("item")
    has_more = any(value for name, value in template_filters.card(item).items() if name != "text")
    text = "" if has_more else template_filters.text_of(item)
    return text or template_filters.compact_json(item)


def _has_trusted_writer(message: Document) -> bool:
    """Return whether a message cannot have been sent with a visitor token, which sets the sender and no channel."""
    return message.get("from") != "human" or bool(message.get("channel"))


def _bubble(message: Document) -> Bubble:
    item = message.get("item")
    card, mid, is_truncated = template_filters.card(item), str(message.get("mid")), False

    def fit(text: str, max_characters: int) -> str:
        nonlocal is_truncated
        is_truncated = is_truncated or len(text) > max_characters
        return template_filters.truncate(text, max_characters)

    members = item if isinstance(item, dict) else {}
    person, author, editor = (members.get(name) for name in ("sender", "author", "editedBy"))
    image, link = (card[name] if len(card[name]) <= _MAX_LINK else "" for name in ("image", "link"))
    title, text = fit(card["title"], _MAX_NAME), fit(template_filters.text_of(item) or card["text"], _MAX_TEXT)
    choices = [fit(choice, _MAX_NAME) for choice in card["choices"][:_MAX_CHOICES]]
    json_item = "" if text or any(card.values()) else template_filters.indented_json(item)
    is_part = (
        is_truncated
        or (image, link) != (card["image"], card["link"])
        or len(choices) < len(card["choices"])
        or len(json_item) > template_filters.MAX_INDENTED
    )
    return Bubble(
        mark=digest(message)[:16] if message.get("mid") else "",
        mid=mid if IDENTIFIER.fullmatch(mid) and mid not in DOT_SEGMENTS else "",
        digest=digest(message) if is_part else None,
        is_human=message.get("from") == "human",
        person=template_filters.truncate(str(person), _MAX_NAME) if person else "",
        author=str(author or ""),
        editor=template_filters.truncate(str(editor), _MAX_NAME) if editor and _has_trusted_writer(message) else "",
        edited_at=template_filters.unix_seconds(members.get("editedAt")),
        kind=template_filters.truncate(str(message.get("type") or "–"), _MAX_NAME),
        time=template_filters.unix_seconds(message.get("ts")),
        title=title,
        text=text,
        image=image,
        link=link,
        choices=choices,
        item=json_item,
        is_editable=bool(editable_text(item)),
    )
