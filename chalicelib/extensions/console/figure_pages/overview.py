"""The overview page: the conversations waiting for a person, and the counts for the last days."""

from functools import partial

from chalice.app import Response

from chalicelib import extensions
from chalicelib.extensions.console.access import colleagues, guard, visible_agents
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.inbox_pages import inbox, previews
from chalicelib.extensions.console.presentation import bots
from chalicelib.http.lazy_module import LazyModule
from chalicelib.storage import Document

_counts = LazyModule("chalicelib.extensions.console.figure_pages.overview_counts")
_organisations = LazyModule("chalicelib.extensions.console.access.organisation_list")
_steps = LazyModule("chalicelib.extensions.console.figure_pages.first_steps")
_MAX_WAITING = 5


@signed_in("/overview")
def read_overview(session: Session) -> Response:
    """Show the conversations waiting for a person and, with the reports extension, the counts for the last days.

    Besides the requests for the agents and the inbox, the page costs two per agent if the reports extension is enabled.
    For an operator, the first steps of an almost empty workspace, and known failures of webhooks, cost more.
    """
    titles, has_more = visible_agents.read(session)
    titles = _organisations.with_organisations(session, titles)
    counts = _counts.read(session, titles) if extensions.has("reports") else {"report": None}
    first_steps = _steps.read(session, titles, counts["report"])
    values = {
        **counts,
        **_waiting(session),
        "titles": titles,
        "has_more_agents": has_more,
        **first_steps._asdict(),
        "failing_bot": first_steps.failing_bot or _failing_bot(session),
    }
    return guard.page(session, "overview.html", "/overview", **values)


def _failing_bot(session: Session) -> Document | None:
    """Return a bot's webhook that is known to fail, or None. If any webhook is, this costs one request."""
    hooks = bots.webhooks() if session.client_id is None and session.failing else []
    failing = bots.find_failing(hooks, session.failing or ())
    return next((hook for hook in hooks if hook["id"] == failing), None)


def _waiting(session: Session) -> Document:
    """Return the template variables for the conversations that wait the longest, and the number of all that wait.

    If one of them is assigned to a person, this also costs the request for the person's colleagues.
    """
    waiting = inbox.read(session)
    first = waiting.conversations["waiting"][:_MAX_WAITING]
    return {
        "waiting": first,
        "colleagues": dict(colleagues.list_assignees(session, first)),
        "waiting_count": waiting.counts["waiting"],
        "hours_of_long_wait": inbox.hours_of_long_wait,
        "since_of": previews.since,
        "place": partial(previews.place, session),
    }
