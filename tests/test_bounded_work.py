"""What one request may cost: an oversize body is refused before it is parsed, and tiny turns are cheap.

`python -m pytest tests/test_bounded_work.py -s` prints the CPU seconds and the additional megabytes of each request.
"""

import gc
import json
import os
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from chalicelib.conversations.state import MAX_BODY_BYTES, MAX_BODY_VALUES, MAX_MESSAGES
from chalicelib.http import messages
from tests.api import Api
from tests.selection import one_of_each, whole

STATE = "/agents/support/interact/ann/state"
SIZE = 900_000
# In units of `unit`: about 0.8 s where a unit is 16 ms.
MOST = 50
# Any JSON is validated value by value, which costs more than turns do.
MOST_OF_ANY_JSON = 90


def filled(unit: str, start: str = '{"turns":[', end: str = "]}", size: int = SIZE) -> bytes:
    """A body of this size with as many units as fit."""
    count = (size - len(start) - len(end)) // (len(unit) + 1)
    return (start + ",".join([unit] * count) + end).encode()


TURN, ONE_TURN = '{"messages":[{}]}', ('{"turns":[{"messages":[', "]}]}")
REFUSED = {
    "6 MB of turns": filled("{}", size=6_000_000),
    "6 MB of messages": filled(TURN, size=6_000_000),
    "6 MB of text": filled("x" * 1000, '{"turns":[{"x":"', '"}]}', size=6_000_000),
    "0.9 MB of turns": filled("{}"),
    "0.9 MB of messages in one turn": filled("{}", *ONE_TURN),
    "0.9 MB of numbers": filled("1"),
    "0.9 MB of arrays": filled("[[[[]]]]", '{"turns":[{"x":['),
}
COSTLY = {
    "0.9 MB of turns with a message": filled(TURN),
    "0.9 MB of turns of the user": filled('{"from":"human","messages":[{}]}'),
    "many numbers": filled("1", size=400_000),
    "many numbers in one turn": filled("1", *ONE_TURN, size=400_000),
    "many unknown members": b"{%s}" % b",".join(b'"%x":1' % number for number in range(MAX_BODY_VALUES // 5 * 4)),
    "many arrays": filled("[[[[]]]]", '{"turns":[{"x":[', "]}]}", size=MAX_BODY_VALUES // 5 * 9),
}


@one_of_each(lambda: None)
@pytest.mark.parametrize("name", REFUSED)
def test_an_oversize_body_is_refused_before_it_is_parsed(
    name: str, api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "parse", None)
    assert api.post(STATE, REFUSED[name]).status == 413


def test_a_state_has_a_limited_number_of_messages(api: Api, agent_id: str) -> None:
    message = '{"messages":[{}]}'
    answer = api.post(STATE, f'{{"turns":[{",".join([message] * (MAX_MESSAGES + 1))}]}}'.encode())
    assert (answer.status, answer.json["message"]) == (413, "turns must have at most 50,000 messages.")


def test_an_escape_counts_as_two_bytes(api: Api, agent_id: str) -> None:
    escaped = b'{"turns":[{"messages":[{"item":{"text":"' + b"\\u00e9" * (MAX_BODY_BYTES // 3) + b'"}}]}]}'
    assert len(escaped) > 4_000_000
    assert api.post(STATE, escaped).status == 200


def test_a_body_with_very_many_errors_is_refused_without_describing_them(api: Api, agent_id: str) -> None:
    members = ",".join(f'"{number:x}":1' for number in range(2_000))
    answer = api.post(STATE, f"{{{members}}}".encode())
    assert (answer.status, answer.json["message"]) == (400, "The body violates 2,000 rules.")


@whole
@pytest.mark.parametrize("name", REFUSED)
def test_refusing_an_oversize_body_costs_less_than_parsing_a_small_one(name: str, api: Api, agent_id: str) -> None:
    status, ratio, megabytes = cost(api, REFUSED[name], name)
    assert (status, ratio <= 1, megabytes <= 20) == (413, True, True)


@whole
@pytest.mark.parametrize("name", COSTLY)
def test_a_request_of_tiny_values_is_cheap_and_takes_at_most_100_mb(name: str, api: Api, agent_id: str) -> None:
    _, ratio, megabytes = cost(api, COSTLY[name], name)
    most = MOST_OF_ANY_JSON if name == "many arrays" else MOST
    assert (ratio <= most, megabytes <= 100) == (True, True)


@whole
def test_a_list_too_large_for_an_answer_takes_at_most_100_mb(api: Api) -> None:
    for number in range(60):
        assert api.post(f"/v2/clients/c{number:02}", {"name": f"{number:02}" * 150_000}).status == 200
    status, _, megabytes = cost(api, None, "list of clients", "GET", "/v2/clients")
    assert (status, megabytes <= 100) == (413, True)


def cost(api: Api, body: bytes | None, name: str, method: str = "POST", path: str = STATE) -> tuple[int, float, float]:
    """Send a request in a process of its own; returns its status, CPU time and additional peak memory in MB.

    The unit of CPU time is what `json.loads` takes for 0.9 MB of empty objects in the same process.
    """
    api.call(method, path, b"{}" if body else None)
    gc.collect()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
        before, started = memory("VmRSS"), time.process_time()
        status = api.call(method, path, body).status
        seconds, peak = time.process_time() - started, memory("VmHWM")
        sys.stdout.write(f"\n{name}: {status}, {seconds:.3f} s of CPU, {peak - before:.0f} MB")
        sys.stdout.flush()
        measured: Any = (status, seconds / min(unit() for _ in range(5)), peak - before)
        os.write(writing, pickle.dumps(measured))
        os._exit(0)
    os.waitpid(child, 0)
    found: tuple[int, float, float] = pickle.loads(os.read(reading, 1_000))
    sys.stdout.write(f" ({found[1]:.1f} units)")
    return found


def unit() -> float:
    """The CPU seconds of parsing 0.9 MB of empty objects."""
    started = time.process_time()
    json.loads(filled("{}"))
    return time.process_time() - started


def memory(name: str) -> float:
    """A figure of this process in MB."""
    (line,) = [one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith(name)]
    return int(line.split()[1]) / 1024
