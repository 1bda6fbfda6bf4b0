"""A delivery ends at its deadline if the receiver hangs, and earlier if the receiver misbehaves."""

import pytest

from tests.selection import one_of_each
from tests.sending import receivers
from tests.sending.hostile_receivers import EARLY, HANGING, MISBEHAVING, RESET
from tests.sending.receivers import Behaviour, receiver
from tests.sending.timed_post import BODY, DEADLINE, LARGE, post_and_check

pytestmark = pytest.mark.usefixtures("public_only", "empty_cache")


@one_of_each(lambda error: error)
@pytest.mark.parametrize(("behaviour", "error"), HANGING.values(), ids=HANGING)
def test_a_receiver_that_hangs_ends_with_the_deadline(behaviour: Behaviour, error: str, private: None) -> None:
    with receiver(behaviour) as one:
        outcome, took = post_and_check(one.url, LARGE if error.startswith("Sending") else BODY)
    assert outcome[:2] == (None, error)
    assert took >= DEADLINE
    assert DEADLINE * 1000 - 1 <= outcome.duration_ms <= took * 1000 + 1


def test_a_receiver_that_accepts_no_connection_ends_with_the_deadline(private: None) -> None:
    with receiver(receivers.hangs, accepts=False) as one:
        outcome, took = post_and_check(one.url)
    assert outcome[:2] == (None, "Connection timed out.")
    assert took >= DEADLINE


@one_of_each(lambda error: error)
@pytest.mark.parametrize(("behaviour", "error"), MISBEHAVING.values(), ids=MISBEHAVING)
def test_a_misbehaving_receiver_ends_before_the_deadline(behaviour: Behaviour, error: str, private: None) -> None:
    with receiver(behaviour) as one:
        outcome, took = post_and_check(one.url, deadline=5)
    assert outcome.error in EARLY.get(error, {error})
    assert outcome.status is None
    assert took < 2


def test_a_reset_while_sending_is_distinguished_from_a_close(private: None) -> None:
    with receiver(receivers.resets_at_a_byte) as one:
        outcome, _ = post_and_check(one.url, LARGE, deadline=5)
    assert outcome[:2] == (None, RESET)


def test_a_port_without_a_listener_is_an_error(private: None) -> None:
    with receiver(receivers.hangs) as one:
        closed = one.url
    outcome, _ = post_and_check(closed)
    assert outcome[:2] == (None, "Connection failed: connection refused.")
