"""Servers that hang or misbehave: every tool call ends early enough for the API request to respond in time."""

import time
from typing import Any

import pytest

from chalicelib.extensions.tool_calls import calls
from tests.api import Api
from tests.assertions import refused
from tests.conftest import PassTime
from tests.extensions.tool_calls.servers import CHUNKED, HEAD
from tests.extensions.tool_calls.timed_calls import Create, call_and_check
from tests.selection import one_of_each
from tests.sending import receivers
from tests.sending.hostile_receivers import EARLY, HANGING, MISBEHAVING, TOO_LONG, TOO_MUCH
from tests.sending.receivers import Behaviour, answers, receiver
from tests.sending.sockets import Watch
from tests.sending.timed_post import DEADLINE


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, private: None) -> None:
    monkeypatch.setattr(calls, "DEADLINE_SECONDS", DEADLINE)


SLOW_BODIES: dict[str, tuple[Behaviour, str]] = {
    "drips a body": (receivers.drips(HEAD + b"\r\n" + b"x" * 1000), TOO_LONG),
    "stops in the headers": (answers(HEAD, then_hangs=True), TOO_LONG),
    "stops in the body": (answers(HEAD + b"Content-Length: 9\r\n\r\nok", then_hangs=True), TOO_LONG),
    "stops between chunks": (answers(CHUNKED + b"2\r\nok\r\n", then_hangs=True), TOO_LONG),
}


@one_of_each(lambda error: error)
@pytest.mark.parametrize(("behaviour", "error"), (HANGING | SLOW_BODIES).values(), ids=HANGING | SLOW_BODIES)
def test_a_call_of_a_server_that_hangs_ends_with_the_deadline(
    behaviour: Behaviour, error: str, api: Api, create: Create, impatient: None
) -> None:
    with receiver(behaviour) as one:
        data = call_and_check(api, create(method="POST", serverUrl=one.url))
    assert data["error"] == error.replace("Sending the request", "Reading the response")  # the request is small
    assert data["durationMs"] >= DEADLINE * 1000 - 1


FLOODS: dict[str, tuple[Behaviour, str | None]] = {
    "floods a body": (receivers.floods(HEAD + b"\r\n", b"x" * 4096), None),
    "floods chunks": (receivers.floods(CHUNKED, b"1\r\nx\r\n" * 500), TOO_MUCH),
    "floods final headers": (receivers.floods(HEAD, b"X-More: and more\r\n"), TOO_MUCH),
    "claims a huge chunk": (receivers.floods(CHUNKED + b"FFFFFFFF\r\n", b"x" * 4096), None),
}


@one_of_each(lambda error: error)
@pytest.mark.parametrize(("behaviour", "error"), (MISBEHAVING | FLOODS).values(), ids=MISBEHAVING | FLOODS)
def test_a_call_of_a_server_that_misbehaves_ends_early(
    behaviour: Behaviour,
    error: str | None,
    api: Api,
    create: Create,
    private: None,
) -> None:
    start = time.monotonic()
    with receiver(behaviour) as one:
        data = call_and_check(api, create(method="POST", serverUrl=one.url))
    assert data["error"] in (EARLY.get(error, {error}) if error else {None})
    assert time.monotonic() - start < 2


def test_a_request_without_time_left_makes_no_call(
    api: Api,
    create: Create,
    private: None,
    pass_time: PassTime,
    monkeypatch: pytest.MonkeyPatch,
    watch: Watch,
) -> None:
    path = create(serverUrl="http://127.0.0.1:9/")
    real = calls.build_request

    def slowly(*arguments: Any) -> Any:
        pass_time(10)
        return real(*arguments)

    monkeypatch.setattr(calls, "build_request", slowly)
    refused(api.post(path, {"arguments": {}}), 503)
    assert watch.sockets == 0


def test_a_call_leaves_time_for_the_commit_of_its_key(
    api: Api, create: Create, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeouts: list[float] = []
    real = calls.build_request

    def slowly(*arguments: Any) -> Any:
        pass_time(5)
        return real(*arguments)

    def send(_: Any, __: Any, deadline: float) -> tuple[None, str, int]:
        timeouts.append(deadline)
        return None, "Connection timed out.", 8000

    monkeypatch.setattr(calls, "build_request", slowly)
    monkeypatch.setattr(calls.sender, "send", send)
    assert api.post(create(serverUrl="https://tools.cams.test/"), {"arguments": {}}).status == 200
    assert timeouts == [8.0]
