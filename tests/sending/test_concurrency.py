"""Many concurrent deliveries: half of them go to a receiver that hangs."""

import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from chalicelib.sending.sender import post
from tests.sending.timed_post import BODY, HEADERS, SLACK

pytestmark = pytest.mark.usefixtures("public_only", "empty_cache")

ROOT = Path(__file__).parent.parent.parent


def test_five_hundred_deliveries_meet_the_deadline_while_half_of_them_hang(private: None) -> None:
    deadline, calls = 1.5, 500
    command = [sys.executable, "-m", "tests.sending.receivers"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = f"http://127.0.0.1:{process.stdout.readline().strip()}/"
        took: list[tuple[float, int | None]] = []

        def deliver() -> None:
            start = time.monotonic()
            outcome = post(url, BODY, HEADERS, deadline)
            took.append((time.monotonic() - start, outcome.status))

        threads = [threading.Thread(target=deliver) for _ in range(calls)]
        before = resource.getrusage(resource.RUSAGE_SELF)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = resource.getrusage(resource.RUSAGE_SELF)
        process.kill()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    acknowledged = sum(status == 200 for _, status in took)
    latest = max(seconds for seconds, _ in took)
    sys.stdout.write(
        f"{acknowledged} acknowledged, the last of {calls} ended after {latest:.3f} s, {cpu:.2f} s of CPU\n"
    )
    assert acknowledged == calls / 2
    assert latest <= deadline + SLACK
    assert cpu < 2
