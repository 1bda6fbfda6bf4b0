"""The largest states of new messages fit into one transaction. The test uses the local engine, because moto has no
limit.

A write stores new messages twice: in the transcript and for fan-out. A transaction is limited to 4 MB. The local engine
measures the request, which Base64 encoding makes a third longer.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.engine_fixture import running_engine
from tests.selection import whole

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
MEBIBYTE = 1024 * 1024


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with running_engine(tmp_path_factory.mktemp("engine")) as engine:
        address = {**os.environ, **engine.environment}
        create = "from chalicelib import storage; from infra import tables; tables.create_missing(storage.sdk_client)"
        subprocess.run([sys.executable, "-c", create], cwd=ROOT, env=address, check=True)
        yield address


def run_worst_cases(environment: dict[str, str], size: int) -> list[tuple[int, ...]]:
    """Return the status and the numbers of sent, received and stored messages, for each worst case of this size."""
    command = [sys.executable, "-m", "tests.webhooks.worst_case", str(size)]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return [tuple(map(int, line.split())) for line in ran.stdout.splitlines() if line[:1].isdigit()]


def test_1_7_mebibytes_of_incompressible_messages_are_stored_and_received(environment: dict[str, str]) -> None:
    worst = run_worst_cases(environment, int(1.7 * MEBIBYTE))
    assert worst == [(200, count, count, count) for _, count, _, _ in worst]
    assert len(worst) == 4


@whole
def test_2_mebibytes_of_incompressible_messages_are_stored_and_received_or_refused(
    environment: dict[str, str],
) -> None:
    worst = run_worst_cases(environment, 2 * MEBIBYTE)
    assert len(worst) == 4
    for status, count, received, stored in worst:
        assert (status, received, stored) in ((200, count, count), (413, 0, 0))
