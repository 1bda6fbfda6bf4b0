"""The write limit per agent in docs/operate.md: the index units per write, and the response to throttled writes."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests import capacity
from tests.api import Api
from tests.engine_requests import refuse_operation

PATH = "/agents/support/interact/ann/state"
# A value that cannot be compressed to less than 1 KB.
LONG = Random(1).randbytes(1_500).hex()
_TURN = {"from": "human", "messages": [{"from": "human", "type": "text", "item": {"text": "Hello"}, "ts": 1}]}


@pytest.fixture
def index_units(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Return the write units for the conversations table's indexes, by index name and partition key."""
    taken: dict[str, int] = {}
    entry = capacity._Recorder._index_units

    def recorded(self: Any, table: str, old: capacity.Item, new: capacity.Item) -> Iterator[int]:
        described = self._described(table)
        for index in described.get("GlobalSecondaryIndexes", []):
            described_index = {**described, "GlobalSecondaryIndexes": [index]}
            with monkeypatch.context() as patch:
                patch.setattr(self, "_described", lambda _, described=described_index: described)
                units = [*entry(self, table, old, new)]
            key = f"{index['IndexName']} of {index['KeySchema'][0]['AttributeName']}"
            if units and table.endswith("-conversations"):
                taken[key] = taken.get(key, 0) + sum(units)
            yield from units

    monkeypatch.setattr(capacity._Recorder, "_index_units", recorded)
    return taken


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        pytest.param({}, {"userName": "Ann"}, {"by_creation of agent": 1}, id="short metadata"),
        pytest.param({"userName": LONG}, {"userName": LONG[1:]}, {}, id="metadata above 1 KB"),
        pytest.param(
            {},
            {"state": "requested_chat"},
            {"by_creation of agent": 1, "by_activity of waiting": 1},
            id="begins to wait for a person",
        ),
    ],
)
def test_a_save_writes_to_the_index_partition_of_its_agent(
    api: Api,
    agent_id: str,
    index_units: dict[str, int],
    before: dict[str, Any],
    after: dict[str, Any],
    units: dict[str, int],
) -> None:
    assert api.post(PATH, {"turns": [_TURN], "metadata": before}).status == 200
    with capacity.metered():
        assert api.post(PATH, {"turns": [_TURN, _TURN], "metadata": after}).status == 200
    assert index_units == units


@pytest.mark.parametrize("code", ["ProvisionedThroughputExceededException", "ThrottlingException"])
def test_a_throttled_write_is_503_and_changes_nothing(api: Api, agent_id: str, code: str) -> None:
    assert api.post(PATH, {"turns": [_TURN]}).status == 200
    with (
        refuse_operation("PutItem", code),
        refuse_operation("UpdateItem", code),
        refuse_operation("TransactWriteItems", code),
    ):
        answer = api.post(PATH, {"turns": [_TURN, _TURN]})
    assert (answer.status, answer.json["code"], answer.headers["retry-after"]) == (503, "UNAVAILABLE", "1")
    assert api.post(PATH, {}).json["chatState"]["messagesNum"] == 1
