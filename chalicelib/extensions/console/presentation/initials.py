"""A name's initials, in a circle whose colour is always the same for that name."""

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

# The number of colours. The stylesheet has a class for each, from `hue-0`.
_HUES = 8


def initials(name: str) -> "Markup":
    """Return the first characters of a name's first and last words as HTML, or a question mark for no words."""
    from markupsafe import Markup

    words = [word for word in name.split() if word[0].isalnum()]
    text = "".join(word[0] for word in dict.fromkeys((*words[:1], *words[1:][-1:]))).upper()
    hue = zlib.crc32(name.encode(errors="replace")) % _HUES
    circle = '<em class="avatar hue-{}" aria-hidden="true">{}</em>'
    return Markup(circle).format(hue, text or "?")  # noqa: S704  # `format` escapes the values
