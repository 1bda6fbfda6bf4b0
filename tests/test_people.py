"""Lists and creation of organisations, clients and leads with generated ids, and what their records name."""

from typing import Any

import pytest

from chalicelib.http import pages
from chalicelib.ids import ULID
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api


def walk(api: Api, path: str, limit: int) -> list[list[Any]]:
    """The pages of a bounded list, as `hasMore` and `nextCursor` lead."""
    found, cursor = [], ""
    while True:
        answer = api.get(f"{path}{'&' if '?' in path else '?'}limit={limit}{cursor}")
        found.append(answer.data)
        assert answer.json["hasMore"] is ("nextCursor" in answer.json)
        if not answer.json["hasMore"]:
            return found
        cursor = f"&cursor={answer.json['nextCursor']}"


def flat(found: list[list[Any]]) -> list[Any]:
    return [record for page in found for record in page]


# ---- organisations --------------------------------------------------------------------------------


def test_a_new_organisation_gets_an_id_and_is_listed(workspace: NewWorkspace, api: Api) -> None:
    answer = api.post("/v3/orgs", {"organisation": {"name": "Acme", "preferredLanguage": "de"}})
    assert answer.json["message"] == "Organization created successfully"
    made = answer.data
    assert ULID.fullmatch(made["ID"])
    assert (made["userId"], made["name"], made["preferredLanguage"]) == (workspace.workspace_id, "Acme", "de")
    read = api.get(f"/v2/orgs/{made['ID']}")
    assert (read.data, read.headers["etag"]) == (made, answer.headers["etag"])
    assert api.get("/v3/orgs").json == {
        "success": True,
        "message": "Organizations retrieved successfully",
        "hasMore": False,
        "data": [made],
    }


@pytest.mark.parametrize(("limit", "sizes"), [(2, [2, 2, 1]), (5, [5]), (101, [5])])
def test_organisations_are_listed_in_pages_ordered_by_id(limit: int, sizes: list[int], api: Api) -> None:
    for name in "dbeca":
        api.post(f"/v2/orgs/{name}", {"name": name})
    found = walk(api, "/v3/orgs", limit)
    assert [len(page) for page in found] == sizes
    assert [one["ID"] for one in flat(found)] == [*"abcde"]


def test_a_list_opens_a_bounded_number_of_records(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        api.post(f"/v2/orgs/o{number}", {"name": "x" * 1_000})
    monkeypatch.setattr(pages, "MAX_EXAMINED", 4)
    assert [len(page) for page in walk(api, "/v3/orgs", 20)] == [4, 2]
    monkeypatch.setattr(pages, "MAX_OPENED", 2_500)
    assert [len(page) for page in walk(api, "/v3/orgs", 20)] == [3, 3]
