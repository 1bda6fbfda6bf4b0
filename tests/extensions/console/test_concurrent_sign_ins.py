"""Two service processes count sign-in attempts on an engine that is truly concurrent."""

import time
from collections import Counter

import pytest

from chalicelib import clock
from chalicelib.extensions.console.access.session_store import MAX_ATTEMPTS, WINDOW
from tests.reliability import competing_writers
from tests.reliability.processes import Service, output
from tests.reliability.test_two_writers import PROCESSES, THREADS
from tests.reliability.test_two_writers import served as served
from tests.selection import whole

pytestmark = [pytest.mark.engine, whole]


def test_exactly_ten_of_many_concurrent_sign_ins_are_checked(served: Service) -> None:
    while clock.seconds() % WINDOW > WINDOW - 30:
        time.sleep(1)  # otherwise, a new window could begin during the test
    started = [served.start(competing_writers.__name__, "guess", 12, THREADS) for _ in range(PROCESSES)]
    statuses = Counter(" ".join(line for one in started for line in output(one)).split())
    assert statuses == {"401": MAX_ATTEMPTS, "429": PROCESSES * THREADS * 12 - MAX_ATTEMPTS}
