"""Finds the webhooks that fail. Pages show their number beside Settings while it is known.

A webhook fails if its newest event failed. Tests do not count, because they also go to webhooks that are not ready.

Reading them costs about nine requests per webhook. Therefore, only `/settings` reads all of them, and a cookie keeps
their ids for ten minutes. A webhook's own page updates this webhook in the cookie. Without the cookie, the other pages
show no number.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from chalice.app import Response

from chalicelib import errors, ids
from chalicelib.extensions.console.access import calls, cookies
from chalicelib.extensions.console.presentation import pages
from chalicelib.http import current_request
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.extensions.console.access.sessions import Session

COOKIE, _SECONDS = "__Secure-cams-failing", 10 * 60
FAILED = ("failed", "expired", "unknown")
"""The statuses of deliveries that failed, or whose result is unknown."""
# The maximum number of webhooks that are checked, and how many deliveries of each are read. The newest may be tests or
# pending. Reading 20 costs as many requests and units as reading three.
_MAX_CHECKED, _NEWEST = 10, 20
# The cookie contains the ids between these. With no id, it consists of one.
_SEPARATOR = "."


def parse(text: str) -> frozenset[str] | None:
    """Return the ids in a cookie, or None without a cookie."""
    return frozenset(filter(ids.ULID.fullmatch, text.split(_SEPARATOR)[:_MAX_CHECKED])) if text else None


def read(webhooks: Sequence[Document]) -> frozenset[str]:
    """Return the ids of the webhooks that fail, of the first ten."""
    checked = [one for one in webhooks[:_MAX_CHECKED] if one.get("url")]
    return frozenset(one["id"] for one in checked if failure(one, _read_deliveries(one["id"])))


def read_newest_outcome(webhook_id: str) -> Document | None:
    """Return the webhook's newest delivery with an outcome, which may be a test, or None."""
    return _newest_outcome(_read_deliveries(webhook_id))


def _read_deliveries(webhook_id: str) -> list[Document]:
    path = "/v3/webhooks/{webhook_id}/deliveries"
    return list(calls.get(path, {"limit": _NEWEST}, webhook_id=webhook_id)["data"])


def failure(webhook: Document, deliveries: Sequence[Document]) -> Document | None:
    """Return the newest event with an outcome if it failed and the webhook is enabled. Otherwise return None."""
    newest = _newest_outcome(without_tests(deliveries)) if webhook["enabled"] else None
    return newest if newest and newest["status"] in FAILED else None


def without_tests(deliveries: Sequence[Document]) -> list[Document]:
    """Return the deliveries of events other than tests."""
    return [one for one in deliveries if not _is_test(one)]


def newest_of_events(deliveries: Sequence[Document], newer: Sequence[Document] = ()) -> list[Document]:
    """Return those of the deliveries, newest first, whose event was not sent again later. Tests are left out.

    `newer` are the webhook's newest deliveries, if `deliveries` may lack them.
    """
    newest: dict[str, str] = {}
    for one in (*newer, *deliveries):
        newest.setdefault(one["eventId"], one["id"])
    return [one for one in without_tests(deliveries) if newest[one["eventId"]] == one["id"]]


def last_test(deliveries: Sequence[Document]) -> Document | None:
    """Return the newest test with an outcome, if any."""
    return _newest_outcome(filter(_is_test, deliveries))


def failing_test(webhook: Document, deliveries: Sequence[Document]) -> Document | None:
    """Return the newest delivery with an outcome if it is a test that failed and the webhook is enabled."""
    newest = _newest_outcome(deliveries) if webhook["enabled"] else None
    return newest if newest and _is_test(newest) and newest["status"] in FAILED else None


def not_counted(deliveries: Sequence[Document], events: Sequence[Document]) -> dict[str, int]:
    """Return how many deliveries the number of delivered events omits, by reason, without reasons that do not apply."""
    others = without_tests(deliveries)
    pending = sum(one["status"] == "pending" for one in events)
    reasons = {"tests": len(deliveries) - len(others), "resent": len(others) - len(events), "pending": pending}
    return {reason: number for reason, number in reasons.items() if number}


def _is_test(delivery: Document) -> bool:
    from chalicelib.webhooks import events

    return bool(delivery["type"] == events.TEST)


def _newest_outcome(deliveries: Iterable[Document]) -> Document | None:
    return next((one for one in deliveries if one["status"] != "pending"), None)


def known(session: "Session", webhooks: Sequence[Document]) -> "Session":
    """Return the session with those of the webhooks that fail, which are read if the cookie does not contain them.

    They stay unknown if reading fails.
    """
    if session.failing is not None:
        return session._replace(failing=session.failing & {one["id"] for one in webhooks})
    with suppress(errors.ApiError):
        return session._replace(failing=read(webhooks))
    return session


def with_newest(session: "Session", webhook: Document, deliveries: Sequence[Document]) -> "Session":
    """Return the session after a webhook's newest deliveries have been read. The other webhooks may be unknown."""
    if session.failing is None:
        return session
    own = {webhook["id"]}
    return session._replace(failing=session.failing | own if failure(webhook, deliveries) else session.failing - own)


def keep(session: "Session", response: Response) -> None:
    """Store the webhooks that fail in the browser's cookie if it contains others."""
    if session.failing is None or session.failing == parse(cookies.read(current_request.request(), COOKIE)):
        return
    value = _SEPARATOR.join(sorted(session.failing)) or _SEPARATOR
    response.headers["Set-Cookie"] = pages.cookie(COOKIE, session.workspace_id, value, _SECONDS)
