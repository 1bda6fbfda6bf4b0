"""Instructions of a cold start, as the suite counts them: an unnecessary import fails here.

`tests/deployment/test_package.py` checks the other counts: compiled modules, clients and the package's size.
"""

from __future__ import annotations

import shutil

import pytest

from benchmarks.questions import cold_start
from benchmarks.questions.cold_start import CLIENT, FLOOR, OURS, READ
from benchmarks.starts import packages, processes
from infra.local.children import Engine
from tests.reliability.engine_fixture import local_engine  # noqa: F401 - the fixture
from tests.selection import whole

pytestmark = [pytest.mark.engine, whole]

# `deliver` and the fan-out functions share a module, so one of them is enough.
EVENTS = ("deliver", "cascade")


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory, local_engine: Engine) -> dict[cold_start.Key, float]:  # noqa: F811
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind, which counts instructions, is not installed")
    made = {OURS: packages.ours(tmp_path_factory.mktemp("package"), sources=False), FLOOR: packages.bare()}
    situation = cold_start.prepare(local_engine, made[OURS].compiled)
    keys = [(CLIENT, FLOOR), (READ, FLOOR), (READ, OURS), *((event, OURS) for event in EVENTS)]
    starts = [cold_start.start_of(name, made[name].compiled, case, situation) for case, name in keys]
    return dict(zip(keys, processes.instructions(starts), strict=True))


def test_the_first_agent_read_stays_within_its_goal(
    counted: dict[cold_start.Key, float],
) -> None:
    assert counted[READ, OURS] <= cold_start.MOST_INSTRUCTIONS * counted[READ, FLOOR]


@pytest.mark.parametrize("event", EVENTS)
def test_the_start_of_an_event_function_stays_within_its_goal(counted: dict[cold_start.Key, float], event: str) -> None:
    assert counted[event, OURS] <= cold_start.MOST_OF_EVENTS * counted[CLIENT, FLOOR]
