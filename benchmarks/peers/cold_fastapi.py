"""One route that reads an agent, with FastAPI, Mangum as the adapter for the gateway, and the SDK's client.

The code follows https://fastapi.tiangolo.com/tutorial/ and https://mangum.fastapiexpert.com/.
"""

import boto3
from boto3.dynamodb.types import TypeDeserializer
from fastapi import FastAPI, HTTPException
from mangum import Mangum
from pydantic import BaseModel, ConfigDict

app = FastAPI()
dynamodb = boto3.client("dynamodb")
deserialize = TypeDeserializer().deserialize


class Agent(BaseModel):
    """An agent. Unknown members are kept."""

    model_config = ConfigDict(extra="allow")

    ID: str
    id: str
    title: str
    createdAtUNIX: int
    lastModified: int


class Answer(BaseModel):
    """The envelope."""

    success: bool = True
    message: str
    data: Agent


@app.get("/v3/agents/{agent_id}")
def read_agent(agent_id: str) -> Answer:
    """Read an agent."""
    item = dynamodb.get_item(TableName="peer-agents", Key={"id": {"S": agent_id}}, ConsistentRead=True).get("Item")
    if item is None:
        raise HTTPException(status_code=404, detail="There is no such agent.")
    agent = Agent(**{name: deserialize(value) for name, value in item.items()})
    return Answer(message="Agent retrieved successfully", data=agent)


handler = Mangum(app, lifespan="off")
