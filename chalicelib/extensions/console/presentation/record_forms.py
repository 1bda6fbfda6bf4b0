"""The forms that change a record: their conflicts with other changes, their size, and their choice fields."""

from collections.abc import Callable, Sequence
from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.presentation import differences
from chalicelib.extensions.console.presentation.rendering import Texts

MAX_FORM_BYTES = 150_000
"""The maximum size of a form's fields as HTML, in bytes. The conflict table shows the fields again."""


def conflicts(before: dict[str, Any], values: dict[str, Any]) -> differences.Differences:
    """Return the changes that saving the form would make to the stored record."""
    return differences.between({name: value for name, value in before.items() if name in values}, values)


def save_form(
    sent: dict[str, str],
    tag: str,
    stored: dict[str, Any],
    values: dict[str, Any],
    show: Callable[..., Response],
    save: Callable[[], Response],
) -> Response:
    """Return the response of `save`, or show the form again with its conflicts or its error.

    If the record's entity tag is not the form's, `stored` and `values` are compared: the stored and submitted values.
    """
    if sent.get("tag") != tag and (changes := conflicts(stored, values)):
        return show(conflicts=changes)
    try:
        return save()
    except errors.ApiError as error:
        return show(error=error)


def choices(t: Texts, empty: str, group: str, known: Sequence[str], stored: str | None) -> list[tuple[str, str]]:
    """Return the options of a choice field: an empty one, the known values, and a stored value that is not known.

    `empty` is the text of the first option, and `group` the prefix of the other texts.
    """
    others = [stored] if stored and stored not in known else []
    return [("", t(empty)), *((choice, t.named(group, choice)) for choice in (*known, *others))]
