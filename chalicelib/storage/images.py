"""Images of rows in the records of streams, as Lambda passes them to a function."""

import base64
from typing import Any

Image = dict[str, dict[str, Any]]


def decode(image: Image | None) -> Image | None:
    """Return the image for `Row.from_raw_data`, with bytes in place of base64; None without one."""
    return {name: _value(value) for name, value in image.items()} if image else None


def _value(value: dict[str, Any]) -> dict[str, Any]:
    binary = value.get("B")
    return {"B": base64.b64decode(binary)} if isinstance(binary, str) else value
