"""Reading an HTTP/1.1 response from a connection."""

import re
from collections.abc import Iterator

from chalicelib.sending.connection import MAX_LINE, Connection, Failed

_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: .*)?")

_NOT_HTTP = "The response is not HTTP/1.1."


class Reader:
    """The bytes of a connection, as lines."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._rest = connection, b""

    def lines(self) -> Iterator[bytes]:
        """The next lines, without their ends, until the connection ends. Raises Failed for a line over 8 KiB."""
        while True:
            line, end, rest = self._rest.partition(b"\n")
            if end:
                self._rest = rest
                yield line.removesuffix(b"\r")
            elif len(line) > MAX_LINE:
                raise Failed(_NOT_HTTP)
            elif received := self._connection.receive():
                self._rest += received
            else:
                return


def read_status(lines: Iterator[bytes]) -> int:
    """Return the final status; skip interim responses (RFC 9110 §15.2) and their headers. Raises Failed."""
    for line in lines:
        found = _STATUS_LINE.fullmatch(line)
        if not found:
            raise Failed(_NOT_HTTP)
        status = int(found[1])
        if status >= 200 or status == 101:
            return status
        any(not header for header in lines)
    raise Failed("The receiver closed the connection without a response.")
