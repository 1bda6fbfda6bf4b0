"""The number of waiting conversations as a session's last request counted it, so that every page can begin with it.

The number is kept while the process caches the session, at most 30 seconds. A page shows it until its script receives
the current number.
"""

from chalicelib.extensions.console.access.sessions import Session
from chalicelib.storage import Document

_COUNT = "waiting conversations"


def keep(session: Session, count: str) -> None:
    """Keep a count of the inbox that the person sees."""
    if session.remembered is not None:
        session.remembered[_key(session)] = count


def template_values(session: Session) -> Document:
    """Return the template variable for the navigation, or nothing if the number is unknown. This costs no request."""
    count = (session.remembered or {}).get(_key(session))
    return {} if count is None else {"last_count": count}


def _key(session: Session) -> str:
    """Return the key for the agents that the person sees: an operator can select others, and view pages as a client."""
    selected = (session.selected or {}).get("ID", "")
    return "/".join((_COUNT, session.viewed_client_id or "", selected, session.other_agent or ""))
