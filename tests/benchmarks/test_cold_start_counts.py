"""Instructions of a cold start, as the suite counts them: an unnecessary import fails here.

`tests/deployment/test_package.py` checks the other counts: compiled modules, clients and the package's size.
"""

from __future__ import annotations

import shutil
from pathlib import Path

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
MOST_OF_CONSOLE = 1.005


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> packages.Package:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind, which counts instructions, is not installed")
    return packages.ours(tmp_path_factory.mktemp("package"), sources=False)


@pytest.fixture(scope="module")
def situation(ours: packages.Package, local_engine: Engine) -> cold_start.Situation:  # noqa: F811
    return cold_start.prepare(local_engine, ours.compiled)


@pytest.fixture(scope="module")
def counted(ours: packages.Package, situation: cold_start.Situation) -> dict[cold_start.Key, float]:
    made = {OURS: ours, FLOOR: packages.bare()}
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


def test_the_console_adds_little_to_the_start_of_other_requests(
    ours: packages.Package, situation: cold_start.Situation, counted: dict[cold_start.Key, float], tmp_path: Path
) -> None:
    without = tmp_path / "without"
    shutil.copytree(ours.compiled, without)
    shutil.rmtree(without / "chalicelib" / "extensions" / "console")
    [count_without] = processes.instructions([cold_start.start_of(OURS, without, READ, situation)])
    assert count_without < counted[READ, OURS] <= MOST_OF_CONSOLE * count_without
