"""A stream record's counted change is computed only once per batch, for all followers."""

from copy import deepcopy

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
