"""In any sequence of requests to all routes, each response equals that of a reference model.

Hypothesis generates requests for two workspaces. The model in `model/` keeps its records in dictionaries. Other modules
in this directory test concurrent writers and faults.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.engines import new_engine
from tests.guarantees import CaseCounter
from tests.operations import ROUTES
from tests.reliability.model.machine import COVERED
from tests.reliability.model.webhook_rules import WebhookRules
from tests.selection import whole

pytestmark = pytest.mark.guarantee("model")

# All runs generate the same requests.
base_settings = settings(derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
briefly = settings(base_settings, max_examples=2, stateful_step_count=60, phases=[Phase.generate])
few = settings(base_settings, max_examples=14, stateful_step_count=120, phases=[Phase.generate])
many = settings(base_settings, max_examples=100, stateful_step_count=200)


@pytest.fixture(scope="module", autouse=True)
def engine_of_all() -> Iterator[None]:
    with new_engine():
        yield


def test_every_route_of_the_specification_has_a_rule() -> None:
    assert {name for name, one in ROUTES.items() if "section" in one} - COVERED == set()


@pytest.mark.parametrize("steps", [briefly, pytest.param(few, marks=whole)], ids=["briefly", "fully"])
def test_each_answer_equals_the_model_s(steps: settings, count_cases: CaseCounter) -> None:
    run(steps, count_cases)


@pytest.mark.long
def test_each_answer_equals_the_model_s_in_long_sequences(count_cases: CaseCounter) -> None:
    run(many, count_cases)


def run(steps: settings, count_cases: CaseCounter) -> None:
    before = WebhookRules.compared
    run_state_machine_as_test(WebhookRules, settings=steps)
    count_cases(states=WebhookRules.compared - before)
