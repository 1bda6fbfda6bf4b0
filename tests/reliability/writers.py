"""A process that creates or lists an agent's conversations, for `test_concurrent_lists`.

    python -m tests.reliability.writers create TOKEN THREADS EACH    print the created ids
    python -m tests.reliability.writers walk TOKEN SECONDS           print the number of complete walks
    python -m tests.reliability.writers pages TOKEN                  print the ids of each page, one line per page

The environment contains the engine's address.
"""

import logging
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.api import Api

LIST = "/v2/agents/support/convos"


def create(api: Api, threads: int, each: int) -> None:
    """Create conversations from several threads, using both routes that create conversations."""

    def run(thread: int) -> list[str]:
        made = []
        for number in range(each):
            if number % 2:
                name = f"{time.time_ns()}-{thread}"
                answer = api.post(f"/agents/support/interact/{name}/state", {"metadata": {"userName": name}})
                assert answer.status == 200, answer.text
                made.append(name)
            else:
                made.append(api.post("/v3/agents/support/convos", {"conversation": {}}).data["id"])
        return made

    with ThreadPoolExecutor(threads) as pool:
        for made in pool.map(run, range(threads)):
            print("\n".join(made))


def walk(api: Api, seconds: float) -> None:
    """Repeatedly read all pages by cursor. Check that only the last page is short and that no id occurs twice."""
    walks, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        seen, answer = _page(api, LIST)
        while cursor := answer.json.get("nextCursor"):
            assert len(answer.data) == 20
            page, answer = _page(api, f"{LIST}?cursor={cursor}")
            seen += page
        assert len(seen) == len(set(seen))
        walks += 1
    print(walks)


def pages(api: Api) -> None:
    """Read pages by number and print them, up to the first empty page."""
    number = 1
    while page := _page(api, f"{LIST}?page={number}")[0]:
        print(*page)
        number += 1


def _page(api: Api, path: str) -> tuple[list[str], Any]:
    answer = api.get(path)
    return [one["ID"] for one in answer.data], answer


if __name__ == "__main__":
    logging.getLogger("chalicelib.telemetry").setLevel(logging.WARNING)  # the test reads this output
    action, token, *numbers = sys.argv[1:]
    if action == "create":
        create(Api(token), int(numbers[0]), int(numbers[1]))
    elif action == "walk":
        walk(Api(token), float(numbers[0]))
    else:
        pages(Api(token))
