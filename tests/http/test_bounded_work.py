"""Each request's cost is bounded, and oversized bodies are rejected before they are parsed."""

import gc
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chalicelib.conversations.state import MAX_BODY_BYTES, MAX_MESSAGES
from chalicelib.http import bodies
from tests.api import Api
from tests.http.costliest_requests import ACCEPTED, OVERSIZE, STATE, TINY, TURN, Cost, filled
from tests.selection import first_case

# A unit takes about 15 ms, so this limit is about 0.6 s.
MOST_UNITS, MOST_MEGABYTES = 40, 100


@first_case
@pytest.mark.parametrize("name", OVERSIZE)
def test_an_oversize_body_is_refused_before_it_is_parsed(
    name: str, api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "parse", None)
    assert api.post(OVERSIZE[name].path, OVERSIZE[name].body).status == 413


def test_a_state_has_a_limited_number_of_messages(api: Api, agent_id: str) -> None:
    answer = api.post(STATE, f'{{"turns":[{",".join([TURN] * (MAX_MESSAGES + 1))}]}}'.encode())
    assert (answer.status, answer.json["message"]) == (413, "turns must have at most 30,000 messages.")
    assert api.post(STATE, f'{{"turns":[{",".join([TURN] * MAX_MESSAGES)}]}}'.encode()).status == 200


def test_an_escape_counts_as_two_bytes(api: Api, agent_id: str) -> None:
    escaped = b'{"turns":[{"messages":[{"item":{"text":"' + b"\\u00e9" * (MAX_BODY_BYTES // 3) + b'"}}]}]}'
    assert len(escaped) > 4_000_000
    assert api.post(STATE, escaped).status == 200


@pytest.mark.parametrize("escape", [b"\\\\u", b"\\\\\\\\u"])
def test_an_escaped_backslash_before_a_u_is_no_escape(
    escape: bytes, api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = escape * (MAX_BODY_BYTES // len(escape) + 1)
    monkeypatch.setattr(bodies, "parse", None)
    assert api.post(STATE, b'{"turns":[{"messages":[{"item":{"text":"%s"}}]}]}' % text).status == 413


def test_a_body_with_very_many_errors_is_refused_without_describing_them(api: Api, agent_id: str) -> None:
    members = ",".join(f'"{number:x}":1' for number in range(2_000))
    answer = api.post(STATE, f"{{{members}}}".encode())
    assert (answer.status, answer.json["message"]) == (400, "The body violates 2,000 rules.")


def test_the_first_of_many_invalid_turns_is_reported(api: Api, agent_id: str) -> None:
    answer = api.post(STATE, {"turns": [{}, *[5] * 2_000]})
    assert [issue["path"] for issue in answer.json["issues"]] == ["turns.1"]
    answer = api.post(STATE, {"turns": [{"messages": [{}, *[5] * 2_000]}, {"messages": 5}]})
    assert [issue["path"] for issue in answer.json["issues"]] == ["turns.0.messages.1"]


def test_garbage_collection_does_not_visit_what_was_imported() -> None:
    assert gc.get_freeze_count() > 50_000
    assert gc.isenabled()


@pytest.fixture(scope="module")
def costs() -> dict[str, Cost]:
    """Return each request's cost, measured in a process without leftovers from other tests."""
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "tests.http.costliest_requests"]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    rows = [line.rsplit(maxsplit=3) for line in ran.stdout.splitlines()[1:]]
    return {name: Cost(int(status), float(seconds), float(megabytes)) for name, status, seconds, megabytes in rows}


@pytest.mark.long
@pytest.mark.parametrize("name", OVERSIZE)
def test_refusing_an_oversize_body_costs_less_than_parsing_a_small_one(name: str, costs: dict[str, Cost]) -> None:
    cost = costs[name]
    assert cost.status == 413
    assert cost.seconds <= 3 * unit(), cost  # at most 50 ms
    assert len(OVERSIZE[name].body or b"") / 2**20 <= cost.megabytes <= 20, cost


@pytest.mark.long
@pytest.mark.parametrize("name", ACCEPTED)
def test_every_request_has_a_bounded_cost(name: str, costs: dict[str, Cost]) -> None:
    cost = costs[name]
    assert cost.status in (200, 400, 413)
    assert cost.seconds <= MOST_UNITS * unit(), cost
    assert cost.megabytes <= MOST_MEGABYTES, cost


def unit() -> float:
    """Return the CPU seconds for parsing 0.9 MB of empty objects. Limits in this unit also hold on a slow machine."""

    def once() -> float:
        started = time.process_time()
        json.loads(filled("{}", size=TINY))
        return time.process_time() - started

    gc.collect()
    return min(once() for _ in range(5))
