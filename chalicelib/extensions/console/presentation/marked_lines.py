"""Marks the words that differ between a removed and an added line."""

import re
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, NamedTuple

from chalicelib.extensions.console.presentation.member_names import value_text

if TYPE_CHECKING:
    from chalicelib.extensions.console.presentation.differences import Difference
    from chalicelib.extensions.console.presentation.rendering import Texts

_WORD = re.compile(r"\w+|\W")


class Part(NamedTuple):
    """A part of a line, and whether it is only in this line of the two."""

    text: str
    is_changed: bool


class Line(NamedTuple):
    """A line of a comparison: its parts, and its sign: `-`, `+`, a space, or `…` for lines that are left out."""

    sign: str
    parts: list[Part]


def marked_lines(difference: "Difference", t: "Texts") -> list[Line]:
    """Return a member's changed lines with their surroundings.

    Removed lines are compared in pairs with the added lines that follow them.
    """
    blocks = [(sign, [*lines]) for sign, lines in groupby(difference.lines, key=lambda line: line[:1])]
    before: list[Line] = []
    marked: list[Line] = []
    for sign, lines in blocks:
        block = [Line(sign, [Part(_text(line, difference, t), False)]) for line in lines]
        if sign == "+":
            for index, (old, new) in enumerate(zip(before, block, strict=False)):
                block[index], marked[len(marked) - len(before) + index] = _compare(old, new)
        marked, before = marked + block, block if sign == "-" else []
    return marked


def _text(line: str, difference: "Difference", t: "Texts") -> str:
    return value_text(line, difference, t) if line[:1] in ("-", "+") else line[1:]


def _compare(old: Line, new: Line) -> tuple[Line, Line]:
    """Return the new and the old line. The words between their equal beginnings and ends are marked.

    Lines without an equal beginning or end have no marks.
    """
    words, others = (_WORD.findall(line.parts[0].text) for line in (old, new))
    start = _count_equal(words, others)
    end = _count_equal(words[start:][::-1], others[start:][::-1])
    if not start + end:
        return new, old
    return Line("+", _parts(others, start, end)), Line("-", _parts(words, start, end))


def _count_equal(words: list[str], others: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words, others, strict=False)))


def _parts(words: list[str], start: int, end: int) -> list[Part]:
    stop = len(words) - end
    parts = [
        Part("".join(words[:start]), False),
        Part("".join(words[start:stop]), True),
        Part("".join(words[stop:]), False),
    ]
    return [part for part in parts if part.text]


FILTERS = {"marked_lines": marked_lines}
