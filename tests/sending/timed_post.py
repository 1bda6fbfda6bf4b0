"""Deliveries over real sockets, timed and checked."""

import sys
import time

from chalicelib.sending.sender import Outcome, post

DEADLINE = 0.4
SLACK = 0.25
HOST = "hooks.cams.test"
BODY = b'{"type":"webhook_test","payload":{"workspaceSecret":"body-secret"}}'
HEADERS = {"webhook-id": "msg_1", "webhook-signature": "v1,header-secret"}
LARGE = b"x" * 8_000_000


def post_and_check(url: str, body: bytes = BODY, deadline: float = DEADLINE) -> tuple[Outcome, float]:
    """Send a delivery; return its outcome and duration. Check the deadline, and that the error contains no secret."""
    start = time.monotonic()
    outcome = post(url + "?token=url-secret", body, HEADERS, deadline)
    took = time.monotonic() - start
    sys.stdout.write(f"{took:.3f} s: {outcome}\n")
    assert took <= deadline + SLACK
    assert (outcome.error is None) == (outcome.status == 200)
    assert not outcome.error or "secret" not in outcome.error
    return outcome, took
