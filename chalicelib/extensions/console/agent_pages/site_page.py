"""The page with which an operator, or the operator's developer, puts an agent's chat on a site."""

from chalice.app import Response

from chalicelib.extensions.console.access import acts, calls, guard, rights
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.agent_pages import agent_facts, site_files, site_visitors
from chalicelib.extensions.console.presentation import pages
from chalicelib.http import current_request
from chalicelib.http.privileges import AGENT_KEY
from chalicelib.storage import Document

_AGENT = "/v3/agents/{agent_id}"


@signed_in("/agents")
def read_site(session: Session, agent_id: str) -> Response:
    """Show the steps, and whether a visitor has written. The query parameter `server` selects an example server."""
    rights.require_operator(session)
    agent = calls.get(_AGENT, agent_id=agent_id)["data"]
    return _page(session, agent, current_request.query_value("server"))


@signed_in("/agents")
def show_key(session: Session, agent_id: str) -> Response:
    """Show the steps with the agent key. Only a form opens this page, so it is not in the browser's history."""
    rights.require_operator(session)
    agent = rights.with_secrets(session, lambda: calls.get(_AGENT, agent_id=agent_id)["data"])
    acts.stage(session, acts.KEY_VIEW, agent_id)
    return _page(session, agent, guard.form().get("server"), agent.get(AGENT_KEY) or "")


def _page(session: Session, agent: Document, server: str | None, key: str | None = None) -> Response:
    """Return the page. Without a key, `key` is empty, and None while the page does not show it.

    This costs the requests of `site_visitors.read_newest` and `agent_facts.read`.
    """
    selected = server if server in site_files.SERVERS else site_files.PYTHON
    facts, names = agent_facts.read(session, [agent["ID"]]), (*site_files.WIDGET, selected)
    return guard.page(
        session,
        "site.html",
        "/agents",
        record=agent,
        facts=facts,
        files={name: site_files.query(name, agent, bool(facts.has_bot)) for name in names},
        servers=site_files.SERVERS,
        server=selected,
        address=site_files.ADDRESS,
        embed=site_files.EMBED,
        code=site_files.read(selected, agent["ID"]),
        service=pages.service_url(),
        visitor=site_visitors.read_newest(agent["ID"]),
        key=key,
    )
