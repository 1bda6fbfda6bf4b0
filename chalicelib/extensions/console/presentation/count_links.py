"""The links from counts to the lists of the records that they count. A link is a path in the workspace's console."""

from collections.abc import Iterable, Mapping
from typing import Any

from chalicelib import clock, extensions
from chalicelib.extensions.console.access.calls import query_string
from chalicelib.extensions.console.access.sessions import Session

_REPORTS: Any = extensions.service("series")
_DAY_SECONDS = 24 * 60 * 60
# The values of a dimension that combine other values.
_SUMS = (_REPORTS.UNKNOWN, _REPORTS.OTHER)


def of_totals(session: Session, period: Any, agent_id: str = "") -> dict[str, str]:
    """Return the links of a period's totals, by count, for the lists that the person may open.

    The list of leads has UTC days, so the total of a period with other days has no link.
    """
    links = {"conversations": of_conversations(session, period, agent=agent_id)}
    if "/leads" in session.pages and not (period.start % _DAY_SECONDS or period.end % _DAY_SECONDS):
        first, last = (clock.iso(edge)[:10] for edge in (period.start, period.end - 1))
        links["leads"] = "/leads" + query_string({"agent": agent_id, "from": first, "to": last})
    return links


def of_charts(session: Session, names: Iterable[str], days: int) -> dict[str, str]:
    """Return the links to the analytics page's charts of the last days, or none if the person may not open the page."""
    if "/analytics" not in session.pages:
        return {}
    return {name: "/analytics" + query_string({"days": days, "chart": name}) for name in names}


def of_breakdowns(session: Session, figures: Mapping[str, str], days: int) -> dict[str, str]:
    """Return the links to the analytics page's breakdowns of these figures, or none if the person may not open it."""
    if "/analytics" not in session.pages:
        return {}
    queries = {by: query_string({"days": days, "by": by, "chart": figure}) for by, figure in figures.items()}
    return {by: f"/analytics{query}#breakdown" for by, query in queries.items()}


def of_conversations(session: Session, period: Any, **filters: str) -> str:
    """Return the link to the conversations that began in a period, or an empty string if the person may not open it."""
    query = {"tab": "all", "from": period.start, "to": period.end, **filters}
    return f"/convos{query_string(query)}" if "/convos" in session.pages else ""


def of_origin(session: Session, period: Any, origin: str, agent_id: str = "") -> str:
    """Return the link to an origin's conversations, or an empty string if the origin combines several."""
    return "" if origin in _SUMS else of_conversations(session, period, agent=agent_id, origin=origin)
