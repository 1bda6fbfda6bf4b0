"""Helpers for tests of invalid input: the registered operations, the API and the assertions.

The tests cover every registered route that takes a body, a path value or a query value. Rejected input changes no
record, and no submitted value appears in a response or a log line.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from app import app
from chalicelib.http import auth
from tests.api import Answer, Api
from tests.assertions import logged, refused
from tests.engine_requests import counted
from tests.operations import QUERIES

READS = {"GetItem", "BatchGetItem", "Query"}
# A canary: part of each submitted value, which must not appear in a response or a log line.
CANARY = "canary-4f1c"
NUMBER = 918273645546372819
ROUTES: dict[str, dict[str, Any]] = app.routes


class Operation(NamedTuple):
    """One method of a registered API route."""

    method: str
    route: str
    body: Any
    query: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.method} {self.route}"

    @property
    def is_bounded(self) -> bool:
        """Return whether the operation is a bounded list."""
        declared: bool = ROUTES[self.route][self.method].view_function.operation.bounded
        return declared

    @property
    def is_interaction(self) -> bool:
        return self.route.endswith("/state")


OPERATIONS = [
    Operation(method, route, declared.resolve(declared.body), declared.query)
    for route, methods in ROUTES.items()
    if not auth.is_open(route)
    for method, entry in methods.items()
    for declared in [entry.view_function.operation]
]
WITH_BODY = [operation for operation in OPERATIONS if operation.body is not None]
STATE = "/agents/support/interact/user-1/state"


class Service(NamedTuple):
    """The API of a workspace with one record of each kind, and the path values of these records."""

    api: Api
    values: dict[str, str]

    def path(self, route: str, **values: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda name: {**self.values, **values}.get(name[1], "x1"), route)

    def send(self, operation: Operation, body: Any, headers: dict[str, str] | None = None, **values: str) -> Answer:
        """Send a request that asks for errors instead of warnings. `headers` replaces the default content type."""
        headers = {"Content-Type": "application/json"} if headers is None else headers
        strict = {"Prefer": "handling=strict", **self.api._headers}
        path = self.path(operation.route, **values) + QUERIES.get(operation.name, "")
        return self.api.call(operation.method, path, body, {**strict, **headers})


@contextmanager
def harmless() -> Iterator[None]:
    """Assert that the block writes nothing and logs none of the submitted values."""
    with counted() as requests, logged() as log:
        yield
    assert requests.keys() <= READS
    assert not [line for line in log.lines if CANARY in line or str(NUMBER) in line]


def assert_refused(
    answer: Answer, operation: Operation, *paths: str, status: int = 400, code: str | None = None
) -> str:
    """Assert the error envelope, and that it contains no submitted value; return its message."""
    message = refused(answer, status, *paths, interaction=operation.is_interaction, code=code)
    shown = answer.text + str(answer.headers)
    assert CANARY not in shown
    assert str(NUMBER) not in shown
    return message


def every(operations: list[Operation]) -> Any:
    return pytest.mark.parametrize("operation", operations, ids=[operation.name for operation in operations])
