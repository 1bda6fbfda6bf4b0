"""Receivers that hang or misbehave, and the error that a delivery to each receiver returns."""

from tests.sending import receivers
from tests.sending.receivers import Behaviour

INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
TOO_LONG = "Reading the response timed out."
HANGING: dict[str, tuple[Behaviour, str]] = {
    "never answers": (receivers.reads_and_hangs, TOO_LONG),
    "never reads": (receivers.hangs, "Sending the request timed out."),
    "reads a byte at a time": (receivers.reads_a_byte_at_a_time, "Sending the request timed out."),
    "drips a status line": (receivers.drips(b"HTTP/1.1 200 OK"), TOO_LONG),
    "drips interim headers": (receivers.drips(INTERIM), TOO_LONG),
    "stops in the status line": (receivers.answers(b"HTTP/1.1 200 OK", then_hangs=True), TOO_LONG),
    "stops after an interim answer": (receivers.answers(INTERIM, then_hangs=True), TOO_LONG),
    "stops in interim headers": (receivers.answers(INTERIM[:-2], then_hangs=True), TOO_LONG),
}
NOT_HTTP = "The response is not HTTP/1.1."
NO_ANSWER = "The receiver closed the connection without a response."
RESET = "Reading the response failed: connection reset by peer."
# In these cases, the sender may notice at an earlier step that the connection has ended.
EARLY = {NO_ANSWER: {NO_ANSWER, RESET}, RESET: {RESET, RESET.replace("Reading the response", "Connection")}}
TOO_MUCH = "The receiver sent more than 256 KiB."
MISBEHAVING: dict[str, tuple[Behaviour, str]] = {
    "floods headers": (receivers.floods(INTERIM[:-2], b"X-More: and more\r\n"), TOO_MUCH),
    "floods interim answers": (receivers.floods(b"", INTERIM), TOO_MUCH),
    "floods a line without end": (receivers.floods(b"HTTP/1.1 200 ", b"x" * 4096), NOT_HTTP),
    "floods empty lines": (receivers.floods(b"", b"\r\n" * 2048), NOT_HTTP),
    "closes at once": (lambda connection, where: None, NO_ANSWER),
    "closes after the request": (receivers.answers(), NO_ANSWER),
    "closes in the status line": (receivers.answers(b"HTTP/1.1 200 OK"), NO_ANSWER),
    "closes after an interim answer": (receivers.answers(INTERIM), NO_ANSWER),
    "resets at once": (receivers.resets_at_once, RESET),
    "resets at the first byte": (receivers.resets_at_a_byte, RESET),
    "resets after the request": (receivers.resets_after(b""), RESET),
    "resets in the status line": (receivers.resets_after(b"HTTP/1.1 200 O"), RESET),
    "is an SSH server": (receivers.answers(b"SSH-2.0-OpenSSH_9.6\r\n"), NOT_HTTP),
    "speaks HTTP/2": (receivers.answers(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\n"), NOT_HTTP),
    "speaks HTTP/0.9": (receivers.answers(b"<html>\n200 OK\n</html>"), NOT_HTTP),
    "speaks ICY": (receivers.answers(b"ICY 200 OK\r\n\r\n"), NOT_HTTP),
    "sends noise": (receivers.answers(bytes(range(256)) * 10), NOT_HTTP),
    "has a status of letters": (receivers.answers(b"HTTP/1.1 abc OK\r\n\r\n"), NOT_HTTP),
    "has a status of four digits": (receivers.answers(b"HTTP/1.1 2000 OK\r\n\r\n"), NOT_HTTP),
    "has a status of two digits": (receivers.answers(b"HTTP/1.1 20 OK\r\n\r\n"), NOT_HTTP),
    "has another 2": (receivers.answers("HTTP/1.1 ２00 OK\r\n\r\n".encode()), NOT_HTTP),
    "has a space in front": (receivers.answers(b" HTTP/1.1 200 OK\r\n\r\n"), NOT_HTTP),
}
