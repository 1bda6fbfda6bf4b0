"""A stream record's counted change is computed only once per batch, for all followers."""

from copy import deepcopy
from typing import Any

import pytest

from chalicelib.conversations import counted_changes
from tests.api import Api
from tests.webhooks import pipeline
from tests.webhooks.conftest import stream as stream


def test_a_record_is_decrypted_once_for_all_followers(
    stream: pipeline.Stream,
    api: Api,
    agent_id: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert api.post("/v3/agents/support/convos", {"conversation": {}}).status == 200
    records = [one for one in stream.read("conversations") if one["dynamodb"]["Keys"]["item"]["S"] == "conversation"]
    computed, read = [], counted_changes._read
    monkeypatch.setattr(counted_changes, "_read", lambda record: computed.append(record) or read(record))
    again = deepcopy(records)
    results = [counted_changes.from_record(record) for _ in range(3) for record in (*records, *again)]
    assert results == results[:1] * 6
    assert results[0] is not None
    assert results[0].counts["conversations"] == 1
    assert len(computed) == 2
    monkeypatch.setattr(counted_changes, "_MAX_CACHED", len(counted_changes._cache))
    counted_changes.from_record(deepcopy(records[0]))
    assert len(counted_changes._cache) == 1


NOW = 1_795_435_200


@pytest.mark.parametrize(
    ("first", "last", "seconds"),
    [
        (NOW, NOW + 60, 60),
        (NOW, (NOW + 60) * 1_000, 60),
        (NOW * 1_000, NOW + 60, 60),
        (NOW * 1_000, (NOW + 60) * 1_000, 60),
        (NOW, None, 0),
        (-(10**400), 10**400, 30 * 24 * 60 * 60),
    ],
)
def test_times_in_milliseconds_count_as_seconds(first: Any, last: Any, seconds: int) -> None:
    assert counted_changes._seconds({"firstMessageTS": first, "lastMessageTS": last}) == seconds
