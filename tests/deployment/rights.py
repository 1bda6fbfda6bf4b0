"""Which rights the functions use: every call of any SDK client while one of them runs, as the cloud would check it.

What the test itself asks the engine for, between two runs, is nobody's use.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from botocore.client import BaseClient

import tests.api
from app import app
from chalicelib import storage
from chalicelib.deletion import functions as cascades
from chalicelib.webhooks import functions
from infra.deploy.functions import API, FUNCTIONS
from tests.conftest import forget

KEY = "key/1"
"""The one key that there is: what is opened with it names another thing than its ARN."""


class Right(NamedTuple):
    """What a function does or may do: an action on a resource, which goes without the deployment's name."""

    function: str
    action: str
    resource: str

    def __str__(self) -> str:
        return f"{self.function}: {self.action} on {self.resource}"


@contextmanager
def recorded() -> Iterator[set[Right]]:
    """The rights that the functions use inside the block, each run of them as the first one of its process."""
    used: set[Right] = set()
    running: list[str] = []
    send = BaseClient._make_api_call

    def noted(client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        # At the root of all clients: a function that comes to use another service is noticed as well.
        if running:
            service = client.meta.service_model.service_name
            used.update(Right(running[-1], *one) for one in _checked(service, operation, parameters))
        return send(client, operation, parameters)

    def in_a_new_process(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            forget()
            running.append(name)
            try:
                return function(*arguments)  # it has no thread left when it returns
            finally:
                running.pop()

        return run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseClient, "_make_api_call", noted)
        patch.setattr(tests.api, "app", in_a_new_process(API, app))
        for name in (one.name for one in FUNCTIONS if one.name != API):
            module = functions if hasattr(functions, name) else cascades
            patch.setattr(module, name, in_a_new_process(name, getattr(module, name)))
        yield used


def _checked(service: str, operation: str, parameters: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The actions that a call needs, each with its resource: those of a transaction are its steps'."""
    if operation == "TransactWriteItems":
        for step in parameters["TransactItems"]:
            for kind, inner in step.items():
                yield f"{service}:{kind}Item", _table(inner["TableName"])
    elif "RequestItems" in parameters:
        yield from ((f"{service}:{operation}", _table(name)) for name in parameters["RequestItems"])
    elif "TableName" in parameters:
        index = f"/index/{parameters['IndexName']}" if "IndexName" in parameters else ""
        yield f"{service}:{operation}", _table(parameters["TableName"]) + index
    elif service == "sqs":
        queue = parameters.get("QueueName") or parameters["QueueUrl"].rpartition("/")[2]
        yield f"sqs:{operation.removesuffix('Batch')}", queue.removeprefix(storage.table(""))
    else:
        yield f"{service}:{operation}", KEY if service == "kms" else "*"


def _table(name: str) -> str:
    return f"table/{name.removeprefix(storage.table(''))}"
