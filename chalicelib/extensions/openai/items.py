"""Converts OpenAI items to messages, and messages to items. An item's id is the message's `mid`, or a digest of it."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from chalicelib import errors, ids
from chalicelib.conversations import new_messages
from chalicelib.storage import Document

# Marks messages that contain an item. Visitors cannot set a message's channel, so they cannot forge an assistant's
# items.
_CHANNEL = "openai"
# The Agents SDK gives this id to every item of a model that has no item ids.
_PLACEHOLDER = "__fake_id__"
_ROLES = ("user", "assistant", "system", "developer")
# Maximum characters of a message without text, which is shown as JSON. As a text, JSON has twice as many backslashes.
_MAX_JSON = 10_000


def to_messages(items: Sequence[Document]) -> list[Document]:
    """Return messages that contain these items. Raise Invalid for an item that cannot be stored."""
    return [{**_message(item, f"items.{index}"), **_mid(items, index)} for index, item in enumerate(items)]


def require_bots_ids(sent: Sequence[Mapping[str, object]], stored: Sequence[Document]) -> None:
    """Raise Invalid if an item of the bot has the id of a user's message: a visitor may have guessed the id."""
    for index, (item, message) in enumerate(zip(sent, stored, strict=True)):
        if message.get("from") == new_messages.HUMAN and item.get("from") != new_messages.HUMAN:
            raise errors.Invalid.member(f"items.{index}.id", "is the id of a user's message")


def to_item(message: Document) -> Document:
    """Return the item in a message, or an item with the text of a message from another source."""
    item = message["item"]
    if message.get("channel") != _CHANNEL or not isinstance(item.get("type"), str):
        text = next(new_messages.texts(item), "") or new_messages.text_of(item)[:_MAX_JSON]
        role = "user" if message.get("from") == new_messages.HUMAN else "assistant"
        item = {"type": "message", "role": role, "content": _content(role, text)}
    status = {"status": "completed"} if item["type"] in ("message", "function_call", "function_call_output") else {}
    return {**status, **item, "id": item_id(message["mid"])}


def item_id(mid: str) -> str:
    """Return the id of a message's item. A visitor may choose a `mid` that fits in no path or query.

    Such an id begins with a character that no other id contains. Otherwise, a visitor could use the digest as the `mid`
    of another message, and pages after this id would repeat forever.
    """
    is_id = ids.IDENTIFIER.fullmatch(mid) and mid not in ids.DOT_SEGMENTS
    return mid if is_id else f"!{sha256(mid.encode()).hexdigest()[:32]}"


def _message(item: Document, path: str) -> Document:
    """Return the message for an item at `path`, without `mid`."""
    role, content = item.get("role"), item.get("content")
    type_ = "message" if item.get("type") is None and role else item.get("type")
    if not isinstance(type_, str) or type_ in ("", "item_reference"):
        raise errors.Invalid.member(f"{path}.type", "must be the type of a complete item")
    stored = {name: value for name, value in item.items() if name != "id"} | {"type": type_}
    if type_ == "message":
        if role not in _ROLES:
            raise errors.Invalid.member(f"{path}.role", f"must be {', '.join(_ROLES[:-1])} or {_ROLES[-1]}")
        stored["content"] = _content(role, content) if isinstance(content, str) else content
        if not isinstance(content, str | list) or not all(isinstance(part, dict) for part in stored["content"]):
            raise errors.Invalid.member(f"{path}.content", "must be a string, or an array of objects")
    sender = new_messages.HUMAN if (type_, role) == ("message", "user") else "bot"
    return {"from": sender, "type": type_, "item": stored, "channel": _CHANNEL}


def _content(role: str, text: str) -> list[Document]:
    part = {"type": "output_text", "annotations": []} if role == "assistant" else {"type": "input_text"}
    return [{**part, "text": text}]


def _mid(items: Sequence[Document], index: int) -> Document:
    """Return `{"mid": id}`, or an empty object if the item has no id."""
    mid = items[index].get("id")
    if mid in (None, "", _PLACEHOLDER):
        return {}
    if not isinstance(mid, str) or item_id(mid) != mid:
        raise errors.Invalid.member(f"items.{index}.id", f"must be {ids.IDENTIFIER_RULE}")
    if any(item.get("id") == mid for item in items[:index]):
        raise errors.Invalid.member(f"items.{index}.id", "is duplicated")
    return {"mid": mid}
