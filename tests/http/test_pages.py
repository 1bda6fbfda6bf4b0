"""Lists of clients, organisations and tools are complete by default, and paged with `limit` or `cursor`.

`tests/bad_input/test_query_values.py` tests invalid values of `limit` and `cursor` for every list.
"""

import random
from base64 import b64encode
from itertools import count
from typing import Any, NamedTuple

import pytest

from chalicelib import clock
from tests.api import Answer, Api
from tests.assertions import refused
from tests.engine_requests import counted
from tests.selection import each_value_once, first_case

CLIENTS, ORGS, TOOLS = "/v2/clients", "/v2/orgs", "/v3/agents/support/tools"


class PagedList(NamedTuple):
    """A list, and methods that create and delete its records."""

    api: Api
    path: str

    def create(self, number: int, text: str = "") -> None:
        """Create a record. Records that are created in the same order as their numbers are listed in that order."""
        if self.path == CLIENTS:
            answer = self.api.post(f"{CLIENTS}/c{number:03}", {"name": text})
        elif self.path == ORGS:
            answer = self.api.post(f"{ORGS}/o{number:03}", {"name": text})
        else:
            answer = self.api.post(TOOLS, {"tool": {"name": str(number), "description": text}})
        assert answer.status == 200

    def delete(self, record: Any) -> None:
        path = f"/v3/tools/{record['id']}" if self.path == TOOLS else f"{self.path}/{record['ID']}"
        assert self.api.delete(path.replace("/v2/", "/v3/")).status == 200

    def get(self, query: str = "") -> Answer:
        return self.api.get(f"{self.path}{query}")

    def pages(self, limit: int) -> list[list[Any]]:
        """Return all pages; each page starts at the cursor of the previous page."""
        items, cursor = [], ""
        for _ in range(20):
            answer = self.get(f"?limit={limit}&cursor={cursor}")
            items.append(answer.data)
            if "nextCursor" not in answer.json:
                return items
            cursor = answer.json["nextCursor"]
        raise AssertionError("the list does not end")


@pytest.fixture(params=[CLIENTS, ORGS, TOOLS], ids=["clients", "organisations", "tools"])
def listed(request: pytest.FixtureRequest, api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch) -> PagedList:
    ticks = count(1_790_000_000_000)
    monkeypatch.setattr(clock, "milliseconds", lambda: next(ticks))
    return PagedList(api, request.param)


@each_value_once
@pytest.mark.parametrize("limit", [1, 2, 6, 7, 8, 100])
def test_the_pages_together_equal_the_complete_list(limit: int, listed: PagedList) -> None:
    for number in range(7):
        listed.create(number)
    whole = listed.get().data
    assert len(whole) == 7
    assert listed.pages(limit) == [whole[start : start + limit] for start in range(0, 7, limit)]


def test_a_list_is_complete_by_default_and_a_cursor_returns_pages_of_twenty(listed: PagedList) -> None:
    for number in range(24):
        listed.create(number)
    whole = listed.get()
    assert (len(whole.data), "nextCursor" in whole.json) == (24, False)
    first = listed.get("?cursor=")
    second = listed.get(f"?cursor={listed.get('?limit=1').json['nextCursor']}")
    assert (first.data, second.data) == (whole.data[:20], whole.data[1:21])
    assert {"nextCursor"} <= first.json.keys() & second.json.keys()
    assert first.json["message"] == whole.json["message"]


def test_a_cursor_stays_valid_during_creations_and_deletions(listed: PagedList) -> None:
    for number in (1, 2, 3, 4, 5):
        listed.create(number)
    whole = listed.get().data
    page = listed.get("?limit=2")
    assert page.data == whole[:2]
    listed.create(0)  # a client's or organisation's id sorts before the cursor
    listed.create(6)
    for gone in (whole[1], whole[2]):  # the request reads the record that the cursor names, and the next record
        listed.delete(gone)
    rest = listed.get(f"?limit=100&cursor={page.json['nextCursor']}").data
    assert rest[:2] == whole[3:]
    assert rest == [one for one in listed.get().data if one in rest]
    assert len(rest) == (4 if listed.path == TOOLS else 3)  # tools are ordered by creation, not by name


def test_a_list_that_exceeds_an_answer_is_refused_unless_paged(listed: PagedList) -> None:
    for number in range(6):
        listed.create(number, '"' * 300_000)  # each takes up four bytes in the response
    assert refused(listed.get(), 413) == "The response is too large; request it in pages with limit."
    pages = listed.pages(100)
    assert [len(page) for page in pages] == [4, 2]
    records = [record for page in pages for record in page]
    assert records == [record for page in listed.pages(1) for record in page]
    assert len(records) == 6


def test_a_page_reads_only_the_records_it_returns(listed: PagedList) -> None:
    """One request reads 1 MB, which contains four records but not seven."""
    for number in range(8):
        listed.create(number, b64encode(random.Random(number).randbytes(150_000)).decode())
    cursor = listed.get("?limit=1").json["nextCursor"]
    with counted() as requests:
        assert len(listed.get(f"?limit=3&cursor={cursor}").data) == 3
    assert requests == {"Query": 1}


def test_a_page_of_an_empty_list_is_empty(listed: PagedList) -> None:
    assert listed.pages(5) == [[]]


def test_a_cursor_after_the_last_record_returns_an_empty_page(listed: PagedList) -> None:
    for number in (1, 2):
        listed.create(number)
    cursor = listed.get("?limit=1").json["nextCursor"]
    listed.delete(listed.get().data[1])
    answer = listed.get(f"?cursor={cursor}")
    assert (answer.data, "nextCursor" in answer.json) == ([], False)


def test_a_page_of_an_unknown_agent_s_tools_is_a_404(api: Api) -> None:
    assert refused(api.get("/v3/agents/unknown/tools?limit=1"), 404) == "There is no such agent."


@first_case
def test_a_list_too_large_for_an_answer_is_not_read_to_its_end(listed: PagedList) -> None:
    """11 MB are stored, but a response contains at most 6 MB, and each request reads 1 MB."""
    for number in range(30):
        listed.create(number, b64encode(random.Random(number).randbytes(280_000)).decode())
    with counted() as requests:
        assert listed.get().status == 413
    assert requests["Query"] <= 8
    with counted() as requests:
        assert 10 < len(listed.get("?limit=50").data) < 20
    assert requests["Query"] <= 8
