"""Says what a change did to a person's or an organisation's rights, or a webhook's state, for the audit log.

The history contains no values. If a record still has the version that a change wrote, its values are those after the
change.
"""

from typing import TYPE_CHECKING, NamedTuple

from chalicelib.extensions.console.presentation import pages
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.extensions.console.presentation.rendering import Texts

_KINDS = ("clients", "orgs", "webhooks")
_PASSWORD, _PAGES = "dashboardPassword", "canAccess"
_GRANTED, _FLAGS = ("isOrgAdmin", "canSelfEdit"), ("disabled", "disallowAnyTags")
_ENABLED = "enabled"
MEMBERS = (*_GRANTED, *_FLAGS, _PAGES, _ENABLED)
"""The members of people, organisations and webhooks whose values the audit log may show."""


class ChangedRight(NamedTuple):
    """A changed member and its value after the change. `is_set` is whether a flag is set, or None for other members."""

    path: str
    text: str
    is_set: bool | None


class Outcomes(NamedTuple):
    """The changed rights whose outcome is known, and the paths of the other changed members."""

    rights: list[ChangedRight]
    others: list[str]


def of_change(change: Document, t: "Texts") -> Outcomes:
    """Return the outcomes of a change. The change's `record` is the `RecordName` of the stored record, or None."""
    record = change["record"]
    rights = record.rights if record and record.version == change["id"] else None
    has_rights = change["resource"].partition("/")[0] in _KINDS
    changed = dict.fromkeys(path.partition(".")[0] for path in change["changed"] if has_rights)
    outcomes = ((path, _outcome(path, rights, t)) for path in changed)
    known = {path: ChangedRight(path, *outcome) for path, outcome in outcomes if outcome}
    return Outcomes([*known.values()], [path for path in change["changed"] if path.partition(".")[0] not in known])


def _outcome(path: str, rights: Document | None, t: "Texts") -> tuple[str, bool | None] | None:
    if path == _PASSWORD:
        return t("right.changed"), None
    if rights is None or path not in MEMBERS:
        return None
    value = rights.get(path)
    if path == _PAGES:
        return ", ".join(t(f"page{page}") for page in pages.NAVIGATION if value is None or page in value) or "–", None
    if path == _ENABLED:
        return " → ".join(t("enabled" if one else "paused") for one in (not value, value)), bool(value)
    if path in _GRANTED:
        return t("right.granted" if value else "right.removed"), bool(value)
    return t("yes" if value else "no"), bool(value)
