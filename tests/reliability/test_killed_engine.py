"""An engine that is killed under load loses no acknowledged writes and no stream records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.guarantees import CaseCounter
from tests.reliability.engine_load import Killed, kill_under_load
from tests.selection import whole

pytestmark = [pytest.mark.engine, pytest.mark.guarantee("kept")]


@pytest.mark.parametrize("kills", [pytest.param(3, marks=whole), pytest.param(20, marks=pytest.mark.long)])
def test_killing_the_engine_under_load_loses_nothing(kills: int, tmp_path: Path, count_cases: CaseCounter) -> None:
    killed = kill_under_load(tmp_path, kills)
    _assert_no_write_is_lost(killed, kills)
    _assert_the_stream_is_complete(killed)
    count_cases(faults=kills, states=len(killed.load.written) + len(killed.records))


def _assert_no_write_is_lost(killed: Killed, kills: int) -> None:
    load, stored = killed.load, killed.stored
    assert not load.failures
    assert len(load.written) > 20 * kills
    assert {key: stored.get(key) for key in load.written} == load.written
    assert not load.deleted & stored.keys()
    assert set(stored) - set(load.written) <= load.unanswered | {"counter"}
    assert load.added <= int(stored["counter"]["n"]["N"]) <= load.added + load.adds_unanswered


def _assert_the_stream_is_complete(killed: Killed) -> None:
    load, records = killed.load, killed.records
    assert len(load.streams) == 1
    assert load.seen
    assert load.seen == records[: len(load.seen)]
    numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
    assert numbers == sorted(set(numbers))
    inserted = Counter(r["dynamodb"]["Keys"]["id"]["S"] for r in records if r["eventName"] == "INSERT")
    assert {key: inserted[key] for key in load.written} == dict.fromkeys(load.written, 1)
