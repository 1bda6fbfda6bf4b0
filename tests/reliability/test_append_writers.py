"""Sixteen writers add messages to one conversation on the real local engine, in two processes."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.guarantees import CaseCounter
from tests.reliability import competing_writers
from tests.reliability.competing_writers import STATE
from tests.reliability.processes import Service, output, service

pytestmark = pytest.mark.engine

PROCESSES, THREADS, EACH = 2, 8, 20


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("engine")) as served:
        yield served


@pytest.mark.guarantee("history")
def test_every_acknowledged_message_is_there_once_in_the_order_of_its_answer(
    served: Service, count_cases: CaseCounter
) -> None:
    started = [served.start(competing_writers.__name__, "add", EACH, THREADS) for _ in range(PROCESSES)]
    writers: list[Any] = [json.loads(line) for one in started for line in output(one) if line.startswith("[[")]
    added = [one for writer in writers for one in writer]

    assert Counter(status for status, *_ in added) == {200: 2 * PROCESSES * THREADS * EACH}
    (line,) = output(served.start(competing_writers.__name__, "send", json.dumps([["POST", STATE, {}, None]])))
    _, _, state = json.loads(line)
    mids = [turn["messages"]["mid"] for turn in state["turns"]]
    assert Counter(mids) == Counter({mid for _, mid, *_ in added})
    position = {mid: index for index, mid in enumerate(mids)}
    firsts = [one for writer in writers for one in writer[::2]]
    for _, mid, _, end in firsts:
        # Each request that began after this one was answered added its message behind this one's.
        assert all(position[mid] < position[later] for _, later, start, _ in firsts if start > end)
    count_cases(states=len(added))
