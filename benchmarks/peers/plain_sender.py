"""Sending webhooks as people write it: a client library's post, for each delivery, in a pool of threads or a loop.

None of them checks where a name leads, and only the last one has one deadline over everything. (httpx is not here: its
pool of connections looks through all of them at each step, and 200 in flight took it 0.5 s of CPU for each delivery.)
"""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from urllib.parse import urlsplit

import aiohttp
import requests
import urllib3

Post = Callable[[str, bytes, Mapping[str, str], float], int]
AsyncPost = Callable[[str, bytes, Mapping[str, str]], Awaitable[int]]


def with_requests(url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> int:
    """POST with requests; the status. A session cannot be shared between threads, so each call makes its own."""
    return requests.post(url, data=body, headers=headers, timeout=seconds).status_code


def with_urllib3(url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> int:
    """POST with a pool of connections that all threads share; the status."""
    answer = _pool().request("POST", url, body=body, headers=headers, timeout=seconds, retries=False)
    return answer.status


@lru_cache
def _pool() -> urllib3.PoolManager:
    return urllib3.PoolManager()


@asynccontextmanager
async def with_aiohttp(seconds: float) -> AsyncIterator[AsyncPost]:
    """A function that posts with one session for all, which is told not to stop at 100 connections."""
    total = aiohttp.ClientTimeout(total=seconds)
    async with aiohttp.ClientSession(timeout=total, connector=aiohttp.TCPConnector(limit=0)) as session:

        async def post(url: str, body: bytes, headers: Mapping[str, str]) -> int:
            async with session.post(url, data=body, headers=headers) as answer:
                return answer.status

        yield post


def with_sockets(url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> int:
    """The floor: what no sender that has a thread for each delivery does without. No deadline, no TLS, no checks."""
    parts = urlsplit(url)
    lines = [
        f"POST {parts.path} HTTP/1.1",
        f"Host: {parts.netloc}",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    with socket.create_connection((parts.hostname or "", parts.port or 80), seconds) as connected:
        connected.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        answer = b""
        while received := connected.recv(8192):
            answer += received
    return int(answer.split(b" ", 2)[1])
