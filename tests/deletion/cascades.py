"""Helpers for deletion tests: read stored items, create an agent that owns every kind of record, and run cascades."""

import os
from typing import Any

from moto.sqs.models import sqs_backends

from chalicelib import maintenance, storage
from chalicelib.queues.tasks import ResumeCascade
from tests import moto_tables
from tests.api import Api
from tests.builders import lead_body
from tests.conftest import PassTime

LIST = "/v2/agents/support/convos"
STATE = "/agents/support/interact/ann/state"
HUMAN = [{"from": "human", "messages": [{"from": "human", "item": {"text": "Hello"}}]}]


def items(*tables: str) -> list[dict[str, Any]]:
    """Return every item in these tables, by default in all tables."""
    stored = moto_tables.items()
    names = [storage.table(name) for name in tables] or [*stored]
    return [item for name in names for item in stored[name]]


def records(*tables: str) -> list[dict[str, Any]]:
    """Return every item in these tables except tombstones."""
    return [item for item in items(*tables) if "deleted_at" not in item]


def create(api: Api, number: int) -> list[str]:
    """Create conversations; return their ids, newest first."""
    made = [api.post("/v3/agents/support/convos", {"conversation": {}}).data["id"] for _ in range(number)]
    return made[::-1]


def fill(api: Api, conversations: int = 25) -> None:
    """Create one record of every kind that an agent can own."""
    create(api, conversations)
    api.post("/agents/support/interact/ann/state", {"turns": [{"messages": [{"text": os.urandom(300_000).hex()}]}]})
    api.post("/v3/agents/support/tools", {"tool": {"name": "t"}})
    api.post("/v3/leads", lead_body(name="Ann"))
    for kind in ("load", "convo"):
        api.post("/v2/agents/support/analytics/ann", {"record": kind})


def as_record(body: str) -> dict[str, str]:
    """Return a queue message in the form that the function receives."""
    return {"body": body, "messageId": body, "receiptHandle": ""}


def cascade_messages() -> list[dict[str, str]]:
    """Take the cascade tasks from their queue, ignoring the delay; return the tasks."""
    return task_messages(ResumeCascade)


def task_messages(*kinds: type[Any]) -> list[dict[str, str]]:
    """Take the tasks of these kinds from their queue, ignoring the delay; return the tasks."""
    waiting = sqs_backends["123456789012"]["eu-west-1"].queues[storage.table("maintenance")]
    taken = [one for one in waiting._messages if one.body.startswith(tuple(f'["{kind.__name__}"' for kind in kinds))]
    waiting._messages = [one for one in waiting._messages if one not in taken]
    return [as_record(message.body) for message in taken]


def maintain(records: list[dict[str, str]]) -> None:
    """Run the maintenance function with these messages, and assert that every task succeeds."""
    assert maintenance.maintain({"Records": records}, None) == {"batchItemFailures": []}


def second_run(pass_time: PassTime) -> None:
    """Advance the clock by 90 seconds, and run the maintenance function with the messages in its queue."""
    pass_time(90)
    maintain(cascade_messages())
    assert cascade_messages() == []
