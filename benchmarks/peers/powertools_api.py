"""The three operations on Powertools' resolver for the gateway, as its documentation shows: routes return dictionaries.

Validation, logger, tracer and metrics are off. There is no authentication.
"""

from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver

from benchmarks.peers import sealed_store

app = APIGatewayRestResolver()


@app.get("/v3/agents/<agent_id>")
def read_agent(agent_id: str) -> dict[str, Any]:
    """Read an agent."""
    return sealed_store.agent(agent_id)


@app.get("/v2/agents/<agent_id>/convos")
def list_conversations(agent_id: str) -> dict[str, Any]:
    """List the first page."""
    return sealed_store.page(agent_id)


@app.post("/agents/<agent_id>/interact/<user_id>/state")
def replace_state(agent_id: str, user_id: str) -> dict[str, Any]:
    """Replace the turns."""
    return sealed_store.replace(agent_id, user_id, app.current_event.json_body["turns"])


handler = app.resolve
