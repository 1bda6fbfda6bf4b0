"""A process whose threads save the same record concurrently, for `test_two_writers`.

Run `python -m tests.reliability.competing_writers` with one of these actions:

    save TOKEN REQUESTS THREADS    send each request from all threads at once; print the statuses per request
    append TOKEN HOW THREADS       add messages to one conversation until 429; print the number of accepted messages
    add TOKEN EACH THREADS         add EACH messages to the end of one conversation in every thread, one per request and
                                   each twice; print `[[status, mid, start, end], …]` of each thread
    guess TOKEN EACH THREADS       sign in to the console with EACH wrong passwords in every thread; print the statuses
    merge TOKEN MEMBERS EACH       change the metadata of one conversation EACH times, in one thread per member;
                                   print the statuses

REQUESTS is JSON: `[[method, path, body, tag], …]`. MEMBERS is a list of names. HOW is `matched` (with `If-Match`) or
`plain`.
"""

import json
import logging
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.api import Answer, Api

STATE = "/agents/support/interact/ann/state"
MESSAGES = "/agents/support/interact/ann/messages"
THREAD = "THREAD"


def save(api: Api, requests: list[list[Any]], threads: int) -> None:
    """Send each request from all threads simultaneously. The thread's name replaces `THREAD` in the body."""
    start = threading.Barrier(threads)

    def run(_: int) -> list[int]:
        statuses = []
        for method, path, body, tag in requests:
            own = json.dumps(body).replace(THREAD, str(threading.get_native_id()))
            start.wait()
            statuses.append(_conditional(api, method, path, own, tag).status)
        return statuses

    with ThreadPoolExecutor(threads) as pool:
        for statuses in zip(*pool.map(run, range(threads)), strict=True):
            print(*statuses)


def append(api: Api, is_matched: bool, threads: int) -> None:
    """Repeatedly read the conversation and add a message in every thread, until the limit is reached."""

    def run(_: int) -> int:
        taken = 0
        while True:
            read = api.post(STATE, {})
            turns = [{**turn, "messages": [turn["messages"]]} for turn in read.json["turns"]]
            body = json.dumps({"turns": [*turns, {"from": "human", "messages": [{"type": "text"}]}]})
            answer = _conditional(api, "POST", STATE, body, read.headers["etag"] if is_matched else None)
            if answer.status == 429:
                return taken
            assert answer.status in (200, 412 if is_matched else 409), answer.text
            taken += answer.status == 200

    with ThreadPoolExecutor(threads) as pool:
        print(sum(pool.map(run, range(threads))))


def add(api: Api, each: int, threads: int) -> None:
    """Add 2 KB messages from all threads. All processes read the same clock."""

    def run(_: int) -> list[list[Any]]:
        added = []
        for number in range(each):
            message = {"mid": f"{threading.get_native_id()}-{number}", "from": "human", "item": {"text": "x" * 2_000}}
            start = time.monotonic()
            for _ in range(2):
                while (answer := api.post(MESSAGES, {"messages": [message]})).status == 409:
                    pass  # on a busy machine, a request may fail after too many conflicts
                added.append([answer.status, message["mid"], start, time.monotonic()])
        return added

    with ThreadPoolExecutor(threads) as pool:
        for added in pool.map(run, range(threads)):
            print(json.dumps(added))


def guess(api: Api, each: int, threads: int) -> None:
    """Try passwords for one client from all threads and from the same IP address."""
    path = f"/console/{api.get('/v3/workspace').data['id']}"
    form = {"Content-Type": "application/x-www-form-urlencoded"}

    def run(_: int) -> list[int]:
        return [api.call("POST", path, b"email=bo@acme.test&password=guess", form).status for _ in range(each)]

    with ThreadPoolExecutor(threads) as pool:
        for statuses in pool.map(run, range(threads)):
            print(*statuses)


def merge(api: Api, members: list[str], each: int) -> None:
    """Increment a different metadata member in each thread."""

    def run(member: str) -> list[int]:
        return [api.post(STATE, {"metadata": {member: f"{number}"}}).status for number in range(1, each + 1)]

    with ThreadPoolExecutor(len(members)) as pool:
        for statuses in pool.map(run, members):
            print(*statuses)


def _conditional(api: Api, method: str, path: str, body: str, tag: str | None) -> Answer:
    condition = {"If-Match": tag} if tag else {}
    return api.call(method, path, body.encode(), {**api._headers, "Content-Type": "application/json", **condition})


if __name__ == "__main__":
    logging.getLogger("chalicelib.telemetry").setLevel(logging.WARNING)  # the test reads this output
    action, token, what, *threads = sys.argv[1:]
    if action == "save":
        save(Api(token), json.loads(what), int(threads[0]))
    elif action == "add":
        add(Api(token), int(what), int(threads[0]))
    elif action == "guess":
        guess(Api(token), int(what), int(threads[0]))
    elif action == "merge":
        merge(Api(token), json.loads(what), int(threads[0]))
    else:
        append(Api(token), what == "matched", int(threads[0]))
