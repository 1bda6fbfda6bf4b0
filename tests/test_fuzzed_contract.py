"""Requests that a generator makes up from our OpenAPI document, right ones and wrong ones, for every operation.

None makes the service fail, and each answer is as the document says: its status, its headers, its body; what the
document allows is accepted, what it forbids refused. Not responsible for what an answer means: `reliability/model`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import count
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode, Response
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import positive_data_acceptance

from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.described import document
from tests.engine import shared_engine
from tests.moto_tables import restore, snapshot
from tests.operations import ROUTES, populate
from tests.promises import Shown
from tests.selection import whole

pytestmark = pytest.mark.promise("contract")

FEW, CASES, MANY = 10, 100, 1_000
# Nothing to make up: there is one right request, and wrong ones are of another method or media type.
WITHOUT_INPUT = {"GET /openapi.json", "GET /docs"}
# Of each operation's cases at most: the values at the edge of every rule, of which an agent has thousands.
EDGES = 0.7
# What no schema can say, by the member that is refused: a cursor comes from an answer, an address is public and https,
# and ids in one list differ.
BEYOND_SCHEMAS = re.compile(r"cursor|webhook\.url|agent\.nodes\.\d+\.id|turns\.\d+\.messages\.\d+\.mid")
# The random cases. What fails is shown as it is: to find a smaller one would take long.
_ANY = settings(database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
# Hypothesis draws from the constants of the modules that are loaded, too: the same cases where the same tests run.
SAME = settings(_ANY, derandomize=True)
# Other cases in every run; a failure says with which seed it comes again.
OTHERS = settings(_ANY, derandomize=False)
# By these a right request would mostly be refused for what others have done before.
_CONDITIONS = ("If-Match", "If-None-Match", "Idempotency-Key")


class Stage:
    """A workspace with a record of every kind, and all tables as they were before each case."""

    def __init__(self) -> None:
        key = workspaces.create("Fuzzed").workspace_key
        self.headers = {"Authorization": f"Bearer {key}"}
        chosen = {"agent_id": "support", "user_id": "ann", "client_id": "bo", "org_id": "acme"}
        self.ids = populate(self.headers, "fuzzed", chosen) | {"asset": "page.css"}
        self.tables = snapshot()


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with shared_engine():
        yield Stage()


def gateway(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    """The service as a WSGI application."""
    query = f"?{environ['QUERY_STRING']}" if environ["QUERY_STRING"] else ""
    path = "/" + environ["REQUEST_URI"].partition("?")[0].lstrip("/")
    headers = {name[5:].replace("_", "-").title(): text for name, text in environ.items() if name.startswith("HTTP_")}
    if environ.get("CONTENT_TYPE"):
        headers["Content-Type"] = environ["CONTENT_TYPE"]
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    answer = Api().call(environ["REQUEST_METHOD"], path + query, body or None, headers)
    start(f"{answer.status} -", list(answer.headers.items()))
    return [answer.text.encode()]


@cache
def operations() -> dict[str, Any]:
    """Every operation of the document by method and path, as the generator has it."""
    described = schemathesis.openapi.from_wsgi("/openapi.json", gateway)
    # A parameter that nobody knows is ignored, and 412 is what a condition is for.
    described.config.generation.allow_extra_parameters = False
    accepted = described.config.checks.positive_data_acceptance
    accepted.expected_statuses = [*accepted.expected_statuses, "412"]
    return {found.ok().label: found.ok() for found in described.get_all_operations()}


def test_the_document_says_that_nodes_have_an_id() -> None:
    node = document()["components"]["schemas"]["NodeInput"]
    assert (node["required"], node["properties"]["id"]) == (["id"], {"type": "string", "minLength": 1})


def test_every_route_is_fuzzed(stage: Stage) -> None:
    assert operations().keys() == ROUTES.keys()


@pytest.mark.parametrize("cases", [FEW, pytest.param(CASES, marks=whole)])
@pytest.mark.parametrize("name", ROUTES)
def test_answers_are_what_the_document_says(name: str, cases: int, stage: Stage, shown: Shown) -> None:
    shown(requests=fuzz(name, stage, cases, SAME))


@pytest.mark.long
@pytest.mark.parametrize("name", ROUTES)
def test_answers_are_what_the_document_says_many_times(name: str, stage: Stage, shown: Shown) -> None:
    shown(requests=fuzz(name, stage, MANY, OTHERS))


def fuzz(name: str, stage: Stage, cases: int, chosen: settings) -> int:
    """Send at least so many cases of an operation, and hold each answer against the document; returns how many."""
    operation, sent, statuses = operations()[name], count(), set()

    def send(case: Case) -> None:
        statuses.add(exchange(case, stage, next(sent)))

    edges = edge_cases(operation, int(cases * EDGES))
    for case in edges:
        send(case)
    wrong = (cases - len(edges)) // 3
    for mode, most in ((GenerationMode.NEGATIVE, wrong), (GenerationMode.POSITIVE, cases - len(edges) - wrong)):
        if mode.is_positive or name not in WITHOUT_INPUT:
            made_up(operation, mode, settings(chosen, max_examples=most), send)
    tried = next(sent)
    assert tried >= cases or name in WITHOUT_INPUT
    assert 200 in statuses, "no case has reached a record"
    return tried


def edge_cases(operation: Any, most: int) -> list[Case]:
    """The values at the edges of each rule, every one alone; of too many some of all kinds."""
    generation = operation.schema.config.generation_for(operation=operation, phase="coverage")
    modes = list(GenerationMode)
    cases = list(operation.schema.iter_coverage_cases(operation, generation_modes=modes, generation_config=generation))
    return cases[:: -(-len(cases) // most)]


def made_up(operation: Any, mode: GenerationMode, chosen: settings, send: Callable[[Case], None]) -> None:
    """Send random cases, as many and such as the settings say."""
    chosen(given(case=operation.as_strategy(generation_mode=mode))(lambda case: send(case)))()


def exchange(case: Case, stage: Stage, number: int) -> int:
    """Send a case to where its records are, and check the answer; returns the status."""
    if number % 4 or case.method != case.operation.method.upper():
        lead_to_records(case, stage.ids)
    # A case that is about the credential brings its own.
    headers = None if case.operation.schema.is_security_param_negated(case) else stage.headers
    response = case.call("http://localhost", headers=headers)
    beyond = [positive_data_acceptance] if is_beyond_schemas(response) else []
    case.validate_response(response, headers=headers, excluded_checks=beyond)
    if response.status_code == 200 and case.method != "GET":
        restore(stage.tables)
    return response.status_code


def lead_to_records(case: Case, ids: dict[str, str]) -> None:
    """Put what is there in the place of what is made up; what a case is wrong in stays."""
    right = {location for location, one in case.meta.components.items() if one.mode.is_positive}
    if ParameterLocation.PATH in right:
        case.path_parameters = {name: ids[name] for name in case.path_parameters}
    if ParameterLocation.QUERY in right:
        case.query = {name: value for name, value in case.query.items() if name != "cursor"}
    if ParameterLocation.HEADER in right:
        for name in _CONDITIONS:
            case.headers.pop(name, None)
    if ParameterLocation.BODY in right and isinstance(case.body, dict):
        if "lead" in case.body:
            case.body = {"lead": {**case.body["lead"], "agentId": ids["agent_id"]}}
        if "url" in case.body.get("webhook", {}):
            case.body = {"webhook": {**case.body["webhook"], "url": "https://example.com/hooks"}}


def is_beyond_schemas(response: Response) -> bool:
    """Whether a refusal is for rules that no schema can express, and for nothing else."""
    issues = response.json().get("issues", ()) if response.status_code == 400 else ()
    return bool(issues) and all(BEYOND_SCHEMAS.fullmatch(issue["path"]) for issue in issues)
