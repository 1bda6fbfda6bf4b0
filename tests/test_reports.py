"""Reports: what happened at an agent is counted once per change, from the streams, and read from the tallies alone."""

from typing import Any

import pytest

from chalicelib import queues
from chalicelib.analytics import functions as loads
from chalicelib.analytics import hours
from chalicelib.conversations import functions as conversations
from chalicelib.leads import functions as leads
from tests.api import Api
from tests.webhooks.pipeline import Stream

Record = dict[str, Any]
REPORT = "/v3/agents/support/analytics"
STATE = "/agents/support/interact/{}/state"
_FUNCTIONS = {
    "conversations": conversations.tally_conversations,
    "leads": leads.tally_leads,
    "analytics": loads.tally_analytics,
}


class Pipeline:
    """The three streams, their functions, the queue and the counting function."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.stream, self.requests = Stream(), list[str]()
        send = queues.send

        def capture(queue: str, texts: Any, *rest: Any) -> None:
            if queue == queues.TALLIES:
                self.requests += texts
            else:
                send(queue, texts, *rest)

        patch.setattr(queues, "send", capture)

    def run(self) -> None:
        """Pass all changes on, and count until no request is left."""
        for table, function in _FUNCTIONS.items():
            function({"Records": self.stream.read(table)}, None)
        while self.requests:
            count_again([self.requests.pop()])


def count_again(texts: list[str]) -> None:
    records = [{"messageId": str(number), "body": text} for number, text in enumerate(texts)]
    answer = conversations.count_conversations({"Records": records}, None)
    assert answer == {"batchItemFailures": []}


@pytest.fixture
def pipeline(agent_id: str, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    return Pipeline(monkeypatch)


def counted(**numbers: int) -> dict[str, int]:
    """The counts of an entry; those that are not given are 0."""
    return {**dict.fromkeys(hours.NAMES[:-1], 0), **numbers}


def without_from(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "from"}


def message(ts: int, sender: str = "human") -> Record:
    return {"from": sender, "messages": [{"item": {"text": f"at {ts}"}, "ts": ts}]}


def test_everything_that_happens_is_counted_once(api: Api, pipeline: Pipeline) -> None:
    load = {"record": "load", "countryCode": "NL", "origin": "web-chat"}
    for _ in range(2):
        assert api.post("/v2/agents/support/analytics/ann", load).status == 200
    assert api.post("/v2/agents/support/analytics/ann", {"record": "convo"}).status == 200
    turns = [message(1_000), message(1_010, "bot")]
    assert api.post(STATE.format("ann"), {"turns": turns}).status == 200
    turns = [*turns, message(1_060)]
    assert api.post(STATE.format("ann"), {"turns": turns, "metadata": {"state": "requested_chat"}}).status == 200
    assert api.post("/v3/leads", {"lead": {"agentId": "support", "name": "Ann"}}).status == 200
    pipeline.run()
    report = api.get(REPORT).data
    expected = counted(
        loads=2, newVisitors=1, conversations=1, messages=3, interactions=2, handoffs=1, leads=1, averageSeconds=60
    )
    assert without_from(report["totals"]) == expected
    assert without_from(report["series"][-1]) == expected
    assert without_from(report["previous"]) == counted()
