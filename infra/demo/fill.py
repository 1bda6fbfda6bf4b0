"""Fills the workspace of a run: agents, tools and people through the API, their history through the stores."""

import secrets
from collections.abc import Callable
from datetime import datetime
from typing import Any

from chalicelib.storage import keyring
from infra.demo import history, plan, texts
from infra.demo.service import Service
from infra.local.children import RunError

_PASSWORD_BYTES = 12
_DAY = 24 * 60 * 60


def is_filled(service: Service) -> bool:
    """Whether the demonstration data is complete: the organisation is made last.

    Raises RunError if one of its agents has been deleted since.
    """
    if service.call("GET", f"/v2/orgs/{texts.ORGANISATION}") is None:
        return False
    for agent_id in texts.AGENTS:
        if service.call("GET", f"/v3/agents/{agent_id}") is None:
            raise RunError(f"The agent {agent_id} has been deleted. Choose another STATE for a new demonstration.")
    return True


def fill(service: Service, conversations: int, progress: Callable[[int], Any]) -> list[plan.Visit]:
    """Make everything that is missing; return the visits. `progress` takes the number of records to a progress bar.

    The history ends where the first tool was made, so an interrupted run continues with the same records.
    """
    moment = min(_make_agent(service, agent_id) for agent_id in texts.AGENTS)
    for client_id, client in texts.CLIENTS.items():
        service.call("POST", f"/v2/clients/{client_id}", {**client, "orgId": texts.ORGANISATION})
    visits = plan.draw(moment, conversations)
    keyring.ensure_data_key()
    for agent_id in texts.AGENTS:
        history.backdate(service.workspace_id, agent_id, moment - plan.DAYS * _DAY)
    with progress(history.count_rows(visits)) as bar:
        history.write(service.workspace_id, moment, visits, bar.update)
    organisation = {"name": "Harbour Group", "widgetIDs": [*texts.AGENTS], "adminIDs": [*texts.CLIENTS]}
    service.call("POST", f"/v2/orgs/{texts.ORGANISATION}", organisation)
    return visits


def let_sign_in(service: Service) -> dict[str, str]:
    """Give the first client another password for the console; return its email and the password."""
    client_id, client = next(iter(texts.CLIENTS.items()))
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    service.call("POST", f"/v2/clients/{client_id}", {"dashboardPassword": password, "isOrgAdmin": True})
    return {"email": client["email"], "password": password}


def _make_agent(service: Service, agent_id: str) -> int:
    """Make an agent with its tools unless it exists; return when its first tool was made, in Unix seconds."""
    path = f"/v3/agents/{agent_id}"
    found = service.call("GET", path)
    if found is None:
        service.call(
            "POST", f"/v2/agents/{agent_id}", {"agentPlatform": "vg", "title": texts.AGENTS[agent_id]["title"]}
        )
        service.call("PATCH", path, {"agent": texts.AGENTS[agent_id]})
        found = service.call("GET", path)
    made = {tool["name"] for tool in found["tools"]}
    for tool in texts.TOOLS[agent_id]:
        if tool["name"] not in made:
            service.call("POST", f"{path}/tools", {"tool": tool})
    tools = service.call("GET", f"{path}/tools")
    return min(int(datetime.fromisoformat(tool["createdAt"].replace("Z", "+00:00")).timestamp()) for tool in tools)
