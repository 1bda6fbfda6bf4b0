"""Sixteen writers in two processes add messages to one conversation on the real local engine."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.guarantees import CaseCounter
from tests.reliability import competing_writers
from tests.reliability.competing_writers import STATE
from tests.reliability.processes import Service, output, service
from tests.selection import whole

pytestmark = pytest.mark.engine

PROCESSES, THREADS = 2, 8


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("engine")) as served:
        yield served


def turns(served: Service) -> list[Any]:
    """Return the conversation's turns."""
    (answer,) = served.send(("POST", STATE, {}))
    found: list[Any] = answer.json["turns"]
    return found


@pytest.mark.guarantee("history")
@pytest.mark.parametrize("each", [4, pytest.param(20, marks=whole)])
def test_every_acknowledged_message_is_stored_once_in_the_order_of_the_answers(
    each: int, served: Service, count_cases: CaseCounter
) -> None:
    before = len(turns(served))
    started = [served.start(competing_writers.__name__, "add", each, THREADS) for _ in range(PROCESSES)]
    writers: list[Any] = [json.loads(line) for one in started for line in output(one) if line.startswith("[[")]
    added = [one for writer in writers for one in writer]

    assert Counter(status for status, *_ in added) == {200: 2 * PROCESSES * THREADS * each}
    mids = [turn["messages"]["mid"] for turn in turns(served)[before:]]
    assert Counter(mids) == Counter({mid for _, mid, *_ in added})
    position = {mid: index for index, mid in enumerate(mids)}
    firsts = [one for writer in writers for one in writer[::2]]
    for _, mid, _, end in firsts:
        # A request that began after this request ended must have added its message after this request's message.
        assert all(position[mid] < position[later] for _, later, start, _ in firsts if start > end)
    count_cases(states=len(added))
