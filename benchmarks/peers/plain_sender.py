"""Common ways to send webhooks: one post of a client library per delivery, in a thread pool or an event loop.

None checks the resolved address, and only aiohttp has one deadline for everything. The suite excludes httpx. Its
connection pool scans all connections at each step, so 200 deliveries in flight took 0.5 s of CPU each.
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
    """POST with requests and return the status. Sessions are not thread-safe, so each call creates one."""
    return requests.post(url, data=body, headers=headers, timeout=seconds).status_code


def with_urllib3(url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> int:
    """POST with a connection pool shared by all threads, and return the status."""
    answer = _pool().request("POST", url, body=body, headers=headers, timeout=seconds, retries=False)
    return answer.status


@lru_cache
def _pool() -> urllib3.PoolManager:
    return urllib3.PoolManager()


@asynccontextmanager
async def with_aiohttp(seconds: float) -> AsyncIterator[AsyncPost]:
    """Yield a function that posts with a shared session, without aiohttp's limit of 100 connections."""
    total = aiohttp.ClientTimeout(total=seconds)
    async with aiohttp.ClientSession(timeout=total, connector=aiohttp.TCPConnector(limit=0)) as session:

        async def post(url: str, body: bytes, headers: Mapping[str, str]) -> int:
            async with session.post(url, data=body, headers=headers) as answer:
                return answer.status

        yield post


def with_sockets(url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> int:
    """The floor: the minimum for a sender with one thread per delivery. No deadline, TLS or checks."""
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
