"""A process that sends the largest states to the API, for `test_worst_case`. The environment locates the engine.

python -m tests.webhooks.worst_case BYTES    prints per state: status, messages sent, received, stored
"""

import random
import sys

from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.webhooks.pipeline import Stream, events_of

# The worst-case characters for compression: no other characters carry more information per byte of JSON.
_CHARACTERS = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) not in '"\\')
_SIZES = (99_000, 30_000, 1_000, 200)


def main(limit: int) -> None:
    """Write one conversation per message size, with as many messages as fit into a request of `limit` bytes."""
    random_ = random.Random(5)
    api = Api(workspaces.create("Large").workspace_key)
    api.post("/v2/agents/support", {})
    stream = Stream()
    for size in _SIZES:
        count = (limit - 100) // (size + len('{"item": {"text": ""}}, '))
        texts = ["".join(random_.choices(_CHARACTERS, k=size)) for _ in range(count)]
        path = f"/agents/support/interact/of-{size}/state"
        turns = [{"from": "human", "messages": [{"item": {"text": text}} for text in texts]}]
        status = api.post(path, {"turns": turns}).status
        received = [event.payload["messageContent"] for event in events_of(stream.read("conversations"))]
        stored = [turn["messages"]["item"]["text"] for turn in api.post(path).json["turns"]]
        assert received in ([], texts)
        assert stored in ([], texts)
        sys.stdout.write(f"{status} {len(texts)} {len(received)} {len(stored)}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
