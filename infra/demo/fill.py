"""Fill a run's workspace: agents, tools and people through the API, and their history through the stores."""

import secrets
from typing import Any, Protocol

import click

from chalicelib import clock
from chalicelib.storage import keyring
from infra.demo import history, plan, texts

_PASSWORD_BYTES = 12
_SECONDS = plan.DAYS * 24 * 60 * 60


class Service(Protocol):
    """A workspace's API."""

    workspace_id: str

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request. Return its `data`, or None if a GET finds no record."""


def is_filled(service: Service) -> bool:
    """Return whether the demonstration data is complete, that is, whether the organisation exists.

    Raise ClickException if its agents have since been deleted.
    """
    if service.call("GET", f"/v2/orgs/{texts.ORGANISATION}") is None:
        return False
    for agent_id in texts.AGENTS:
        if service.call("GET", f"/v3/agents/{agent_id}") is None:
            raise click.ClickException(
                f"The agent {agent_id} has been deleted. Choose another STATE for a new demonstration."
            )
    return True


def fill(service: Service, conversations: int) -> list[plan.Visit]:
    """Create all missing records and return the visits.

    The history ends at the creation of the agents, so an interrupted run continues with the same records.
    """
    keyring.ensure_data_key()
    moment = min(_create_agent(service, agent_id) for agent_id in texts.AGENTS)
    for client_id, client in texts.CLIENTS.items():
        # Without a password, the console would list people who answer conversations as not yet invited.
        person = {**client, "orgId": texts.ORGANISATION, "dashboardPassword": secrets.token_urlsafe(_PASSWORD_BYTES)}
        service.call("POST", f"/v2/clients/{client_id}", person)
    visits = plan.draw(moment, conversations)
    history.write(service.workspace_id, moment, visits)
    organisation = {"name": "Harbour Group", "widgetIDs": [*texts.AGENTS], "adminIDs": [*texts.CLIENTS]}
    _add_webhook(service)
    service.call("POST", f"/v2/orgs/{texts.ORGANISATION}", organisation)
    return visits


def let_sign_in(service: Service) -> dict[str, str]:
    """Set a new console password for the first client. Return the client's email and the password."""
    client_id, client = next(iter(texts.CLIENTS.items()))
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    service.call("POST", f"/v2/clients/{client_id}", {"dashboardPassword": password, "isOrgAdmin": True})
    return {"email": client["email"], "password": password}


def _add_webhook(service: Service) -> None:
    """Create a webhook that fails, and test it, unless the workspace has webhooks. No server has its address."""
    if not service.call("GET", "/v3/webhooks"):
        webhook = service.call("POST", "/v3/webhooks", {"webhook": texts.WEBHOOK})
        service.call("POST", f"/v3/webhooks/{webhook['id']}/test")


def _create_agent(service: Service, agent_id: str) -> int:
    """Create an agent with its tools, backdated by 90 days, unless it exists. Return its Unix creation time."""
    path = f"/v3/agents/{agent_id}"
    if service.call("GET", path) is None:
        first = {"agentPlatform": "vg", "title": texts.AGENTS[agent_id]["title"]}
        service.call("POST", f"/v2/agents/{agent_id}", first)
        service.call("PATCH", path, {"agent": texts.AGENTS[agent_id]})
        for tool in texts.TOOLS[agent_id]:
            service.call("POST", f"{path}/tools", {"tool": tool})
    created: int = service.call("GET", path)["createdAtUNIX"]
    if created + _SECONDS // 2 < clock.seconds():  # an interrupted run has already backdated the agent
        return created + _SECONDS
    history.backdate(service.workspace_id, agent_id, created - _SECONDS)
    return created
