"""A process whose threads send the same request and key, for `test_concurrent_keys`.

    python -m tests.reliability.repeating_clients create TOKEN KEY THREADS EACH    print each response as a line of JSON

The environment contains the engine's address.
"""

import json
import logging
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.api import Api


def create(token: str, key: str, threads: int, each: int) -> None:
    """Send the same request to create an agent repeatedly; print `[status, code, replayed, text]` for each response."""
    api = Api(token)
    headers = {**api._headers, "Content-Type": "application/json", "Idempotency-Key": key}

    def send(_: int) -> None:
        answer = api.call("POST", "/v3/agents", {"agent": {"title": "Once"}}, headers)
        code, replayed = answer.json.get("code"), "idempotency-replayed" in answer.headers
        sys.stdout.write(json.dumps([answer.status, code, replayed, answer.text]) + "\n")

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(send, range(threads * each)))


if __name__ == "__main__":
    logging.getLogger("chalicelib.telemetry").setLevel(logging.WARNING)  # the test reads this output
    _, token, key, threads, each = sys.argv[1:]
    create(token, key, int(threads), int(each))
