"""The number of requests per operation, in one table.

Requests to the database, KMS and the queues are counted at the SDK clients. The credential is cached, as in a warm
process. The tests below the table count requests with a cold cache. For capacity units, see `capacity.py`.
"""

from typing import Any

import pytest

from app import app
from chalicelib.agents import store as agents
from chalicelib.http import auth
from chalicelib.storage import keyring
from tests.api import Api
from tests.builders import state_body
from tests.engine_requests import counted
from tests.operation_cases import (
    BATCH,
    CASES,
    GET,
    QUERY,
    TRANSACT,
    UPDATE,
    WRITES,
    Case,
    Service,
    large,
    path_of,
)
from tests.operation_cases import service as service
from tests.selection import first_case


def test_every_operation_is_in_the_table() -> None:
    """Require that a new operation has its cost in `contract/routes.json` or a case in `operation_cases`."""
    operations = {f"{method} {route}" for route, methods in app.routes.items() for method in methods}
    assert {case.operation for case in CASES} == {
        operation for operation in operations if not auth.is_open(operation.split()[1])
    }


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
@first_case
def test_an_operation_costs_its_listed_requests(case: Case, service: Service) -> None:
    method = case.operation.split()[0]
    path = path_of(case, service)
    service.api.get("/v2/clients")
    with counted() as requests:
        answer = service.api.call(method, path, case.body)
    assert answer.status == (404 if case.id == "unknown agent read" else 200), answer.text
    assert requests == case.costs


@pytest.mark.parametrize("page", [1, 2])
def test_the_counted_pages_are_full(page: int, service: Service) -> None:
    data = service.api.get(f"/v2/agents/busy/convos?page={page}").data
    assert len({one["ID"] for one in data}) == 20


# With an `Idempotency-Key`, one more request looks up the key. The operation's commit also stores the response.


@pytest.mark.parametrize(
    ("method", "path", "body", "first"),
    [
        ("POST", "/v3/agents/support/tools", {"tool": {"name": "New"}}, {GET: 2, TRANSACT: 1}),
        ("PATCH", "/v3/agents/support", {"agent": {"title": "Keyed"}}, {GET: 1, QUERY: 1, TRANSACT: 1}),
        ("POST", "/agents/support/interact/user-1/state", state_body("keyed"), {GET: 1, BATCH: 1, TRANSACT: 1}),
    ],
    ids=["tool create", "agent save", "state replace"],
)
@first_case
def test_a_key_costs_a_look_up_and_a_replay_nothing_else(
    method: str, path: str, body: Any, first: dict[str, int], service: Service
) -> None:
    key = f"counted {path} {len(str(body))}".replace(" ", "-")
    headers = {**service.api._headers, "Content-Type": "application/json", "Idempotency-Key": key}
    service.api.get("/v2/clients")
    costs = []
    for _ in range(2):
        with counted() as requests:
            assert service.api.call(method, path, body, headers).status == 200
        costs.append(dict(requests))
    assert costs == [first, {GET: 1}]


def test_a_key_of_a_request_that_changes_nothing_costs_two_look_ups(service: Service) -> None:
    headers = {**service.api._headers, "Content-Type": "application/json", "Idempotency-Key": "counted-nothing"}
    service.api.get("/v2/clients")
    for _ in range(2):
        with counted() as requests:
            assert service.api.call("PATCH", "/v3/agents/support", {"agent": {}}, headers).status == 200
        assert requests == {GET: 1, QUERY: 1, "TransactGetItems": 1}


def test_a_large_answer_costs_one_more_request_per_write_and_read(service: Service) -> None:
    path = "/agents/support/interact/keyed/state"
    headers = {**service.api._headers, "Content-Type": "application/json", "Idempotency-Key": "counted-large"}
    service.api.get("/v2/clients")
    costs = []
    for _ in range(2):
        with counted() as requests:
            assert service.api.call("POST", path, large(3), headers).status == 200
        costs.append(dict(requests))
    assert costs == [{GET: 1, BATCH: 1, TRANSACT: 1, WRITES: 1}, {GET: 1, BATCH: 1}]


# Requests outside the table: requests in processes whose cache has expired, and invalid requests


def test_the_first_use_of_a_credential_costs_a_look_up_and_a_write(service: Service) -> None:
    token = service.api.post("/v3/tokens", {"token": {"name": "new"}}).data["token"]
    with counted() as requests:
        assert Api(token).get("/v3/agents/support").status == 200
    assert requests == {GET: 1, QUERY: 1, UPDATE: 1}


def test_an_expired_cache_entry_of_a_credential_costs_a_look_up(service: Service) -> None:
    service.api.get("/v2/clients")
    auth.clear_cache()
    with counted() as requests:
        assert service.api.get("/v2/agents/support").status == 200
    assert requests == {GET: 2}


@pytest.mark.parametrize("token", [f"cams_workspace_{'x' * 49}", "anything", ""], ids=["mistyped", "no token", "none"])
@first_case
def test_a_malformed_credential_costs_no_request(token: str, service: Service) -> None:
    with counted() as requests:
        assert Api(token).get("/v3/agents").status == 401
    assert requests == {}


def test_analytics_of_an_uncached_agent_cost_a_look_up(service: Service) -> None:
    service.api.get("/v2/clients")
    agents._known_agents.clear()
    with counted() as requests:
        assert service.api.post("/v2/agents/support/analytics/user-2", {"record": "load"}).status == 200
    assert requests == {GET: 1, UPDATE: 1}


def test_the_first_document_of_a_process_costs_a_key_look_up(service: Service) -> None:
    service.api.get("/v2/clients")
    keyring.current.cache_clear()
    keyring.find.cache_clear()
    with counted() as requests:
        assert service.api.get("/v2/agents/support").status == 200
    assert requests == {GET: 2, "Decrypt": 1}


@pytest.mark.parametrize("body", [b"", b"[]", b'{"unknown": 1}'], ids=["empty", "no object", "unknown member"])
@first_case
def test_an_invalid_body_costs_no_request(body: bytes, service: Service) -> None:
    service.api.get("/v2/clients")
    with counted() as requests:
        assert service.api.post("/v2/clients/ann", body).status == 400
    assert requests == {}
