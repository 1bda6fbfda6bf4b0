"""The three operations on FastAPI behind Mangum, as their documentation shows.

The path functions are not `async`, because the SDK blocks. The request body is a model, and the response a dictionary.
There is no authentication.
"""

from typing import Any

from fastapi import FastAPI
from mangum import Mangum
from pydantic import BaseModel, Field

from benchmarks.peers import sealed_store


class Message(BaseModel):
    """A message."""

    mid: str
    sender: str = Field(alias="from")
    type: str
    item: dict[str, Any]
    ts: int


class Turn(BaseModel):
    """A turn."""

    sender: str = Field(alias="from")
    messages: list[Message]
    ts: int


class State(BaseModel):
    """The body of the state route."""

    turns: list[Turn]


app = FastAPI()


@app.get("/v3/agents/{agent_id}")
def read_agent(agent_id: str) -> dict[str, Any]:
    """Read an agent."""
    return sealed_store.agent(agent_id)


@app.get("/v2/agents/{agent_id}/convos")
def list_conversations(agent_id: str) -> dict[str, Any]:
    """List the first page."""
    return sealed_store.page(agent_id)


@app.post("/agents/{agent_id}/interact/{user_id}/state")
def replace_state(agent_id: str, user_id: str, state: State) -> dict[str, Any]:
    """Replace the turns."""
    return sealed_store.replace(agent_id, user_id, state.model_dump(by_alias=True)["turns"])


handler = Mangum(app, lifespan="off")
