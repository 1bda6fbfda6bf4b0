"""Generated parts of documents, which stand between `<!-- name -->` and `<!-- end of name -->`.

A page is a path relative to the repository root, such as `docs/webhooks.md`.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def check(page: str, name: str, text: str) -> None:
    """Fail unless the part of the page equals this text. If `CAMS_UPDATE_DOCS` is set, write the text instead."""
    if is_update():
        write(page, name, text)
    elif part(page, name) != text:
        pytest.fail(f"`{name}` in {page} is out of date; CAMS_UPDATE_DOCS=1 updates it. Expected:\n{text}")


def is_update() -> bool:
    """Return whether the run updates documents instead of checking them."""
    return bool(os.environ.get("CAMS_UPDATE_DOCS"))


def part(page: str, name: str) -> str:
    """Return the text of a page's generated part."""
    return _split(page, name)[1]


def rows(page: str, name: str) -> list[list[str]]:
    """Return the cells of a generated table, without its header."""
    lines = part(page, name).splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def write(page: str, name: str, text: str) -> None:
    """Replace a page's generated part."""
    before, _, after = _split(page, name)
    (ROOT / page).write_text(before + text + after, encoding="utf-8")


def table(heading: Sequence[str], cells: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    head, *lines = (f"| {' | '.join(line)} |\n" for line in (heading, *cells))
    return "".join([head, "|---" * len(heading) + "|\n", *lines])


def _split(page: str, name: str) -> tuple[str, str, str]:
    """Split a page into the text before a generated part, the part itself, and the text after it."""
    before, start, rest = (ROOT / page).read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    text, end, after = rest.partition(f"<!-- end of {name} -->")
    assert start and end, f"{page} has no part `{name}`"
    return before + start, text, end + after
