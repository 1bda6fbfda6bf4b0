"""Sixteen writers create an agent's conversations on the real local engine while a reader reads the list.

moto's locks prevent concurrent transactions. On this engine, transactions can conflict.
"""

from pathlib import Path

import pytest

from tests.guarantees import CaseCounter
from tests.reliability import writers
from tests.reliability.processes import output, service
from tests.selection import whole

pytestmark = [pytest.mark.engine, pytest.mark.guarantee("history")]

PROCESSES, THREADS, EACH = 4, 4, 5


@whole
def test_concurrent_creations_leave_no_gaps_and_no_duplicates(tmp_path: Path, count_cases: CaseCounter) -> None:
    with service(tmp_path) as served:
        reader = served.start(writers.__name__, "walk", "4")
        creators = [served.start(writers.__name__, "create", THREADS, EACH) for _ in range(PROCESSES)]
        created = [name for creator in creators for name in output(creator)]
        (walks,) = output(reader)
        pages = [page.split() for page in output(served.start(writers.__name__, "pages"))]

    assert int(walks) > 0
    assert len(created) == PROCESSES * THREADS * EACH == len(set(created))
    assert [len(page) for page in pages] == [20] * (len(created) // 20)
    assert sorted(name for page in pages for name in page) == sorted(created)
    count_cases(states=int(walks) + 1)
