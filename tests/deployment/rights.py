"""Records the permissions that the functions use, that is, those that IAM would check for their SDK calls.

Calls that the test itself makes, outside invocations, are not recorded.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import pytest
from botocore.client import BaseClient

import tests.api
from app import app
from chalicelib import storage
from infra.deploy.function import API
from infra.deploy.functions import declared_functions
from tests.engines import clear_caches

KEY, RECEIPT_KEY = "key/1", "key/2"
"""Placeholders for keys, because Decrypt calls do not contain a key's ARN, and Sign calls contain an alias."""

MODULES = [import_module(name) for name in {one.handler_string.rpartition(".")[0] for one in app.event_sources}]


class Right(NamedTuple):
    """A permission that a function uses or has: an action on a resource (named without the prefix)."""

    function: str
    action: str
    resource: str

    def __str__(self) -> str:
        return f"{self.function}: {self.action} on {self.resource}"


@contextmanager
def recorded() -> Iterator[set[Right]]:
    """Record the permissions that functions use inside the block. Every invocation is a cold start."""
    used: set[Right] = set()
    running: list[str] = []
    send = BaseClient._make_api_call

    def record(client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        # Patch the common base class of all clients, so that calls to new services are also recorded.
        if running:
            service = client.meta.service_model.service_name
            used.update(Right(running[-1], *one) for one in _permissions(service, operation, parameters))
        return send(client, operation, parameters)

    def with_cold_start(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            clear_caches()
            running.append(name)
            try:
                return function(*arguments)  # the invocation must leave no thread running
            finally:
                running.pop()

        return run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseClient, "_make_api_call", record)
        patch.setattr(tests.api, "app", with_cold_start(API, app))
        for name in (one.name for one in declared_functions() if one.name != API):
            (module,) = (one for one in MODULES if hasattr(one, name))
            patch.setattr(module, name, with_cold_start(name, getattr(module, name)))
        yield used


def _permissions(service: str, operation: str, parameters: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the permissions that a call needs. Transactions need the permissions of their operations."""
    if "TransactItems" in parameters:
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
    elif service == "ses":
        yield f"ses:{operation}", "identity/*"
    else:
        key = RECEIPT_KEY if operation == "Sign" else KEY
        yield f"{service}:{operation}", key if service == "kms" else "*"


def _table(name: str) -> str:
    return f"table/{name.removeprefix(storage.table(''))}"
