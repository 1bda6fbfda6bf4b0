"""Erasures over HTTP: which records belong to the person, and how many erasures may run at the same time.

`test_erased_person` proves that none of the person's data remains.
"""

from typing import Any

import pytest

from chalicelib.extensions.erasures import store
from chalicelib.extensions.erasures.identity import Identity
from chalicelib.webhooks import events, ledger
from chalicelib.workspaces.store import NewWorkspace
from tests import decrypted_items, moto_tables
from tests.api import Api
from tests.builders import lead_body, state_body
from tests.conftest import PassTime
from tests.extensions.erasures.person_erasure import COUNTS, NOTHING, begin, erase, items_containing, read, work
from tests.person_records import ZARA
from tests.queues.messages import take


def test_a_person_is_erased_and_another_stays(api: Api, filled: None, pass_time: PassTime) -> None:
    others = items_containing("yvette")
    found = erase(api, pass_time, email="ZARA@example.com", userID="zara")
    assert found["counts"] == found["receipt"]["counts"] == COUNTS
    assert items_containing("zara") == []
    assert items_containing("yvette") == others


@pytest.mark.parametrize(
    ("metadata", "is_theirs"),
    [
        ({"userID": "zara"}, True), ({"userEmail": "Zara@Example.com"}, True), ({"userPhone": "+1 5"}, True),
        ({"ID": "zara"}, True), ({"userID": "Zara"}, False), ({"userPhone": "+15"}, False), ({}, False),
        ({"userEmail": None}, False), ({"userName": "zara"}, False),
    ],
)  # fmt: skip
def test_ids_and_phone_numbers_are_compared_exactly_and_emails_without_case(
    metadata: dict[str, Any], is_theirs: bool
) -> None:
    assert Identity("zara", "zara@example.com", "+1 5").matches(metadata) is is_theirs


def test_what_was_left_out_matches_nothing() -> None:
    nobody = Identity(None, None, None)
    assert not nobody.matches({"userID": None, "userEmail": None, "userPhone": None})
    assert not nobody.is_in([None, "", {"a": None}])
    assert Identity(None, None, "5").is_in({"a": [{"b": "5"}]})
    assert not Identity(None, None, "5").is_in({"5": "55"})


def test_a_person_may_be_the_name_of_a_member() -> None:
    zara = Identity("visitors", "zara@example.com", "+31612345678")
    assert zara.is_in({"visitors": [{"Zara@Example.com": {}}]})
    assert zara.is_in({"visitors": {"+31612345678": 1}})
    assert not zara.is_in({"visitors": {"support": 1}})
    for path in ("Zara@example.com", "visitors.zara@example.com.since", "nodes.2.+31612345678"):
        assert zara.is_in_paths(["title", path])
    assert not zara.is_in_paths(["title", "visitors.azara@example.com", "visitors.zara@example.community", "visitors"])
    assert not Identity(None, None, "2").is_in_paths(["nodes.2.text"])
    assert not Identity("title", None, None).is_in_paths(["title"])


def test_a_reference_stays_with_the_erasure_and_does_not_contain_the_person(
    api: Api, filled: None, pass_time: PassTime
) -> None:
    complete = erase(api, pass_time, email="ZARA@example.com", reference="Request 12")
    assert (complete["reference"], complete["counts"]["leads"]) == ("Request 12", 1)
    assert [one.get("reference") for one in api.get("/v3/erasures").data] == ["Request 12"]
    assert items_containing("zara@example.com") == []
    for reference in ("for ZARA@Example.com", "zara@example.com"):
        answer = api.post("/v3/erasures", {"erasure": {"email": "zara@example.com", "reference": reference}})
        assert (answer.status, "zara" in answer.text.casefold()) == (400, False)
    assert api.post("/v3/erasures", {"erasure": {"reference": "Request 12"}}).status == 400


@pytest.mark.parametrize("user", ["support", "web-chat", "human", "anna"])
def test_an_id_that_is_also_another_text_erases_nobody_else(
    api: Api, agent_id: str, workspace: NewWorkspace, pass_time: PassTime, user: str
) -> None:
    """A visitor may choose an id that equals an agent id, a channel, a sender or another person's name."""
    assert api.post("/v3/leads", lead_body(name="anna", email="anna@example.com")).status == 200
    payload = {"agentId": "support", "convoId": "other", "messageContent": "anna", "from": "human"}
    ledger.save_events(
        [events.Event("01m7zd9ja0p900000000000000", workspace.workspace_id, "message_received", payload)]
    )
    assert api.post(f"/agents/support/interact/{user}/state", state_body("Hello")).status == 200
    assert erase(api, pass_time, userID=user)["counts"] == {**NOTHING, "conversations": 1}


def test_a_kept_answer_that_does_not_name_its_conversation_is_erased(
    api: Api, agent_id: str, pass_time: PassTime
) -> None:
    """Stored responses from the message routes contain only the messages, and do not name the conversation."""
    headers = {**api._headers, "Content-Type": "application/json"}
    for user in ("zara", "yvette"):
        body = {**state_body("Hello"), "metadata": {"userEmail": f"{user}@example.com"}}
        assert api.post(f"/agents/support/interact/of-{user}/state", body).status == 200
        for method in ("POST", "PATCH"):
            key = {"Idempotency-Key": f"{method}-{user}"}
            messages = {"messages": [{"from": "human", "mid": user, "item": {"text": f"Words of {user}"}}]}
            body = {"turns": [messages]} if method == "PATCH" else messages
            path = f"/v3/agents/support/convos/of-{user}/messages"
            assert api.call(method, path, body, {**headers, **key}).status == 200
    others = items_containing("yvette")
    counts = erase(api, pass_time, email=ZARA["email"])["counts"]
    assert counts == {**NOTHING, "conversations": 1, "answers": 2}
    assert items_containing("zara") == []
    assert items_containing("yvette") == others


@pytest.mark.parametrize("body", [{}, {"erasure": {}}, {"erasure": {"email": None}}, {"erasure": {"userID": ""}}])
def test_an_erasure_names_a_person(api: Api, body: dict[str, Any]) -> None:
    assert api.post("/v3/erasures", body).status == 400
    assert take("erasures") == []


def test_an_unknown_erasure_is_404_and_so_is_one_of_another_workspace(api: Api, other_workspace: NewWorkspace) -> None:
    erasure_id = begin(api, **ZARA)
    assert Api(other_workspace.workspace_key).get(f"/v3/erasures/{erasure_id}").status == 404
    assert api.get("/v3/erasures/unknown").status == 404


def test_erasures_are_listed_newest_first_without_their_persons(
    api: Api, other_workspace: NewWorkspace, pass_time: PassTime
) -> None:
    begun = []
    for number in range(3):
        begun.append(begin(api, userID=f"user-{number}"))
        pass_time(1)
    first = api.get("/v3/erasures?limit=2")
    assert [one["id"] for one in first.data] == begun[:0:-1]
    second = api.get(f"/v3/erasures?limit=2&cursor={first.json['nextCursor']}")
    assert ([one["id"] for one in second.data], "nextCursor" in second.json) == ([begun[0]], False)
    assert second.data == [api.get(f"/v3/erasures/{begun[0]}").data]
    assert "user-" not in first.text + second.text
    assert Api(other_workspace.workspace_key).get("/v3/erasures").data == []


def test_an_access_token_does_not_open_erasures(workspace: NewWorkspace) -> None:
    token = Api(workspace.access_token)
    assert token.post("/v3/erasures", {"erasure": ZARA}).status == 403
    assert token.get("/v3/erasures/any").status == 403
    assert token.get("/v3/erasures").status == 403


def test_what_is_searched_for_is_sealed_and_then_removed(api: Api, filled: None, pass_time: PassTime) -> None:
    erasure_id = begin(api, **ZARA)
    (row,) = [one for one in moto_tables.items()["cams-workspaces"] if erasure_id in repr(one)]
    assert "zara" not in repr(row)
    assert "zara@example.com" in decrypted_items.text_of("cams-workspaces", row)
    work(pass_time)
    (row,) = [one for one in moto_tables.items()["cams-workspaces"] if erasure_id in repr(one)]
    assert row.keys() == {"workspace", "item", "document", "version_tag"}


def test_a_workspace_has_five_running_erasures(
    api: Api, filled: None, other_workspace: NewWorkspace, pass_time: PassTime
) -> None:
    begun = [begin(api, userID=f"user-{number}") for number in range(store.MAX_RUNNING)]
    refused = api.post("/v3/erasures", {"erasure": ZARA})
    assert (refused.status, refused.json["limit"]) == (429, {"name": "erasures", "max": 5, "used": 5, "left": 0})
    assert Api(other_workspace.workspace_key).post("/v3/erasures", {"erasure": ZARA}).status == 200
    work(pass_time)
    assert {read(api, one)["status"] for one in begun} == {"complete"}
    assert erase(api, pass_time, **ZARA)["counts"] == COUNTS


def test_two_requests_at_once_do_not_take_one_place(
    api: Api, filled: None, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = store.new
    seen: list[bool] = []

    def overtaken(*arguments: Any) -> Any:
        row = real(*arguments)
        if not seen:
            seen.append(True)
            begin(api, userID="another")
        return row

    monkeypatch.setattr("chalicelib.extensions.erasures.routes.store.new", overtaken)
    for number in range(store.MAX_RUNNING - 1):
        begin(api, userID=f"user-{number}")
    assert api.post("/v3/erasures", {"erasure": ZARA}).status == 429
