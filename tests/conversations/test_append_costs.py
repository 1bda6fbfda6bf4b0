"""The cost of appending a message to conversations with 10, 1,000 and 10,000 messages."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib import clock
from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.capacity import Meter, metered
from tests.costs import check
from tests.selection import whole

# Number of messages before the appends -> the operation in docs/costs.csv. A 40-byte message is appended every 30
# seconds.
SIZES = {
    10: "add to 10 messages (mean)",
    1_000: "add to 1,000 messages (mean)",
    10_000: "add to 10,000 messages (mean)",
}
# Number of messages per chunk, so the appends complete one chunk.
ADDED = 500
# Times in Unix seconds. They are part of the compressed turns, so different times would slightly change the consumed
# units.
FROM = 2_000_000_000
STATE, MESSAGES = "/agents/support/interact/{}/state", "/agents/support/interact/{}/messages"


def message(number: int) -> dict[str, Any]:
    return {
        "mid": f"m{number}",
        "from": "human",
        "type": "text",
        "item": {"text": f"Message {number}, about 40 bytes."},
    }


def cost_of(api: Api, size: int, pass_time: Callable[[int], None]) -> list[Meter]:
    """Return the costs of appending messages one at a time to a conversation of this size."""
    turns = [{"from": "human", "messages": [message(number)]} for number in range(size)]
    assert api.post(STATE.format(size), {"turns": turns}).status == 200
    for number in range(size, size + 20):  # the first appends write the index
        assert api.post(MESSAGES.format(size), {"messages": [message(number)]}).status == 200
    pass_time(100)
    costs = []
    for number in range(size + 20, size + 20 + ADDED):
        pass_time(30)
        api.get("/v2/clients")  # caches the credential
        with metered() as meter:
            assert api.post(MESSAGES.format(size), {"messages": [message(number)]}).status == 200
        costs.append(meter)
    return costs


@whole
@pytest.mark.long
def test_an_append_costs_the_same_at_any_length(engine: None, pass_time: Callable[[int], None]) -> None:
    pass_time(FROM - clock.seconds())
    api = Api(workspaces.create("Costs").workspace_key)
    assert api.post("/v2/agents/support", {}).status == 200
    for size, operation in SIZES.items():
        costs = cost_of(api, size, pass_time)
        # The append that completes a chunk costs more, and so do the appends in the next 90 seconds.
        assert [one.total for one in costs].count(2) >= ADDED - 10
        assert max(one.total for one in costs) <= 28
        total = Meter(sum((one.requests for one in costs), Counter[str]()))
        total.add(reads=sum(one.reads for one in costs), writes=sum(one.writes for one in costs))
        check(operation, total, ADDED)
