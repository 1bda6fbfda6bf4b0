"""One route that reads an agent, with Powertools: its resolver for the API gateway, its validation, the SDK's client.

The code follows https://docs.aws.amazon.com/powertools/python/latest/core/event_handler/api_gateway/.
"""

from typing import Any

import boto3
from aws_lambda_powertools.event_handler import APIGatewayRestResolver
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from boto3.dynamodb.types import TypeDeserializer
from pydantic import BaseModel, ConfigDict

app = APIGatewayRestResolver(enable_validation=True)
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


@app.get("/v3/agents/<agent_id>")
def read_agent(agent_id: str) -> Answer:
    """Read an agent."""
    item = dynamodb.get_item(TableName="peer-agents", Key={"id": {"S": agent_id}}, ConsistentRead=True).get("Item")
    if item is None:
        raise NotFoundError("There is no such agent.")
    agent = Agent(**{name: deserialize(value) for name, value in item.items()})
    return Answer(message="Agent retrieved successfully", data=agent)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Return the response to a gateway event."""
    return app.resolve(event, context)
