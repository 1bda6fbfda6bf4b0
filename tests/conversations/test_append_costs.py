"""What adding a message costs at 10, 1,000 and 10,000 messages: the table of docs/conversations.md."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chalicelib import clock
from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.capacity import Meter, metered
from tests.selection import whole

PAGE = Path(__file__).parents[2] / "docs" / "conversations.md"
START, END = "<!-- append -->\n", "<!-- end of append -->"
SIZES = (10, 1_000, 10_000)
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
    lines = ["| Messages before | Requests | Read units | Write units | Most requests |", "|---|---|---|---|---|"]
    for size in SIZES:
        costs = cost_of(api, size, pass_time)
        reads, writes = (sum(getattr(one, what) for one in costs) / ADDED for what in ("reads", "writes"))
        requests = [one.total for one in costs]
        # All but the one that cuts a chunk, and those in the 90 seconds after.
        assert requests.count(2) >= ADDED - 10
        lines.append(f"| {size:,} | {sum(requests) / ADDED:.2f} | {reads:.1f} | {writes:.1f} | {max(requests)} |")
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(START)[0], text.split(END)[1]
    counted = "\n".join(lines) + "\n"
    if os.environ.get("CAMS_UPDATE_DOCS"):
        PAGE.write_text(f"{before}{START}{counted}{END}{after}", encoding="utf-8")
    elif text != f"{before}{START}{counted}{END}{after}":
        pytest.fail(f"The table of docs/conversations.md should be:\n{counted}")
