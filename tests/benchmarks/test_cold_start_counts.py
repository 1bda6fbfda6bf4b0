"""Instructions of a start, as the suite counts them: what is imported without need shows here.

What else the suite counts of a start (modules compiled, clients, the package's size) is held by
`tests/deployment/test_package.py`.
"""

from __future__ import annotations

import shutil

import pytest

from benchmarks.questions import cold_start
from benchmarks.questions.cold_start import CLIENT, FLOOR, OURS, READ
from benchmarks.starts import packages, processes
from infra.local.children import Engine
from tests.reliability.engine_fixture import local_engine  # noqa: F401 - the fixture

pytestmark = pytest.mark.engine

# The functions on streams and queues of webhooks share a module.
EVENTS = ("deliver", "sweep")


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory, local_engine: Engine) -> dict[cold_start.Key, float]:  # noqa: F811
    if shutil.which("valgrind") is None:
        pytest.skip("Instructions are counted by valgrind, which is not installed.")
    made = {OURS: packages.ours(tmp_path_factory.mktemp("package"), sources=False), FLOOR: packages.bare()}
    situation = cold_start.prepared(local_engine, made[OURS].compiled)
    keys = [(CLIENT, FLOOR), (READ, FLOOR), (READ, OURS), *((event, OURS) for event in EVENTS)]
    starts = [cold_start.starts_of(who, made[who].compiled, case, situation) for case, who in keys]
    return dict(zip(keys, processes.instructions(starts), strict=True))


def test_the_first_read_of_an_agent_costs_little_more_than_that_of_the_bare_sdk(
    counted: dict[cold_start.Key, float],
) -> None:
    assert counted[READ, OURS] <= cold_start.MOST_INSTRUCTIONS * counted[READ, FLOOR]


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_function_starts_for_little_more_than_a_client_of_the_bare_sdk(
    counted: dict[cold_start.Key, float], event: str
) -> None:
    assert counted[event, OURS] <= cold_start.MOST_OF_EVENTS * counted[CLIENT, FLOOR]
