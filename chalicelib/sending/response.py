"""Reads an HTTP/1.1 response, or only the part that the caller needs, from a connection."""

import re
from collections.abc import Iterator

from chalicelib.sending.connection import MAX_LINE, AttemptFailed, Connection

# Maximum bytes that are read from a body.
MAX_BODY = 128 * 1024

_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: .*)?")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?")
_WITHOUT_BODY = (101, 204, 304)

_NOT_HTTP = "The response is not HTTP/1.1."
_INCOMPLETE = "The receiver closed the connection before the end of its response."


class Reader:
    """Reads a connection's bytes as lines or as pieces."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._rest = connection, b""

    def lines(self) -> Iterator[bytes]:
        """Yield the next lines without their line endings. Raise AttemptFailed for a line longer than 8 KiB."""
        while True:
            line, end, rest = self._rest.partition(b"\n")
            if end:
                self._rest = rest
                yield line.removesuffix(b"\r")
            elif len(line) > MAX_LINE:
                raise AttemptFailed(_NOT_HTTP)
            elif received := self._connection.receive():
                self._rest += received
            else:
                return

    def piece(self, limit: int) -> bytes:
        """Return up to `limit` of the next bytes, or empty bytes at the end."""
        received = self._rest or self._connection.receive()
        self._rest = received[limit:]
        return received[:limit]


def read_status(lines: Iterator[bytes]) -> int:
    """Return the final status. Skip interim responses (RFC 9110 §15.2) and their headers. Raise AttemptFailed."""
    for line in lines:
        matched = _STATUS_LINE.fullmatch(line)
        if not matched:
            raise AttemptFailed(_NOT_HTTP)
        status = int(matched[1])
        if status >= 200 or status == 101:
            return status
        any(not header for header in lines)
    raise AttemptFailed("The receiver closed the connection without a response.")


class Response:
    """A response with its headers and at most `MAX_BODY` bytes of its body, or fewer bytes if reading fails."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = bytearray()

    def read(self, connection: Connection) -> None:
        """Read the response. Raise AttemptFailed or a connection error."""
        reader = Reader(connection)
        lines = reader.lines()
        self.status = read_status(lines)
        self._read_headers(lines)
        length = self._header(b"content-length")
        if self.status in _WITHOUT_BODY:
            return
        if self._header(b"transfer-encoding").lower().endswith(b"chunked"):
            self._read_chunks(reader, lines)
        elif not length:
            self._read_piece(reader, MAX_BODY)  # the body ends with the connection
        elif not length.isdigit():
            raise AttemptFailed(_NOT_HTTP)
        elif not self._read_piece(reader, int(length[:9])):
            raise AttemptFailed(_INCOMPLETE)

    def _header(self, name: bytes) -> bytes:
        return next((value for header, value in self.headers if header.lower() == name), b"")

    def _read_headers(self, lines: Iterator[bytes]) -> None:
        for line in lines:
            if not line:
                return
            name, colon, value = line.partition(b":")
            if not colon:
                raise AttemptFailed(_NOT_HTTP)
            self.headers.append((name, value.strip()))
        raise AttemptFailed(_INCOMPLETE)

    def _read_chunks(self, reader: Reader, lines: Iterator[bytes]) -> None:
        for line in lines:
            size = _CHUNK_SIZE.fullmatch(line)
            if not size:
                raise AttemptFailed(_NOT_HTTP)
            if int(size[1], 16) == 0:
                return
            if not self._read_piece(reader, int(size[1], 16)):
                break
            if len(self.body) == MAX_BODY:
                return
            next(lines, b"")  # the line end after the chunk
        raise AttemptFailed(_INCOMPLETE)

    def _read_piece(self, reader: Reader, size: int) -> bool:
        """Read `size` bytes of the body, up to `MAX_BODY` in total. Return False if the connection closes first."""
        size = min(size, MAX_BODY - len(self.body))
        while size:
            piece = reader.piece(size)
            if not piece:
                return False
            self.body += piece
            size -= len(piece)
        return True
