"""Tests of the served routes against `routes.json`, which lists the specification's routes (section 4) and our own.

They cover the operations, the paths that API Gateway accepts, and the operations that need no credential.
`tests/test_isolation.py` tests the credentials of all other operations.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from chalice.test import Client

import chalicelib
from app import app
from chalicelib.http import auth
from tests import operations
from tests.selection import one_of_each

ROUTES: dict[str, Any] = json.loads(Path(__file__).with_name("routes.json").read_text(encoding="utf-8"))
OPERATIONS: list[dict[str, str]] = [*operations.ROUTES.values()]
GUARDED = [operation for operation in OPERATIONS if operation["credential"] != "none"]
OPEN = [operation for operation in OPERATIONS if operation["credential"] == "none"]


def name_of(operation: dict[str, str]) -> str:
    return f"{operation['method']} {operation['path']}"


def served() -> set[tuple[str, str]]:
    """Return the API operations that the app serves, as (method, path) pairs."""
    api = {path: methods for path, methods in app.routes.items() if not auth.is_open(path) or path in auth.OPEN_ROUTES}
    return {(method, path) for path, methods in api.items() for method in methods}


def test_a_route_of_the_specification_and_no_other_names_its_section() -> None:
    """In each `routes.py`, a comment marks every operation that the specification requires."""
    pattern = re.compile(r'^@routes\.route\("(.+?)", methods=\["(\w+)"\].*\)  # §(.+)$', re.MULTILINE)
    sources = (Path(chalicelib.__file__).parent).rglob("*.py")
    marked = [mark for source in sources for mark in pattern.findall(source.read_text(encoding="utf-8"))]
    assert sorted(marked) == sorted((one["path"], one["method"], one["section"]) for one in ROUTES["specification"])


def variable_conflicts(paths: Iterable[str]) -> set[frozenset[str]]:
    """Return each set of different variable names at one path position, because API Gateway rejects them.

    Two paths share a prefix if the prefix's fixed segments are equal; variable names do not matter.
    """
    names: dict[tuple[str, ...], set[str]] = {}
    for path in paths:
        prefix: tuple[str, ...] = ()
        for segment in path.strip("/").split("/"):
            if segment.startswith("{"):
                names.setdefault(prefix, set()).add(segment)
                segment = "{}"
            prefix = (*prefix, segment)
    return {frozenset(variables) for variables in names.values() if len(variables) > 1}


def call(operation: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
    """Call an operation with plausible ids, and with a body if it takes one; return the status and the raw body."""
    path = re.sub(r"\{\w+\}", "x1", operation["path"])
    body = b"" if operation["method"] in ("GET", "DELETE") else b"{}"
    with Client(app) as client:
        response = client.http.request(
            operation["method"], path, headers={"Content-Type": "application/json", **headers}, body=body
        )
    return response.status_code, response.body


def test_the_specification_has_seventeen_operations() -> None:
    assert len({name_of(operation) for operation in ROUTES["specification"]}) == 17


def test_no_operation_is_listed_twice() -> None:
    names = [name_of(operation) for operation in OPERATIONS]
    assert len(set(names)) == len(names)


def test_every_operation_names_a_known_credential() -> None:
    assert {operation["credential"] for operation in OPERATIONS} == ROUTES["credentials"].keys()


@one_of_each(lambda operation: operation["method"])
@pytest.mark.parametrize("operation", ROUTES["specification"], ids=name_of)
def test_a_path_equals_the_specification_s_except_for_variable_names(operation: dict[str, str]) -> None:
    ours, written = (
        re.sub(r"\{\w+\}", "{}", path) for path in (operation["path"], operation.get("asWritten", operation["path"]))
    )
    assert ours == written


def test_the_app_serves_exactly_the_specification_and_our_additions() -> None:
    listed = {(operation["method"], operation["path"]) for operation in OPERATIONS}
    missing, unlisted = listed - served(), served() - listed
    assert (missing, unlisted) == (set(), set())


def test_all_paths_use_the_same_variable_name_at_one_position() -> None:
    """API Gateway rejects different names at one position during deployment, and Chalice does not detect them."""
    assert variable_conflicts(app.routes) == set()


@pytest.mark.parametrize(
    ("paths", "conflicts"),
    [
        pytest.param(["/a/{x}", "/a/{y}/b"], {frozenset({"{x}", "{y}"})}, id="the specification's own case"),
        pytest.param(["/a/{x}/b/{y}", "/a/{x}/b/{z}"], {frozenset({"{y}", "{z}"})}, id="below an equal variable"),
        pytest.param(["/a/{x}/b/{y}", "/a/{w}/b/{y}"], {frozenset({"{x}", "{w}"})}, id="above an equal variable"),
        pytest.param(["/a/{x}", "/b/{y}"], set(), id="other prefix"),
        pytest.param(["/a/{x}/b", "/a/{x}/c/{y}"], set(), id="same name"),
        pytest.param(["/a/{x}", "/a/fixed"], set(), id="a variable and a fixed segment"),
    ],
)
def test_the_check_of_variable_names_detects_only_conflicts(paths: list[str], conflicts: set[frozenset[str]]) -> None:
    assert variable_conflicts(paths) == conflicts


@pytest.mark.parametrize("operation", OPEN, ids=name_of)
def test_the_documentation_is_served_without_a_token(operation: dict[str, str]) -> None:
    status, _ = call(operation, {})
    assert status not in (401, 403)


def test_only_the_documentation_is_open() -> None:
    assert {operation["path"] for operation in OPEN} == {"/", "/openapi.json", "/docs", "/docs/{asset}"}
    assert {operation["path"] for operation in OPEN} == auth.OPEN_ROUTES
