"""The page that shows operators an agent's key. The agent's server calls the API with this key."""

from chalice.app import Response

from chalicelib.extensions.console import calls, guard, rights
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http.privileges import AGENT_KEY


@signed_in("/agents")
def show_key(session: Session, agent_id: str) -> Response:
    """Show an agent's key. Only a form opens this page, so the page is not in the browser's history."""
    rights.require_operator(session)
    agent = rights.with_secrets(session, lambda: calls.get("/v3/agents/{agent_id}", agent_id=agent_id)["data"])
    return guard.page(session, "agent_key.html", "/agents", agent=agent, key=agent.get(AGENT_KEY))
