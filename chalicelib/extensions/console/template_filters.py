"""How values are shown on pages: times, numbers, links and the items of messages. Pure."""

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
    """The short name of a month, 1 to 12, in the language of the texts."""
    return t("months").split()[number - 1]


def day(seconds: int, t: _Texts) -> str:
    """A day of UTC, such as 24 Oct."""
    date = clock.iso(int(seconds))[:10]
    return f"{int(date[8:])} {month(int(date[5:7]), t)}"


def moment(seconds: float | None, t: _Texts) -> str:
    """A time of UTC, such as 24 Oct 08:58; empty without one."""
    if not seconds or not 0 < seconds < 10**11:
        return ""
    return f"{day(int(seconds), t)} {clock.iso(int(seconds))[11:16]}"


def number(value: float, t: _Texts) -> str:
    """A number with thousands separated, as the language does."""
    return f"{value:,}".replace(",", t("thousands"))


def short(value: float) -> str:
    """A round number for an axis, such as 2.5k."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def change(now: float, before: float) -> str:
    """A change in percent with an arrow; empty without a figure before."""
    if not before or now == before:
        return ""
    percent = round(abs(now - before) / before * 100)
    return f"{'▲' if now > before else '▼'} {percent if percent < 1000 else '> 999'} %"


def link(value: Any) -> str:
    """A web address that a page may link to; empty for anything else."""
    text = value if isinstance(value, str) else ""
    return text if text.startswith(("https://", "http://")) else ""


def text_of(item: Any) -> str:
    """The text of a message's item; empty if it has none."""
    payload = item.get("payload") if isinstance(item, dict) else None
    content: Any = payload if isinstance(payload, dict) else item
    for name in ("message", "text", "label"):
        if isinstance(content, dict) and isinstance(content.get(name), str):
            return str(content[name])
    return item["text"] if isinstance(item, dict) and isinstance(item.get("text"), str) else ""


def card(item: Any) -> dict[str, Any]:
    """The title, text, image and choices of a message's item, as far as it has them in a known form."""
    payload = item.get("payload") if isinstance(item, dict) else None
    content = payload if isinstance(payload, dict) else item if isinstance(item, dict) else {}
    description = content.get("description")
    text = description.get("text") if isinstance(description, dict) else description
    buttons = content.get("buttons") or content.get("choices")
    names = (
        [one.get("name") or one.get("label") for one in buttons if isinstance(one, dict)]
        if isinstance(buttons, list)
        else []
    )
    return {
        "title": content.get("title") if isinstance(content.get("title"), str) else "",
        "text": text if isinstance(text, str) else "",
        "image": link(content.get("image") or content.get("imageUrl")),
        "link": link(content.get("url")),
        "choices": [one for one in names if isinstance(one, str)],
    }


def truncate(text: str, most: int) -> str:
    """The text; its beginning and an ellipsis if it has more than `most` characters."""
    return text if len(text) <= most else f"{text[:most]} …"


def indented_json(value: Any, most: int = MAX_INDENTED) -> str:
    """Any value as indented JSON, cut.

    Indentation makes deep JSON much larger, so only what is shown is made.
    """
    text = ""
    for part in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value):
        if len(text) + len(part) > most:
            return truncate(text + part, most)
        text += part
    return text


def compact_json(value: Any) -> str:
    """Any value as JSON, whole. Indentation could make deep JSON too large for an answer."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def display_name(record: dict[str, Any], *members: str) -> str:
    """How a record is called: the first of these members that shows anything, up to 200 characters; empty for none."""
    texts = (str(record.get(one) or "") for one in members)
    return next((truncate(text, _MAX_NAME) for text in texts if _shows_anything(text)), "")


def agent_title(agent: dict[str, Any]) -> str:
    """How an agent is called: its title or its id."""
    return display_name(agent, "title", "ID")


def _shows_anything(text: str) -> bool:
    return any(one.isprintable() and not one.isspace() for one in text)


def size(text: str) -> int:
    """The bytes of a text in HTML."""
    return len(html.escape(text).encode())


_FILTERS = (day, moment, number, short, change, indented_json, display_name, agent_title)
FILTERS = {one.__name__: one for one in _FILTERS}
