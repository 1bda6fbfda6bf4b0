"""The template filters for times, numbers, links and message items. The module performs no I/O."""

import hashlib
import html
import json
import re
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from chalicelib import clock
from chalicelib.conversations.new_messages import text_of_parts
from chalicelib.extensions.console.presentation.initials import initials
from chalicelib.extensions.console.search_pages.search_matches import marked

if TYPE_CHECKING:
    from datetime import datetime

    from markupsafe import Markup

    from chalicelib.extensions.console.presentation.rendering import Texts

_Texts = Callable[[str], str]
# From this value on, a time is in Unix milliseconds.
_MILLISECONDS = 10**11
# A web address in a text, without the punctuation that follows it. At most 50 addresses per text become links.
_ADDRESS = re.compile(r"https?://[^\s<>\"'`]{0,2000}[^\s<>\"'`.,:;!?)\]}]")
_MAX_LINKS, _MAX_MARKS = 50, 50
# An email address and a phone number that a page may link to. Neither contains a character with a meaning in a link.
_EMAIL = re.compile(r"[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")
_PHONE = re.compile(r"\+?[0-9][0-9 ()./-]{2,30}")
_MAX_NAME = 200
# The maximum length of an id in a list, and the length of each end of a longer id, in characters.
_MAX_ID, _ID_PART = 16, 6
PHOTO = "squarePhotoURL"
"""The member for a person's photo. The profile page stores a JPEG image as a `data:` URL in it."""
MAX_PHOTO = 12_000
"""The maximum length of a photo as a `data:` URL, in characters. Lists of people read it."""
_JPEG = re.compile(r"data:image/jpeg;base64,[A-Za-z0-9+/]+={0,2}")
# Maximum number of characters in a value as indented JSON.
MAX_INDENTED = 20_000


def month(number: int, t: _Texts) -> str:
    """Return the short name of a month, from 1 to 12, in the language of `t`."""
    return t("months").split()[number - 1]


def local_time(seconds: int, t: "Texts") -> "datetime":
    """Return a time in Unix seconds in the time zone of `t`."""
    return clock.to_datetime(int(seconds)).astimezone(t.zone)


def day(seconds: int, t: "Texts") -> str:
    """Return a day, such as 24 Oct, in the time zone of `t`."""
    local = local_time(seconds, t)
    return f"{local.day} {month(local.month, t)}"


def hour(seconds: int, t: "Texts") -> str:
    """Return a time of day with its time zone, such as 08:58 UTC."""
    return f"{local_time(seconds, t):%H:%M %Z}"


def unix_seconds(value: Any) -> int | None:
    """Return a time in Unix seconds or milliseconds as Unix seconds, or None if it is not a time."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _MILLISECONDS * 1000:
        return None
    return int(value if value < _MILLISECONDS else value / 1000) or None


def moment(time: float | None, t: "Texts") -> str:
    """Return a time with its time zone, such as 24 Oct 08:58 UTC, or an empty string if there is no time."""
    seconds = unix_seconds(time)
    return f"{day(seconds, t)} {hour(seconds, t)}" if seconds else ""


def second(seconds: int, t: "Texts") -> str:
    """Return a time with its seconds and time zone, such as 24 Oct 08:58:07 UTC."""
    return f"{day(seconds, t)} {local_time(seconds, t):%H:%M:%S %Z}"


def seconds_of(text: str) -> int:
    """Return the Unix seconds of a time in ISO 8601."""
    return clock.parse_iso(text)


def linked(text: str, query: str = "") -> "Markup":
    """Return a text as HTML, in which web addresses are links, and up to 50 matches of a search are marked elsewhere.

    All other characters are escaped.
    """
    from markupsafe import Markup, escape

    parts: list[Markup] = []
    start = marks = 0
    for match in islice(_ADDRESS.finditer(text), _MAX_LINKS):
        address = escape(match[0])
        link_tag = f'<a href="{address}" rel="noreferrer noopener" target="_blank">{address}</a>'
        parts += [marked(text[start : match.start()], query, _MAX_MARKS - marks), Markup(link_tag)]  # noqa: S704
        start, marks = match.end(), marks + parts[-2].count("<mark>")
    return Markup("").join((*parts, marked(text[start:], query, _MAX_MARKS - marks)))


def page_link(text: str) -> "Markup":
    """Return a text as HTML. A web address without other words is a link with its path, or with its host."""
    from markupsafe import Markup

    if not _ADDRESS.fullmatch(text):
        return linked(text)
    host, _, path = text.partition("://")[2].partition("/")
    link_tag = '<a href="{0}" rel="noreferrer noopener" target="_blank"><span class="path" title="{0}">{1}</span></a>'
    return Markup(link_tag).format(text, f"/{path}" if path else host)  # noqa: S704  # `format` escapes the values


def number(value: float, t: _Texts) -> str:
    """Return a number with the language's thousands separators and decimal mark."""
    return f"{value:,}".translate({ord(","): t("thousands"), ord("."): t("decimal_mark")})


def duration(seconds: int, t: _Texts) -> str:
    """Return a duration in its largest units, such as 45 s, 2 min 5 s, 25 min, 3 h 10 min or 2 d 4 h."""
    second, minute, hour, day = t("units").split()
    minutes, hours = round(seconds / 60), round(seconds / 3_600)
    if seconds < 60:
        return f"{seconds} {second}"
    if seconds < 10 * 60:
        large, small, units = *divmod(seconds, 60), (minute, second)
    elif minutes < 60:
        return f"{minutes} {minute}"
    elif minutes < 24 * 60:
        large, small, units = *divmod(minutes, 60), (hour, minute)
    else:
        large, small, units = *divmod(hours, 24), (day, hour)
    return f"{large} {units[0]} {small} {units[1]}" if small else f"{large} {units[0]}"


def figure(value: float | None, name: str, t: _Texts) -> str:
    """Return the text for a report's count, average or rate `name`. An average or rate of nothing is a dash."""
    if value is None:
        return "–"
    return duration(int(value), t) if name.endswith("Seconds") else number(value, t) + " %" * name.endswith("Rate")


def mark(value: float, name: str, t: _Texts) -> str:
    """Return the text for a value at the axis of the chart `name`."""
    return duration(int(value), t) if name.endswith("Seconds") else short(value) + " %" * name.endswith("Rate")


def short(value: float) -> str:
    """Return a short form of a number for an axis, such as 2.5k."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def change(now: float | None, before: float | None, name: str, t: _Texts) -> str:
    """Return the change of a report's figure `name` with an arrow: a percentage or, for a rate, the difference.

    Return an empty string if there is no change, or if a figure is missing. From 0, a percentage is undefined.
    """
    if now is None or before is None or now == before:
        return ""
    arrow = "▲" if now > before else "▼"
    if name.endswith("Rate"):
        return f"{arrow} {number(round(abs(now - before), 1), t)} {t('percentage_points')}"
    percent = round(abs(now - before) / before * 100) if before else None
    return "" if percent is None else f"{arrow} {percent} %" if percent < 1000 else f"{arrow} {t('more_than_tenfold')}"


def link(value: Any) -> str:
    """Return a value if it is a web address that a page may link to, otherwise an empty string."""
    text = value if isinstance(value, str) else ""
    return text if text.startswith(("https://", "http://")) else ""


def photo_version(client: dict[str, Any]) -> str:
    """Return 12 characters that change with a person's photo, or an empty text if pages can show none."""
    photo = client.get(PHOTO) or ""
    return hashlib.sha256(photo.encode()).hexdigest()[:12] if is_photo(photo) else ""


def is_photo(text: str) -> bool:
    """Return whether this is a photo that pages show: a JPEG image as a `data:` URL of at most 12,000 characters."""
    return len(text) <= MAX_PHOTO and bool(_JPEG.fullmatch(text))


def contact_link(text: str) -> str:
    """Return the `mailto:` or `tel:` address of an email address or phone number, otherwise an empty string."""
    if _EMAIL.fullmatch(text):
        return f"mailto:{text}"
    return f"tel:{re.sub('[^+0-9]', '', text)}" if _PHONE.fullmatch(text) else ""


def link_name(address: str) -> str:
    """Return the file name of a web address, or its host if the address has no file name."""
    host, _, path = address.partition("://")[2].partition("?")[0].partition("#")[0].partition("/")
    return unquote(path.rstrip("/").rpartition("/")[2]) or host


def text_of(item: Any) -> str:
    """Return a message item's text, or an empty string."""
    payload = item.get("payload") if isinstance(item, dict) else None
    content: Any = payload if isinstance(payload, dict) else item
    for name in ("message", "text", "label"):
        if isinstance(content, dict) and isinstance(content.get(name), str):
            return str(content[name])
    if not isinstance(item, dict):
        return ""
    message = item.get("message")
    inner = message if isinstance(message, dict) else item
    parts = inner.get("parts") or inner.get("content")
    return (
        item["text"] if isinstance(item.get("text"), str) else text_of_parts(parts if isinstance(parts, list) else [])
    )


def card(item: Any) -> dict[str, Any]:
    """Return a message item's title, text, image, link and choices, as far as their format is known."""
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
    """Return the text, truncated after `max_characters` and marked with an ellipsis."""
    return text if len(text) <= max_characters else f"{text[:max_characters]} …"


def short_id(text: str) -> str:
    """Return an id. An id with more than 16 characters has an ellipsis in the middle."""
    return text if len(text) <= _MAX_ID else f"{text[:_ID_PART]}…{text[-_ID_PART:]}"


def indented_json(value: Any, max_characters: int = MAX_INDENTED) -> str:
    """Return any value as truncated, indented JSON.

    Indentation makes deeply nested JSON much larger, so only the part that is shown is encoded.
    """
    parts, length = [], 0
    for part in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value):
        parts.append(part)
        length += len(part)
        if length > max_characters:
            return truncate("".join(parts), max_characters)
    return "".join(parts)


def compact_json(value: Any) -> str:
    """Return any value as compact JSON, because indentation could make it too large for a response."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def display_name(record: dict[str, Any], *members: str) -> str:
    """Return the first of these members with a visible character, truncated to 200 characters, or an empty string."""
    texts = (str(record.get(member) or "") for member in members)
    return next((truncate(text, _MAX_NAME) for text in texts if _shows_anything(text)), "")


def agent_title(agent: dict[str, Any]) -> str:
    """Return an agent's title, or its id."""
    return display_name(agent, "title", "ID")


def _shows_anything(text: str) -> bool:
    return any(character.isprintable() and not character.isspace() for character in text)


def size(text: str) -> int:
    """Return a text's size as HTML, in bytes."""
    return len(html.escape(text).encode())


_FILTERS = (
    *(day, hour, moment, second, seconds_of, clock.iso, number, duration, figure, mark, short, change, indented_json),
    *(display_name, agent_title, initials, contact_link, link_name, linked, page_link, short_id, unix_seconds),
    photo_version,
)
FILTERS = {function.__name__: function for function in _FILTERS}
