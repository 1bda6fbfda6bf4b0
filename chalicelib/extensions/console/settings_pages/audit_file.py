"""The lines of the audit log's CSV file, which contain the old and new values that the page shows."""

from collections.abc import Iterable
from typing import Any

from chalicelib.credentials import tokens
from chalicelib.extensions.console.access import acts
from chalicelib.extensions.console.agent_pages.version_excerpts import Excerpts
from chalicelib.extensions.console.presentation.differences import Difference
from chalicelib.extensions.console.presentation.member_names import value_text
from chalicelib.extensions.console.presentation.rendering import Texts
from chalicelib.extensions.console.settings_pages.changed_rights import Outcomes
from chalicelib.http import files
from chalicelib.storage import Document

COLUMNS = (
    "at", "resource", "operation", "changed", "byKind", "byId", "byName", "byPerson", "name", "organisation", "values",
)  # fmt: skip
_ARROW, _BETWEEN = " → ", "; "
_NOT_READ = "…"  # stands for the values that a page does not read, because they would cost a request per record
# What the page calls the acts. In the history, their operation is `create`.
_ACTS = {acts.ERASURE: "start", acts.VIEW: "view", acts.KEY_VIEW: "show"}
_UPDATE, _WITH_VERSIONS = "update", ("agents/", "tools/")


def lines(changes: Iterable[Document], details: Document, t: Texts) -> str:
    """Return a line for each change. `details` are the organisations, rights and excerpts of the page."""
    return "".join(files.csv_line(_cells(one, details, t)) for one in changes)


def _cells(change: Document, details: Document, t: Texts) -> tuple[Any, ...]:
    by, named = change["by"] or {}, change["author"] or {}
    person = named["name"] if named.get("kind") == tokens.SESSION else None
    author = (by.get("kind"), by.get("id"), by.get("name"), person)
    name = change["record"].name if change["record"] else None
    organisation = details["organisation_names"].get(change["id"])
    changed = change["resource"], _ACTS.get(change["act"], change["operation"]), " ".join(change["changed"])
    return change["at"], *changed, *author, name, organisation, _values(change, details, t)


def _values(change: Document, details: Document, t: Texts) -> str | None:
    """Return the values of an update as the page shows them, such as `title: Old → New`, and `…` for others.

    `restoredFrom` is the number of a restored version.
    """
    if change["operation"] != _UPDATE:
        return None
    excerpts: Excerpts | None = details["excerpts"].get(change["resource"], {}).get(change.get("number"))
    outcomes: Outcomes = details["outcomes"][change["id"]]
    texts = [_excerpt(one, t) for one in excerpts.changes] if excerpts else []
    texts = texts or [f"{one.path}: {one.text}" for one in outcomes.rights]
    restored = [f"restoredFrom: {change['restoredFrom']}"] if "restoredFrom" in change else []
    is_partial = excerpts.others if excerpts else change["resource"].startswith(_WITH_VERSIONS)
    return _BETWEEN.join([*restored, *texts, *([_NOT_READ] if is_partial else [])]) or None


def _excerpt(difference: Difference, t: Texts) -> str:
    """Return a member with its old and new value. A value that was added or removed has an arrow, too."""
    by_sign = {line[0]: value_text(line, difference, t) for line in difference.lines}
    before, after = by_sign.get("-", ""), by_sign.get("+", by_sign.get(" ", ""))
    return f"{difference.path}: {before}{_ARROW}{after}".strip()
