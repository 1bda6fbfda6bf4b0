"""Valid and invalid requests for every operation, generated from the OpenAPI document.

No request causes a 500 error. Each response's status, headers and body match the document. Requests that the document
allows succeed, and all other requests fail. `reliability/model` checks what the responses mean.
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
from tests import extensions
from tests.api import Api
from tests.engines import new_engine
from tests.guarantees import CaseCounter
from tests.moto_tables import restore, snapshot
from tests.operations import GUARDED, ROUTES, populate
from tests.selection import one_of_each

pytestmark = pytest.mark.guarantee("contract")

FEW, MANY = 10, 1_000
# Maximum number of boundary cases per operation. Agent operations have thousands of boundary cases.
EDGES = 0.7
# Rules that a schema cannot express, keyed by the rejected member: ids in one list are distinct, a cursor comes from an
# earlier response, and a template reference names one of the template's tools. A report's period and number of
# intervals are bounded, and a time zone exists. `after` comes from an earlier response and excludes `limit`, and
# only push endpoints have a `url`. An OpenAI item has the members that its type requires.
BEYOND_SCHEMAS = re.compile(
    r"(agent|agentTemplate(\.agentData)?)\.nodes\.\d+\.id|(turns\.\d+\.)?messages\.\d+\.mid|cursor|range\.(from|to)"
    r"|agentTemplate\.(agentData\.assignedToolsIds|nodes\.\d+\.toolsIds)\.\d+|from|interval|tz|after|version"
    r"|((client|organisation)\.)?timezone"
    r"|webhook\.(url|kind)|items\.\d+\.(type|role|content|id)"
)
# Settings for the random cases. Failing cases are not shrunk, because shrinking takes too long.
_ANY = settings(database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
# Hypothesis also draws constants from the loaded modules, so only runs of the same tests generate the same cases.
DETERMINISTIC = settings(_ANY, derandomize=True)
# Every run generates different cases. A failure prints the seed that reproduces its cases.
RANDOM = settings(_ANY, derandomize=False)
# The stage's endpoint has a URL, so it has no feed.
_OF_PULL_ENDPOINTS = "GET /v3/webhooks/{webhook_id}/events"
# Records from earlier cases would make valid requests with these members fail.
_CONDITIONS = ("If-Match", "If-None-Match", "Idempotency-Key")


class Stage:
    """A workspace with one record of every kind, and the state of all tables before each case."""

    def __init__(self) -> None:
        key = workspaces.create("Fuzzed").workspace_key
        self.headers = {"Authorization": f"Bearer {key}"}
        chosen = {"agent_id": "support", "user_id": "ann", "client_id": "bo", "org_id": "acme"}
        self.ids = populate(self.headers, "fuzzed", chosen)
        self.tables = snapshot()


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with new_engine():
        yield Stage()


def gateway(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    """Serve the API as a WSGI application."""
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
    """Return the generator's operations by method and path."""
    described = schemathesis.openapi.from_wsgi("/openapi.json", gateway)
    # 412 is a regular response to a precondition.
    accepted = described.config.checks.positive_data_acceptance
    accepted.expected_statuses = [*accepted.expected_statuses, "412"]
    return {found.ok().label: found.ok() for found in described.get_all_operations()}


def test_every_route_is_fuzzed(stage: Stage) -> None:
    assert operations().keys() == set(GUARDED)


@one_of_each(lambda name: (ROUTES[name]["credential"], name.split()[0]))
@pytest.mark.parametrize("name", GUARDED)
def test_answers_match_the_document(name: str, stage: Stage, count_cases: CaseCounter) -> None:
    count_cases(requests=fuzz(name, stage, FEW, DETERMINISTIC))


@pytest.mark.long
@pytest.mark.parametrize("name", GUARDED)
def test_many_answers_match_the_document(name: str, stage: Stage, count_cases: CaseCounter) -> None:
    count_cases(requests=fuzz(name, stage, MANY, RANDOM))


def fuzz(name: str, stage: Stage, cases: int, chosen: settings) -> int:
    """Send at least `cases` cases for an operation, and check each response; return the number of cases."""
    operation, sent, statuses = operations()[name], count(), set()

    def send(case: Case) -> None:
        statuses.add(exchange(case, stage, next(sent)))

    edges = edge_cases(operation, int(cases * EDGES))
    for case in edges:
        send(case)
    wrong = (cases - len(edges)) // 3
    for mode, most in ((GenerationMode.NEGATIVE, wrong), (GenerationMode.POSITIVE, cases - len(edges) - wrong)):
        send_random_cases(operation, mode, settings(chosen, max_examples=most), send)
    tried = next(sent)
    assert tried >= cases
    assert 200 in statuses or name == _OF_PULL_ENDPOINTS, "no case reached a record"
    return tried


def edge_cases(operation: Any, most: int) -> list[Case]:
    """Return a case for each rule's boundary values, or a sample of all kinds if there are too many cases."""
    generation = operation.schema.config.generation_for(operation=operation, phase="coverage")
    modes = list(GenerationMode)
    cases = list(operation.schema.iter_coverage_cases(operation, generation_modes=modes, generation_config=generation))
    return cases[:: -(-len(cases) // most)]


def send_random_cases(operation: Any, mode: GenerationMode, chosen: settings, send: Callable[[Case], None]) -> None:
    """Send random cases according to the settings."""
    chosen(given(case=operation.as_strategy(generation_mode=mode))(lambda case: send(case)))()


def exchange(case: Case, stage: Stage, number: int) -> int:
    """Send a case with the ids of existing records, check the response, and return the status."""
    if number % 4 or case.method != case.operation.method.upper():
        use_existing_ids(case, stage.ids)
    # A parameter without values is omitted from the request, so the service cannot reject its name.
    case.query = {name: "" if value in ([], {}) else value for name, value in (case.query or {}).items()}
    # A case that tests the credential contains its own Authorization header.
    headers = None if case.operation.schema.is_security_param_negated(case) else stage.headers
    response = case.call("http://localhost", headers=headers)
    beyond = [positive_data_acceptance] if is_beyond_schemas(response) else []
    case.validate_response(response, headers=headers, excluded_checks=beyond)
    if response.status_code == 200 and case.method != "GET":
        restore(stage.tables)
    return response.status_code


def use_existing_ids(case: Case, ids: dict[str, str]) -> None:
    """Replace generated ids with existing ids; leave the invalid part of a case unchanged."""
    right = {location for location, one in case.meta.components.items() if one.mode.is_positive}
    if ParameterLocation.PATH in right:
        case.path_parameters = {name: ids[name] for name in case.path_parameters}
    if ParameterLocation.QUERY in right:
        own = extensions.joined("OWN_PARAMETERS").get(case.operation.label, ())
        case.query = {name: value for name, value in case.query.items() if name not in ("cursor", "workspaceId", *own)}
        if "tz" in case.query and case.meta.generation.mode.is_positive:  # use an existing time zone and a fixed period
            case.query = {**case.query, "tz": "Europe/Amsterdam", "from": 1_790_000_000, "to": 1_790_086_400}
    if ParameterLocation.HEADER in right:
        for name in _CONDITIONS:
            case.headers.pop(name, None)
    if ParameterLocation.BODY in right and isinstance(case.body, dict) and "lead" in case.body:
        case.body = {"lead": {**case.body["lead"], "agentId": ids["agent_id"]}}


def is_beyond_schemas(response: Response) -> bool:
    """Return whether an error concerns only rules that a schema cannot express."""
    issues = response.json().get("issues", ()) if response.status_code == 400 else ()
    return bool(issues) and all(BEYOND_SCHEMAS.fullmatch(issue["path"]) for issue in issues)
