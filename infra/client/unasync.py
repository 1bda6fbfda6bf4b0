"""Derives the synchronous client from the asynchronous client."""

import re

_RULES = (
    (r"\basync (def|for|with) ", r"\1 "),
    (r"\bawait ", ""),
    (r"\bAsync([A-Z]\w*)", r"\1"),
    (r"\b__a(iter|enter|exit)__", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"^import asyncio\n", ""),
    (r"\b_async\b", "_sync"),
    (r"`async with` statement", "`with` statement"),
    (r"asyncio programs", "synchronous programs"),
)


def synchronous(text: str) -> str:
    """Return the synchronous version of a module."""
    for pattern, replacement in _RULES:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text
