"""The filters of the templates: times, numbers, links and the items of messages. Pure."""

import html
import json
from collections.abc import Callable
from typing import Any

from chalicelib import clock

_Texts = Callable[[str], str]
_MAX_NAME = 200
# Characters of a value as indented JSON.
MAX_INDENTED = 20_000


def month(number: int, t: _Texts) -> str:
    """Return the short name of a month, 1 to 12, in the language of the texts."""
    return t("months").split()[number - 1]


def day(seconds: int, t: _Texts) -> str:
    """Return a day of UTC, such as 24 Oct."""
    date = clock.iso(int(seconds))[:10]
    return f"{int(date[8:])} {month(int(date[5:7]), t)}"


def moment(seconds: float | None, t: _Texts) -> str:
    """Return a UTC time such as 24 Oct 08:58, or an empty text if there is no time."""
    if not seconds or not 0 < seconds < 10**11:
        return ""
    return f"{day(int(seconds), t)} {clock.iso(int(seconds))[11:16]}"


def number(value: float, t: _Texts) -> str:
    """Return a number with the language's thousands separators."""
    return f"{value:,}".replace(",", t("thousands"))


def short(value: float) -> str:
    """Return a round number for an axis, such as 2.5k."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def change(now: float, before: float) -> str:
    """Return a change in percent with an arrow, or an empty text if there is no earlier figure."""
    if not before or now == before:
        return ""
    percent = round(abs(now - before) / before * 100)
    return f"{'▲' if now > before else '▼'} {percent if percent < 1000 else '> 999'} %"


def link(value: Any) -> str:
    """Return a web address that a page may link to, or an empty text for any other value."""
    text = value if isinstance(value, str) else ""
    return text if text.startswith(("https://", "http://")) else ""


def text_of(item: Any) -> str:
    """Return the text of a message's item, or an empty text."""
    payload = item.get("payload") if isinstance(item, dict) else None
    content: Any = payload if isinstance(payload, dict) else item
    for name in ("message", "text", "label"):
        if isinstance(content, dict) and isinstance(content.get(name), str):
            return str(content[name])
    return item["text"] if isinstance(item, dict) and isinstance(item.get("text"), str) else ""


def card(item: Any) -> dict[str, Any]:
    """Return the title, text, image and choices of a message's item, if they have a known form."""
    payload = item.get("payload") if isinstance(item, dict) else None
    content = payload if isinstance(payload, dict) else item if isinstance(item, dict) else {}
    description = content.get("description")
    text = description.get("text") if isinstance(description, dict) else description
    buttons = content.get("buttons") or content.get("choices")
    names = (
        [button.get("name") or button.get("label") for button in buttons if isinstance(button, dict)]
        if isinstance(buttons, list)
        else []
    )
    return {
        "title": content.get("title") if isinstance(content.get("title"), str) else "",
        "text": text if isinstance(text, str) else "",
        "image": link(content.get("image") or content.get("imageUrl")),
        "link": link(content.get("url")),
        "choices": [name for name in names if isinstance(name, str)],
    }


def truncate(text: str, max_characters: int) -> str:
    """Return the text, truncated with an ellipsis after `max_characters`."""
    return text if len(text) <= max_characters else f"{text[:max_characters]} …"


def indented_json(value: Any, max_characters: int = MAX_INDENTED) -> str:
    """Return any value as indented JSON, truncated.

    Indentation makes deep JSON much larger, so only the shown part is produced.
    """
    parts, length = [], 0
    for part in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value):
        parts.append(part)
        length += len(part)
        if length > max_characters:
            return truncate("".join(parts), max_characters)
    return "".join(parts)


def compact_json(value: Any) -> str:
    """Return any value as JSON. Indented, deep JSON could be too large for a response."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def display_name(record: dict[str, Any], *members: str) -> str:
    """Return the first of these members with a visible character, truncated to 200 characters, or an empty text."""
    texts = (str(record.get(member) or "") for member in members)
    return next((truncate(text, _MAX_NAME) for text in texts if _shows_anything(text)), "")


def agent_title(agent: dict[str, Any]) -> str:
    """Return the title of an agent, or its id."""
    return display_name(agent, "title", "ID")


def _shows_anything(text: str) -> bool:
    return any(character.isprintable() and not character.isspace() for character in text)


def size(text: str) -> int:
    """Return the number of bytes of a text in HTML."""
    return len(html.escape(text).encode())


_FILTERS = (day, moment, number, short, change, indented_json, display_name, agent_title)
FILTERS = {function.__name__: function for function in _FILTERS}
