"""Changes read from stream records: reading a record again returns the same events, and each write causes distinct
events."""

import base64
import json
from typing import Any

import pytest

from chalicelib import clock, ids
from chalicelib.webhooks import change, events
from tests.api import Api
from tests.builders import lead_body
from tests.webhooks.pipeline import Record, Stream, events_of

SECOND = 1_800_000_000


def history(stream: Stream, api: Api) -> list[Record]:
    """Return one stream record of each kind of change."""
    for path, document in (
        ("/v2/agents/support", {"title": "Support"}),
        ("/v2/orgs/acme", {"name": "Acme"}),
        ("/v2/orgs/acme", {"name": "Acme Ltd"}),
        ("/v2/clients/ann", {"email": "ann@x.test"}),
        ("/v3/leads", lead_body()),
        ("/agents/support/interact/ann/state", {"turns": [{"from": "human", "messages": [{}, {}]}]}),
    ):
        assert api.post(path, document).status == 200
    assert api.delete("/v3/orgs/acme").status == 200
    return stream.read()


def test_a_record_has_the_shape_of_a_lambda_event(stream: Stream, api: Api) -> None:
    (record,) = [one for one in history(stream, api) if one["eventName"] == "INSERT" and "agents" in str(one)][:1]
    assert json.loads(json.dumps(record)) == record
    assert isinstance(record["dynamodb"]["ApproximateCreationDateTime"], float)

    read = change.from_record(record)
    assert read.table == "agents"
    assert read.keys["item"] == "agent#support"
    assert read.old is None
    assert read.new is not None
    assert read.new["document"] == {"B": base64.b64decode(record["dynamodb"]["NewImage"]["document"]["B"])}
    assert abs(read.milliseconds - clock.milliseconds()) < 60_000
    assert not read.is_expired


def test_a_replayed_record_gives_the_same_events_at_any_time(
    stream: Stream, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = history(stream, api)
    first = events_of(records)
    assert len({event.type for event in first}) == 7
    later = clock.milliseconds() + 86_400_000
    monkeypatch.setattr(clock, "milliseconds", lambda: later)
    assert events_of(json.loads(json.dumps(records))) == first
    assert events_of(records[::-1]) != first
    assert sorted(events_of(records[::-1])) == sorted(first)


def test_the_time_of_a_write_does_not_depend_on_the_time_in_the_stream(stream: Stream, api: Api) -> None:
    records = history(stream, api)
    saved = [record for record in records if "NewImage" in record["dynamodb"]]
    moved = [{**one, "dynamodb": {**one["dynamodb"], "ApproximateCreationDateTime": SECOND}} for one in saved]
    assert events_of(moved) == events_of(saved)


@pytest.mark.parametrize("seconds", [SECOND, SECOND + 0.25])
def test_the_time_of_a_deletion_is_the_time_in_the_stream(stream: Stream, api: Api, seconds: float) -> None:
    deletion = history(stream, api)[-2:]
    for record in deletion:
        record["dynamodb"]["ApproximateCreationDateTime"] = seconds
    times = [event.payload["createdAt"] for event in events_of(deletion) if event.type == "organisation_deleted"]
    assert times == [seconds * 1000]


def test_repeated_creations_and_deletions_within_one_second_are_different_events(
    stream: Stream, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "milliseconds", lambda: SECOND * 1000)
    for _ in range(3):
        for name in ("Acme", "Acme Ltd", "Acme"):
            assert api.post("/v2/orgs/acme", {"name": name}).status == 200
        assert api.delete("/v3/orgs/acme").status == 200
    records = stream.read()
    for record in records:
        record["dynamodb"]["ApproximateCreationDateTime"] = float(SECOND)
    events = events_of(records)
    assert len(events) == 12
    assert len({event.id for event in events}) == 12
    # Receivers sort by time, so each change to a record has a later timestamp than the previous change.
    assert [event.payload["createdAt"] - SECOND * 1000 for event in events] == [0, 1, 2, 3] * 3


def test_equal_changes_of_two_workspaces_are_two_events(
    stream: Stream, api: Api, other_workspace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "milliseconds", lambda: SECOND * 1000)
    monkeypatch.setattr(ids, "new_id", lambda: "0" * 26)
    api.post("/v2/orgs/acme", {"name": "Acme"})
    Api(other_workspace.workspace_key).post("/v2/orgs/acme", {"name": "Acme"})
    one, other = events_of(stream.read())
    assert one.id != other.id
    assert one.workspace_id != other.workspace_id


def test_ids_sort_by_time(stream: Stream, api: Api) -> None:
    happened = [event for event in events_of(history(stream, api)) if event.type != "organisation_deleted"]
    by_id = sorted(happened, key=lambda event: event.id)
    assert [event.payload["createdAt"] for event in by_id] == sorted(event.payload["createdAt"] for event in happened)


def test_a_table_that_is_not_watched_has_no_events(stream: Stream, api: Api) -> None:
    for record in history(stream, api):
        elsewhere = {**record, "eventSourceARN": record["eventSourceARN"].replace("table/cams-", "table/cams-other-")}
        assert events.from_change(change.from_record(elsewhere)) == []
