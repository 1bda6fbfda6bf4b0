"""A tool test's result shows the response from the tool's server."""

import pytest

from chalicelib.extensions.tool_calls import calls
from chalicelib.sending import response as responses
from tests.api import Api
from tests.extensions.tool_calls.servers import CHUNKED, HEAD, reads_any
from tests.extensions.tool_calls.timed_calls import Create
from tests.sending.hostile_receivers import NOT_HTTP
from tests.sending.receivers import receiver

INCOMPLETE = "The receiver closed the connection before the end of its response."
EURO = "€".encode()
RESPONSES: dict[str, tuple[list[bytes], int, str, str | None]] = {
    "with a length": ([HEAD + b"Content-Length: 2\r\n\r\nok and more"], 200, "ok", None),
    "until the end": ([HEAD + b"\r\nok"], 200, "ok", None),
    "in chunks": ([CHUNKED + b"2;a=b\r\nok\r\n1\r\n!\r\n0\r\n\r\n"], 200, "ok!", None),
    "in single bytes": ([bytes([one]) for one in CHUNKED + b"A\r\n0123456789\r\n0\r\n\r\n"], 200, "0123456789", None),
    "after hints": ([b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + HEAD + b"\r\nok"], 200, "ok", None),
    "a redirect": ([b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\n\r\n"], 302, "", None),
    "an error": ([b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops"], 500, "oops", None),
    "no content": ([b"HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\noops"], 204, "", None),
    "cut in the body": ([HEAD + b"Content-Length: 9\r\n\r\nok"], 200, "ok", INCOMPLETE),
    "cut in the headers": ([HEAD + b"A: b\r\n"], 200, "", INCOMPLETE),
    "cut in a chunk": ([CHUNKED + b"9\r\nok"], 200, "ok", INCOMPLETE),
    "cut between chunks": ([CHUNKED + b"2\r\nok\r\n"], 200, "ok", INCOMPLETE),
    "a negative length": ([HEAD + b"Content-Length: -1\r\n\r\nok"], 200, "", NOT_HTTP),
    "a chunk of letters": ([CHUNKED + b"xyz\r\nok"], 200, "", NOT_HTTP),
    "a header without a colon": ([HEAD + b"abc\r\n\r\nok"], 200, "", NOT_HTTP),
}


@pytest.mark.parametrize(("pieces", "status", "body", "error"), RESPONSES.values(), ids=RESPONSES)
def test_a_response_is_shown(
    pieces: list[bytes],
    status: int,
    body: str,
    error: str | None,
    api: Api,
    create: Create,
    private: None,
) -> None:
    with receiver(reads_any(*pieces)) as one:
        data = api.post(create(serverUrl=one.url), {"arguments": {}}).data
    shown = data["response"]
    assert (shown["status"], shown["body"], data["error"]) == (status, body, error)
    assert (shown["isBase64"], shown["isTruncated"]) == (False, False)


@pytest.mark.parametrize("length", [65_534, 65_537, responses.MAX_BODY + 1, 1_000_000])
@pytest.mark.parametrize("head", [HEAD + b"\r\n", CHUNKED + b"F4240\r\n"], ids=["plain", "in a chunk"])
def test_a_long_body_is_cut_after_64_kb(
    head: bytes,
    length: int,
    api: Api,
    create: Create,
    private: None,
) -> None:
    raw = b"xx" + EURO * length
    with receiver(reads_any(head + raw[:length])) as one:
        shown = api.post(create(serverUrl=one.url), {"arguments": {}}).data["response"]
    assert shown["body"].encode() == raw[:65_534]  # the cut does not split a character
    assert shown["isTruncated"] == (length > calls.MAX_SHOWN)


def test_the_body_of_the_largest_response_fits_in_the_answer(api: Api, create: Create, private: None) -> None:
    header = b"A" * 7000 + b": " + b"\x7f" * 1000 + b"\r\n"
    with receiver(reads_any(HEAD + header * 12 + b"\r\n" + b"\x01" * 140_000)) as one:
        answer = api.post(create(serverUrl=one.url, serverUrlSecret="\x01"), {"arguments": {}})
        assert answer.status == 200
        answer = api.post(create(serverUrl=one.url, serverUrlSecret="\x01" * 9), {"arguments": {}})
    assert answer.status == 200
