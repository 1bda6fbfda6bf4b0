"""Each function's cold start stays below its instruction limit, so an unnecessary import fails a test.

`tests/deployment/test_package.py` checks the other counts: compiled modules, clients and the package's size.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks import cold_start, packages
from benchmarks.cold_start import CLIENT, FLOOR, READ
from benchmarks.results import OURS
from infra.local.children import Engine
from infra.package import trim
from tests import extensions
from tests.reliability.engine_fixture import local_engine  # noqa: F401 - the fixture
from tests.selection import whole

pytestmark = [pytest.mark.engine, whole]

# `deliver` and the fan-out functions share a module, so testing one of them is enough.
EVENTS = ("deliver", "maintain")
# Extension -> million instructions. A start with a read has about 750 million, so the console adds at most 0.5 %.
MOST_OF_EXTENSIONS = {"console": 3.7, "mcp": 0.85}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> packages.Package:
    if not extensions.are_all_on():
        pytest.skip("The limits apply only if all extensions are on.")
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind, which counts instructions, is not installed")
    return packages.ours(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def situation(ours: packages.Package, local_engine: Engine) -> cold_start.Situation:  # noqa: F811
    return cold_start.prepare(local_engine, ours.directory)


@pytest.fixture(scope="module")
def instruction_counts(ours: packages.Package, situation: cold_start.Situation) -> dict[cold_start.Key, float]:
    built = {OURS: ours, FLOOR: packages.installed(["botocore"], trim.trim_files)}
    keys = [(CLIENT, FLOOR), (READ, FLOOR), (READ, OURS), *((event, OURS) for event in EVENTS)]
    return cold_start.count({key: cold_start.start_of(key, built[key[1]].directory, situation) for key in keys})


def test_the_first_agent_read_stays_within_its_goal(
    instruction_counts: dict[cold_start.Key, float],
) -> None:
    assert instruction_counts[READ, OURS] <= cold_start.MOST_INSTRUCTIONS * instruction_counts[READ, FLOOR]


@pytest.mark.parametrize("event", EVENTS)
def test_the_start_of_an_event_function_stays_within_its_goal(
    instruction_counts: dict[cold_start.Key, float], event: str
) -> None:
    assert instruction_counts[event, OURS] <= cold_start.MOST_OF_EVENTS * instruction_counts[CLIENT, FLOOR]


@pytest.mark.parametrize("extension", MOST_OF_EXTENSIONS)
def test_an_extension_adds_little_to_the_start_of_other_requests(
    ours: packages.Package,
    situation: cold_start.Situation,
    instruction_counts: dict[cold_start.Key, float],
    tmp_path: Path,
    extension: str,
) -> None:
    key, folder = (READ, OURS), ours.directory / "chalicelib" / "extensions" / extension
    # A copy of the package would have another path, which changes the count.
    folder.rename(tmp_path / extension)
    count_without = cold_start.count({key: cold_start.start_of(key, ours.directory, situation)})[key]
    (tmp_path / extension).rename(folder)
    assert 0 < instruction_counts[key] - count_without <= MOST_OF_EXTENSIONS[extension]
