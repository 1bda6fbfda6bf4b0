"""Lists of the specification that are whole, and come in pages where `limit` or `cursor` asks for it: clients, tools.

What a wrong `limit` or `cursor` is answered is in `tests/test_bad_input.py`, for every list.
"""

import random
from base64 import b64encode
from itertools import count
from typing import Any, NamedTuple

import pytest

from chalicelib import clock
from tests.api import Answer, Api
from tests.evidence import refused
from tests.requests import counted
from tests.selection import each_value_once

CLIENTS, TOOLS = "/v2/clients", "/v3/agents/support/tools"


class Listed(NamedTuple):
    """A list, and how something of it comes and goes."""

    api: Api
    path: str

    def make(self, number: int, text: str = "") -> None:
        """Make the one of this number; they are listed in the order of their numbers, if they are made in it."""
        if self.path == CLIENTS:
            answer = self.api.post(f"{CLIENTS}/c{number:03}", {"name": text})
        else:
            answer = self.api.post(TOOLS, {"tool": {"name": str(number), "description": text}})
        assert answer.status == 200

    def drop(self, record: Any) -> None:
        path = f"/v3/clients/{record['ID']}" if self.path == CLIENTS else f"/v3/tools/{record['id']}"
        assert self.api.delete(path).status == 200

    def get(self, query: str = "") -> Answer:
        return self.api.get(f"{self.path}{query}")

    def pages(self, limit: int) -> list[list[Any]]:
        """All pages, each behind the cursor of the one before."""
        found, cursor = [], ""
        for _ in range(20):
            answer = self.get(f"?limit={limit}&cursor={cursor}")
            found.append(answer.data)
            if "nextCursor" not in answer.json:
                return found
            cursor = answer.json["nextCursor"]
        raise AssertionError("the list does not end")


@pytest.fixture(params=[CLIENTS, TOOLS], ids=["clients", "tools"])
def listed(request: pytest.FixtureRequest, api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch) -> Listed:
    ticks = count(1_790_000_000_000)
    monkeypatch.setattr(clock, "milliseconds", lambda: next(ticks))
    return Listed(api, request.param)


@each_value_once
@pytest.mark.parametrize("limit", [1, 2, 6, 7, 8, 100])
def test_all_pages_together_are_the_whole_list(limit: int, listed: Listed) -> None:
    for number in range(7):
        listed.make(number)
    whole = listed.get().data
    assert len(whole) == 7
    assert listed.pages(limit) == [whole[start : start + limit] for start in range(0, 7, limit)]


def test_without_limit_and_cursor_the_list_is_whole_and_with_a_cursor_alone_a_page_has_twenty(listed: Listed) -> None:
    for number in range(24):
        listed.make(number)
    whole = listed.get()
    assert (len(whole.data), "nextCursor" in whole.json) == (24, False)
    first = listed.get("?cursor=")
    second = listed.get(f"?cursor={listed.get('?limit=1').json['nextCursor']}")
    assert (first.data, second.data) == (whole.data[:20], whole.data[1:21])
    assert {"nextCursor"} <= first.json.keys() & second.json.keys()
    assert first.json["message"] == whole.json["message"]


def test_a_cursor_goes_on_whatever_is_made_and_dropped_meanwhile(listed: Listed) -> None:
    for number in (1, 2, 3, 4, 5):
        listed.make(number)
    whole = listed.get().data
    page = listed.get("?limit=2")
    assert page.data == whole[:2]
    listed.make(0)  # for clients in front of the cursor
    listed.make(6)
    for gone in (whole[1], whole[2]):  # the one that the cursor names, and the one behind it
        listed.drop(gone)
    rest = listed.get(f"?limit=100&cursor={page.json['nextCursor']}").data
    assert rest[:2] == whole[3:]
    assert rest == [one for one in listed.get().data if one in rest]
    assert len(rest) == (3 if listed.path == CLIENTS else 4)  # the newest tool is the last one, whatever its name


def test_a_list_too_large_for_an_answer_says_so_and_comes_in_pages(listed: Listed) -> None:
    for number in range(6):
        listed.make(number, '"' * 300_000)  # four bytes each on the way
    assert refused(listed.get(), 413) == "The response is too large; request it in pages with limit."
    pages = listed.pages(100)
    assert [len(page) for page in pages] == [4, 2]
    records = [record for page in pages for record in page]
    assert records == [record for page in listed.pages(1) for record in page]
    assert len(records) == 6


def test_a_page_reads_no_more_than_it_shows(listed: Listed) -> None:
    """One request reads 1 MB: four records, but not seven."""
    for number in range(8):
        listed.make(number, b64encode(random.Random(number).randbytes(150_000)).decode())
    cursor = listed.get("?limit=1").json["nextCursor"]
    with counted() as requests:
        assert len(listed.get(f"?limit=3&cursor={cursor}").data) == 3
    assert requests == {"Query": 1}


def test_an_empty_list_has_an_empty_page(listed: Listed) -> None:
    assert listed.pages(5) == [[]]


def test_a_cursor_behind_the_last_one_has_an_empty_page(listed: Listed) -> None:
    for number in (1, 2):
        listed.make(number)
    cursor = listed.get("?limit=1").json["nextCursor"]
    listed.drop(listed.get().data[1])
    answer = listed.get(f"?cursor={cursor}")
    assert (answer.data, "nextCursor" in answer.json) == ([], False)


def test_the_tools_of_an_unknown_agent_have_no_page(api: Api) -> None:
    assert refused(api.get("/v3/agents/nobody/tools?limit=1"), 404) == "There is no such agent."
