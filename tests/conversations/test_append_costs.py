"""The costs of adding a message to conversations of 10, 1,000 and 10,000 messages."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from chalicelib import clock
from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.capacity import Meter, metered
from tests.selection import whole


class Cost(NamedTuple):
    """The means of the additions, and the most requests of one of them."""

    requests: float
    reads: float
    writes: float
    most_requests: int


# Messages before -> the cost of adding one message of 40 bytes every 30 seconds.
COSTS = {10: Cost(2.00, 2.8, 4.5, 2), 1_000: Cost(2.06, 3.0, 6.5, 28), 10_000: Cost(2.06, 3.1, 7.4, 28)}
# As many as a chunk has, so that a chunk is cut once.
ADDED = 500
# The times, in Unix seconds, are part of the compressed turns: with others, the units would vary in the last digit.
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
    """The costs of adding messages one by one to a conversation of this size."""
    turns = [{"from": "human", "messages": [message(number)]} for number in range(size)]
    assert api.post(STATE.format(size), {"turns": turns}).status == 200
    for number in range(size, size + 20):  # the first ones write the index
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
    counted = {}
    for size in COSTS:
        costs = cost_of(api, size, pass_time)
        reads, writes = (sum(getattr(one, what) for one in costs) / ADDED for what in ("reads", "writes"))
        requests = [one.total for one in costs]
        # All but the one that cuts a chunk, and those in the 90 seconds after.
        assert requests.count(2) >= ADDED - 10
        counted[size] = Cost(round(sum(requests) / ADDED, 2), round(reads, 1), round(writes, 1), max(requests))
    assert counted == COSTS
