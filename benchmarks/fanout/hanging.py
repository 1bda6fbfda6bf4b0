"""Memory of a process while hundreds of receivers hang. Use a new process for each call: memory is not released."""

import asyncio
import json
import resource
import time
import urllib.request
from concurrent import futures
from pathlib import Path

from benchmarks.fanout import senders

_SECONDS = 30.0


def memory(name: str, hosts: list[str], count: int) -> float:
    """Return the growth in MB with `count` requests in flight to receivers that never answer.

    `hosts` are the first parts of the URLs. The baseline is the memory after one completed delivery.
    """
    if name in senders.IN_A_LOOP:
        return asyncio.run(_in_a_loop(name, hosts, count))
    with senders.sender(name, count) as begin:
        begin(f"{hosts[0]}/0", _SECONDS).result()
        before = _resident(hosts[0], 0)
        waiting = [begin(f"{hosts[number % len(hosts)]}/hangs", _SECONDS) for number in range(count)]
        grown = _resident(hosts[0], count) - before
        ask(hosts[0], "forget")
        futures.wait(waiting)
    return grown / 1e6


async def _in_a_loop(name: str, hosts: list[str], count: int) -> float:
    async with senders.IN_A_LOOP[name](_SECONDS) as post:
        await post(f"{hosts[0]}/0", *senders.message())
        before = await asyncio.to_thread(_resident, hosts[0], 0)
        urls = [f"{hosts[number % len(hosts)]}/hangs" for number in range(count)]
        waiting = [asyncio.ensure_future(post(url, *senders.message())) for url in urls]
        grown = await asyncio.to_thread(_resident, hosts[0], count) - before
        await asyncio.to_thread(ask, hosts[0], "forget")
        await asyncio.gather(*waiting, return_exceptions=True)
    return grown / 1e6


def ask(host: str, path: str) -> dict[str, float]:
    """GET a path of a receiver."""
    with urllib.request.urlopen(f"{host}/{path}", timeout=30) as answer:  # noqa: S310
        found: dict[str, float] = json.loads(answer.read() or b"{}")
        return found


def _resident(host: str, count: int) -> int:
    """Wait until `count` connections hang at the receiver, then return the process's resident bytes."""
    deadline = time.monotonic() + _SECONDS - 5
    while ask(host, "hanging")["count"] < count:
        if time.monotonic() > deadline:
            raise RuntimeError(f"Fewer than {count} connections opened in time")
        time.sleep(0.05)
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
