"""All routes against a dictionary: whatever is done in whatever order, each answer is the model's, whole.

hypothesis makes up what is done, with two workspaces side by side; the model is in `model/`. Not responsible for
writers at the same time, nor for faults: other modules of this directory are.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.engine import shared_engine
from tests.operations import ROUTES
from tests.promises import Shown
from tests.reliability.model.hooks import Hooks
from tests.reliability.model.machine import COVERED
from tests.selection import whole

pytestmark = pytest.mark.promise("model")

# What is done is the same in every run.
alike = settings(derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
briefly = settings(alike, max_examples=2, stateful_step_count=60, phases=[Phase.generate])
few = settings(alike, max_examples=14, stateful_step_count=120, phases=[Phase.generate])
many = settings(alike, max_examples=100, stateful_step_count=200)


@pytest.fixture(scope="module", autouse=True)
def engine_of_all() -> Iterator[None]:
    with shared_engine():
        yield


def test_every_route_of_the_specification_has_a_rule() -> None:
    assert {name for name, one in ROUTES.items() if "section" in one} - COVERED == set()


@pytest.mark.parametrize("as_many", [briefly, pytest.param(few, marks=whole)], ids=["briefly", "fully"])
def test_each_answer_is_the_model_s(as_many: settings, shown: Shown) -> None:
    run(as_many, shown)


@pytest.mark.long
def test_each_answer_is_the_model_s_for_long(shown: Shown) -> None:
    run(many, shown)


def run(as_many: settings, shown: Shown) -> None:
    before = Hooks.compared
    run_state_machine_as_test(Hooks, settings=as_many)
    shown(states=Hooks.compared - before)
