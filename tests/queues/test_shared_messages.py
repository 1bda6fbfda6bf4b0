"""Changes share a delayed message for a minute, unless the queue has not accepted it."""

from collections.abc import Iterator

import pytest

from chalicelib import clock, errors
from chalicelib.conversations.follower import RECOUNT_DELAY_SECONDS
from chalicelib.queues import shared_messages
from tests.conftest import PassTime

A, B = ("workspace#a", 1), ("workspace#b", 1)


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    shared_messages._sent.clear()
    yield
    shared_messages._sent.clear()


@pytest.fixture
def sent() -> list[tuple[str, int]]:
    return []


def test_changes_share_a_message_for_a_minute(pass_time: PassTime, sent: list[tuple[str, int]]) -> None:
    shared_messages.send([B, A, A], sent.extend)
    assert sent == [A, B]
    pass_time(59)
    shared_messages.send([A, B], sent.extend)
    assert sent == [A, B]
    pass_time(1)
    shared_messages.send([A], sent.extend)
    assert sent == [A, B, A]
    assert shared_messages._sent == {A: clock.seconds()}


def test_a_message_that_the_queue_refused_is_sent_again(sent: list[tuple[str, int]]) -> None:
    def refuse(_: object) -> None:
        raise errors.Unavailable

    with pytest.raises(errors.Unavailable):
        shared_messages.send([A], refuse)
    shared_messages.send([A], sent.extend)
    assert sent == [A]


def test_a_clock_that_is_set_back_loses_no_message(pass_time: PassTime, sent: list[tuple[str, int]]) -> None:
    shared_messages.send([A], sent.extend)
    pass_time(-1)
    shared_messages.send([A], sent.extend)
    assert sent == [A, A]


def test_the_last_change_that_shares_a_recount_is_in_the_index() -> None:
    assert RECOUNT_DELAY_SECONDS - shared_messages.SHARED_SECONDS >= 30
