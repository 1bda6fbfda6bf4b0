"""Sixteen writers create conversations of one agent on the real local engine while a reader walks the list.

moto's own locking hides what concurrent transactions do; here they collide for real.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local import children
from tests.reliability.engine_fixture import running_engine

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
PROCESSES, THREADS, EACH = 4, 4, 5


def start(environment: dict[str, str], *command: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", *command], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )


def output(process: "subprocess.Popen[str]") -> str:
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return out


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    with running_engine(tmp_path) as engine:
        address = {**os.environ, **children.address_of(engine.url)}
        code = "from chalicelib import storage; from infra import tables; tables.create_missing(storage.client)"
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=address, check=True)
        yield address


def test_sixteen_creators_leave_no_gap_and_nothing_twice(environment: dict[str, str]) -> None:
    made = output(start(environment, "infra.cams", "workspace", "create", "--name", "Concurrent", "--json"))
    token = json.loads(made)["workspace_key"]
    agent = "from tests.api import Api; import sys; Api(sys.argv[1]).post('/v2/agents/support', {})"
    subprocess.run([sys.executable, "-c", agent, token], cwd=ROOT, env=environment, check=True)

    reader = start(environment, "tests.reliability.writers", "walk", token, "4")
    creators = [
        start(environment, "tests.reliability.writers", "create", token, str(THREADS), str(EACH))
        for _ in range(PROCESSES)
    ]
    created = [name for creator in creators for name in output(creator).split()]

    assert int(output(reader)) > 0
    assert len(created) == PROCESSES * THREADS * EACH == len(set(created))
    pages = output(start(environment, "tests.reliability.writers", "pages", token)).splitlines()
    assert [len(page.split()) for page in pages] == [20] * (len(created) // 20)
    assert sorted(name for page in pages for name in page.split()) == sorted(created)
