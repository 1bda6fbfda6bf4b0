"""Which responses acknowledge a delivery, and when the sender stops reading a response."""

import socket
import time

import pytest

from tests.selection import first_case, one_of_each
from tests.sending import receivers
from tests.sending.hostile_receivers import INTERIM
from tests.sending.receivers import Receiver, receiver, status
from tests.sending.sockets import Watch
from tests.sending.timed_post import LARGE, post_and_check

pytestmark = pytest.mark.usefixtures("public_only", "empty_cache")


@one_of_each(lambda code: code // 100)
@pytest.mark.parametrize("code", [101, 201, 202, 204, 299, 400, 401, 404, 410, 429, 500, 503, 999])
def test_no_other_status_than_200_acknowledges(code: int, private: None) -> None:
    with receiver(status(code)) as one:
        outcome, _ = post_and_check(one.url)
    assert outcome[:2] == (code, f"The receiver responded with {code}; only 200 acknowledges a delivery.")


@first_case
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(code: int, private: None, watch: Watch) -> None:
    with receiver(receivers.acknowledges) as inside, receiver(status(code, f"Location: {inside.url}")) as one:
        outcome, _ = post_and_check(one.url)
    assert (outcome.status, inside.connections, watch.connects) == (code, 0, [("127.0.0.1", one.port)])


ACCEPTED = {
    "at once": [receivers.OK],
    "without a reason": [b"HTTP/1.1 200\r\n\r\n"],
    "in HTTP/1.0": [b"HTTP/1.0 200 OK\r\n\r\n"],
    "with bare line feeds": [b"HTTP/1.1 200 OK\n\n"],
    "in single bytes": [bytes([byte]) for byte in receivers.OK],
    "after 100 Continue": [b"HTTP/1.1 100 Continue\r\n\r\n", receivers.OK],
    "after several hints": [INTERIM, INTERIM + INTERIM[:20], INTERIM[20:] + receivers.OK],
}


@first_case
@pytest.mark.parametrize("pieces", ACCEPTED.values(), ids=ACCEPTED)
def test_200_acknowledges(pieces: list[bytes], private: None) -> None:
    with receiver(receivers.answers(*pieces)) as one:
        outcome, _ = post_and_check(one.url)
    assert outcome[:2] == (200, None)


def test_a_response_before_the_body_was_read_is_accepted(private: None) -> None:
    with receiver(receivers.answers_unread) as one:
        outcome, _ = post_and_check(one.url, LARGE)
    assert outcome.status == 413


@pytest.mark.parametrize("rest", ["hangs", "floods"])
def test_bytes_after_the_status_do_not_change_the_outcome(rest: str, private: None) -> None:
    hangs = receivers.answers(receivers.OK, then_hangs=True)
    with receiver(hangs if rest == "hangs" else receivers.floods(receivers.OK, b"x" * 65536)) as one:
        outcome, took = post_and_check(one.url, deadline=5)
    assert outcome.status == 200
    assert outcome.duration_ms < 200
    assert took < 0.5


def test_a_receiver_can_finish_its_answer(private: None) -> None:
    finished: list[bytes] = []

    def behave(connection: socket.socket, where: Receiver) -> None:
        receivers.read_request(connection)
        for piece in (b"HTTP/1.1 200 OK\r\n", b"Content-Length: 2\r\n\r\n", b"ok"):
            connection.sendall(piece)
            time.sleep(0.03)
        connection.shutdown(socket.SHUT_WR)
        finished.append(connection.recv(1))  # closing the connection with unread bytes would reset it

    with receiver(behave) as one:
        outcome, _ = post_and_check(one.url)
        time.sleep(0.05)
    assert outcome.status == 200
    assert finished == [b""]
