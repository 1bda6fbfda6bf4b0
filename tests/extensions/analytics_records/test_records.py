"""An agent's analytics records over HTTP: paged lists, and deletion by the time of the last write."""

from typing import Any

import pytest

from chalicelib.extensions.analytics_records import records
from chalicelib.http import pages
from tests import extensions
from tests.api import Api
from tests.conftest import StopClock

extensions.require("analytics_records")

PATH = "/v2/agents/support/analytics"
LOAD = {"record": "load", "browser": "Firefox", "ts": 5}
CONVO = {"record": "convo", "userID": "someone", "interactionsNum": 3}
START = 1_790_000_000


@pytest.fixture(autouse=True)
def agent(agent_id: str) -> None:
    """Create the agent for every test."""


@pytest.fixture
def written(api: Api, stop_clock: StopClock) -> None:
    """Store page loads for ten conversations, one per second."""
    for number in range(10):
        stop_clock(START + number)
        assert api.post(f"{PATH}/user-{number}", LOAD).status == 200


def read_ids(api: Api, query: str) -> list[str]:
    """Return the ids on all pages of a list."""
    records, cursor = [], ""
    while True:
        answer = api.get(f"{PATH}?{query}&cursor={cursor}")
        records += [one["convoID"] for one in answer.data]
        assert answer.json["hasMore"] is ("nextCursor" in answer.json)
        if not answer.json["hasMore"]:
            return records
        cursor = answer.json["nextCursor"]


def delete_all(api: Api, path: str) -> list[int]:
    """Send requests until nothing is left to delete; return how many records each request deleted."""
    deleted, cursor = [], ""
    while True:
        answer = api.delete(f"{path}&cursor={cursor}")
        deleted.append(answer.data["deleted"])
        if not answer.json["hasMore"]:
            return deleted
        cursor = answer.json["nextCursor"]


def test_an_entry_has_the_records_as_they_were_written(api: Api, stop_clock: StopClock) -> None:
    stop_clock(START)
    api.post(f"{PATH}/ann", LOAD)
    api.post(f"{PATH}/ann", CONVO)
    api.post(f"{PATH}/bo", CONVO)
    assert api.get(PATH).json == {
        "success": True,
        "message": "Analytics retrieved successfully",
        "hasMore": False,
        "data": [
            {"convoID": "ann", "lastModified": START, "load": LOAD, "convo": CONVO},
            {"convoID": "bo", "lastModified": START, "convo": CONVO},
        ],
    }


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("limit", [1, 3, 10, 100])
def test_pages_have_what_was_last_written_in_the_period_once(api: Api, limit: int) -> None:
    assert read_ids(api, f"limit={limit}") == [f"user-{number}" for number in range(10)]
    period = f"start_ts={START + 2}&stop_ts={START + 5}"
    assert read_ids(api, f"{period}&limit={limit}") == ["user-2", "user-3", "user-4"]


@pytest.mark.usefixtures("written")
def test_a_request_examines_a_bounded_number_of_records(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAX_EXAMINED", 4)
    answer = api.get(f"{PATH}?start_ts={START + 9}")
    assert (answer.data, answer.json["nextCursor"]) == ([], "user-3")
    assert read_ids(api, f"start_ts={START + 9}") == ["user-9"]
    assert delete_all(api, f"{PATH}?start_ts={START + 9}&stop_ts={START + 10}") == [0, 0, 1]


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize(
    "path",
    [
        f"{PATH}?start_ts={START + 1}&stop_ts={START + 8}",
        f"/v3/agents/support/analytics?from={START + 1}&to={START + 8}",
    ],
    ids=["v2", "v3"],
)
def test_a_deletion_removes_the_period_in_parts(api: Api, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_MAX_DELETED", 3)
    assert delete_all(api, path) == [3, 3, 1]
    assert read_ids(api, "") == ["user-0", "user-8", "user-9"]
    assert delete_all(api, path) == [0]
    assert api.get(f"{PATH}/user-1").status == 404


@pytest.mark.usefixtures("written")
def test_a_deletion_of_large_records_takes_more_requests(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_MAX_BYTES", 1)
    assert delete_all(api, f"{PATH}?start_ts=0&stop_ts={START + 3}") == [1, 1, 1, *[0] * 8]


@pytest.mark.usefixtures("written")
def test_a_record_that_is_written_during_its_deletion_stays(
    api: Api, monkeypatch: pytest.MonkeyPatch, stop_clock: StopClock
) -> None:
    delete = records.store.delete

    def overtaken(row: Any) -> None:
        monkeypatch.setattr(records.store, "delete", delete)
        stop_clock(START + 99)
        assert Api(api._headers["Authorization"].split()[1]).post(f"{PATH}/{row.item}", CONVO).status == 200
        delete(row)

    monkeypatch.setattr(records.store, "delete", overtaken)
    assert delete_all(api, f"{PATH}?start_ts={START}&stop_ts={START + 10}") == [9]
    assert [(one["convoID"], "load" in one) for one in api.get(PATH).data] == [("user-0", True)]


@pytest.mark.parametrize(("query", "path"), [("", "start_ts"), ("?start_ts=1", "stop_ts"), ("?stop_ts=1", "start_ts")])
def test_a_deletion_names_its_period(api: Api, query: str, path: str) -> None:
    answer = api.delete(f"{PATH}{query}")
    assert (answer.status, answer.json["issues"]) == (400, [{"path": path, "message": "is required"}])


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_an_unknown_agent_is_not_found(api: Api, method: str) -> None:
    assert api.call(method, "/v2/agents/unknown/analytics?start_ts=0&stop_ts=1").status == 404
