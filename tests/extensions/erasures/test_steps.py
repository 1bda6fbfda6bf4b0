"""The steps of the erasure function: progress, crashes, repeated messages, and late writes."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.client import BaseClient

from chalicelib import clock, storage
from chalicelib.conversations import leftovers
from chalicelib.conversations.rows import MessageIndexRow
from chalicelib.extensions.erasures import functions, kinds, search, store
from chalicelib.storage import stored_responses
from chalicelib.webhooks import events, ledger
from chalicelib.workspaces.store import NewWorkspace
from tests import moto_tables
from tests.api import Api
from tests.builders import lead_body, message, state_body
from tests.capacity import metered
from tests.conftest import PassTime
from tests.engine_requests import refuse_operation
from tests.extensions.erasures.person_erasure import (
    COUNTS,
    NOTHING,
    begin,
    delete_entries_of_erasures,
    erase,
    items_containing,
    read,
    work,
)
from tests.person_records import ZARA
from tests.queues.messages import take


def test_the_message_precedes_the_erasure(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    with refuse_operation("TransactWriteItems", "ThrottlingException"):
        assert api.post("/v3/erasures", {"erasure": ZARA}).status == 503
    functions.erase({"Records": take("erasures")}, None)
    assert take("erasures") == []


def test_the_same_key_makes_one_erasure(api: Api, filled: None, pass_time: PassTime) -> None:
    headers = {**api._headers, "Content-Type": "application/json", "Idempotency-Key": "once"}
    first, second = (api.call("POST", "/v3/erasures", {"erasure": ZARA}, headers) for _ in range(2))
    assert first.data == second.data
    work(pass_time)
    assert read(api, first.data["id"])["receipt"]["counts"] == COUNTS
    assert erase(api, pass_time, **ZARA)["receipt"]["counts"] == NOTHING


def test_an_erasure_that_runs_out_of_time_is_continued_by_the_queue(
    api: Api, filled: None, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    erasure_id = begin(api, **ZARA)
    monkeypatch.setattr(search, "_MAX_PAGES", 1)
    rounds, running = 0, []
    while taken := take("erasures"):
        rounds += 1
        functions.erase({"Records": taken}, None)
        running.append(read(api, erasure_id)["counts"])
        pass_time(90)
    assert rounds > 70  # each of the two searches reads one page for each of the 32 event partitions
    assert running == sorted(running, key=lambda counts: sum(counts.values()))
    assert read(api, erasure_id)["receipt"]["counts"] == COUNTS


@pytest.mark.parametrize(
    "progress", [{"found": ["gone", [["a", "b"]]]}, {"kind": "gone", "part": "all", "after": ["a", "b"]}]
)
def test_an_erasure_continues_without_the_kind_of_an_extension_that_is_off(
    api: Api, workspace: NewWorkspace, filled: None, pass_time: PassTime, progress: dict[str, Any]
) -> None:
    erasure_id = begin(api, **ZARA)
    row = store.read(workspace.workspace_id, erasure_id)
    store.save(row, row.open(), {**storage.unseal(row, "search"), "search": 0, "startsAt": 0, "found": [], **progress})
    work(pass_time)
    assert read(api, erasure_id)["receipt"]["counts"] == COUNTS


def test_pages_are_continued_behind_their_last_record(
    api: Api, filled: None, workspace: NewWorkspace, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        assert api.post("/v3/leads", lead_body(email=f"other-{number}@example.com")).status == 200
    assert api.post("/v3/leads", lead_body(email="zara@example.com")).status == 200
    for name in ("_PAGE", "_LARGE_PAGE"):
        monkeypatch.setattr(kinds, name, 1)
    assert erase(api, pass_time, **ZARA)["receipt"]["counts"] == {**COUNTS, "leads": 2}
    assert items_containing("zara") == []
    assert len(items_containing("other-")) == 3


def test_the_second_search_waits_and_finds_what_was_being_written(
    api: Api, filled: None, workspace: NewWorkspace, pass_time: PassTime
) -> None:
    erasure_id = begin(api, **ZARA)
    functions.erase({"Records": take("erasures")}, None)
    assert read(api, erasure_id)["counts"] == {**COUNTS, "answers": 0}
    # An in-flight request saves a lead, and a change that was still in the stream becomes an event.
    assert api.post("/v3/leads", lead_body(email="zara@example.com")).status == 200
    payload = {"agentId": "support", "convoId": "by-mail-of-zara", "messageContent": "Late"}
    ledger.save_events(
        [events.Event("01m7zd9ja0p9000000000late0", workspace.workspace_id, "message_received", payload)]
    )
    pass_time(89)
    functions.erase({"Records": take("erasures")}, None)
    assert read(api, erasure_id)["status"] == "running"
    pass_time(1)
    functions.erase({"Records": take("erasures")}, None)
    assert take("erasures") == []
    assert read(api, erasure_id)["receipt"]["counts"] == {**COUNTS, "leads": 2, "events": 2}
    assert items_containing("zara") == []


def test_a_message_that_was_being_added_leaves_no_index(
    api: Api, filled: None, workspace: NewWorkspace, pass_time: PassTime
) -> None:
    """The index items are written before the commit, which fails because the conversation no longer exists."""
    begin(api, **ZARA)
    functions.erase({"Records": take("erasures")}, None)
    place = MessageIndexRow(
        storage.join_key(workspace.workspace_id, "support", "zara"), "mid#late", start=1, length=2, writing="w"
    )
    storage.save_many([place])
    pass_time(90)
    functions.erase({"Records": take("erasures")}, None)
    work(pass_time)
    assert items_containing("zara") == []


def test_an_answer_that_was_never_committed_is_erased_once_no_request_can_commit_it(
    api: Api, filled: None, pass_time: PassTime
) -> None:
    headers = {**api._headers, "Content-Type": "application/json", "Idempotency-Key": "abandoned"}
    turns = {"turns": [{"from": "human", "messages": [message(hashlib.shake_256(b"1").hexdigest(100_000))]}]}
    with refuse_operation("TransactWriteItems", "ThrottlingException"):
        assert api.call("POST", "/agents/support/interact/zara/state", turns, headers).status == 503
    erasure_id = begin(api, **ZARA)
    functions.erase({"Records": take("erasures")}, None)
    pass_time(90)
    functions.erase({"Records": take("erasures")}, None)
    assert read(api, erasure_id)["receipt"]["counts"] == {**COUNTS, "answers": 2}
    assert items_containing("zara") == []


def test_an_erasure_costs_the_same_whatever_another_workspace_has_stored(
    api: Api, filled: None, workspace: NewWorkspace, other_workspace: NewWorkspace, pass_time: PassTime
) -> None:
    costs = []
    erase(api, pass_time, **ZARA)  # each process reads the keys only once
    for count in (0, 30):
        keyed_requests(other_workspace, count)
        delete_entries_of_erasures(workspace.workspace_id)
        with metered() as meter:
            erase(api, pass_time, userID="nobody")
        costs.append(meter)
    assert costs[0] == costs[1]
    assert "Scan" not in costs[0].requests


def keyed_requests(workspace: NewWorkspace, count: int) -> None:
    """Send requests with fresh idempotency keys."""
    api = Api(workspace.workspace_key)
    for number in range(count):
        headers = {**api._headers, "Content-Type": "application/json", "Idempotency-Key": str(number)}
        assert api.call("POST", "/v2/clients/loud", {"name": str(number)}, headers).status == 200


def test_the_index_of_stored_responses_has_every_item_once_in_16_partitions(
    filled: None, workspace: NewWorkspace, other_workspace: NewWorkspace
) -> None:
    keyed_requests(workspace, 60)
    keyed_requests(other_workspace, 1)
    stored = {row.keys for row in storage.scan(stored_responses.PieceRow, stored_responses.PieceRow.request.exists())}
    own = {keys for keys in stored if keys[0].startswith(f"{workspace.workspace_id}#")}
    listed = [row.keys for row in stored_responses.list_all(workspace.workspace_id)]
    assert len(listed) == len(own) > 60
    assert {*listed} == own < stored
    assert stored_responses.shards("w") == sorted(
        {stored_responses.shard_of(storage.join_key("w", f"{number:x}0")) for number in range(16)}
    )


def test_a_stored_response_is_found_on_any_page_of_the_index(
    api: Api, filled: None, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Items that one request wrote share an index sort key, so a page may end between them."""
    monkeypatch.setattr(kinds, "_PAGE", 1)
    assert erase(api, pass_time, **ZARA)["receipt"]["counts"] == COUNTS
    assert items_containing("zara") == []


def test_two_erasures_of_a_person_at_once_both_complete(api: Api, filled: None, pass_time: PassTime) -> None:
    begun = [begin(api, **ZARA), begin(api, userID="zara", email="ZARA@EXAMPLE.COM")]
    work(pass_time)
    counts = [read(api, one)["receipt"]["counts"] for one in begun]
    assert {name: counts[0][name] + counts[1][name] for name in COUNTS} == COUNTS
    assert items_containing("zara") == []


def test_a_repeated_message_changes_nothing(api: Api, filled: None, pass_time: PassTime) -> None:
    erasure_id = begin(api, **ZARA)
    while taken := take("erasures"):
        functions.erase({"Records": taken * 2}, None)
        pass_time(90)
    before = moto_tables.snapshot()
    assert read(api, erasure_id)["receipt"]["counts"] == COUNTS
    functions.erase({"Records": taken}, None)
    assert moto_tables.snapshot() == before


def test_of_two_invocations_for_one_erasure_the_slower_one_stops(
    api: Api, filled: None, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    erasure_id = begin(api, **ZARA)
    (first,) = take("erasures")
    save = search._RunningErasure._save
    others: list[dict[str, str]] = []

    def overtaken(own: search._RunningErasure) -> None:
        if not others:
            others.append(first)
            functions.erase({"Records": [first]}, None)
        save(own)

    monkeypatch.setattr(search._RunningErasure, "_save", overtaken)
    functions.erase({"Records": [first]}, None)
    pass_time(90)
    followed = take("erasures")
    assert len(followed) == 1
    functions.erase({"Records": followed}, None)
    assert read(api, erasure_id)["receipt"]["counts"] == COUNTS
    assert items_containing("zara") == []


class Died(BaseException):
    """The simulated process crashed."""


@contextmanager
def dies_after(number: int) -> Iterator[list[str]]:
    """Raise `Died` after this many requests to DynamoDB, KMS and SQS; yield the operations sent."""
    sent: list[str] = []
    send = BaseClient._make_api_call

    def count_and_crash(client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        answer = send(client, operation, parameters)
        sent.append(operation)
        if len(sent) == number:
            raise Died
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseClient, "_make_api_call", count_and_crash)
        yield sent


@pytest.mark.parametrize(
    "step", [pytest.param(13, id="every 13th"), pytest.param(1, id="every", marks=pytest.mark.long)]
)
def test_an_erasure_that_dies_after_any_request_is_continued_and_counts_once(
    step: int, api: Api, filled: None, pass_time: PassTime
) -> None:
    erasure_id = begin(api, **ZARA)
    begun, start, number = moto_tables.snapshot(), take("erasures"), 0
    others = items_containing("yvette")
    is_complete = False
    while not is_complete:
        number += step
        moto_tables.restore(begun)
        waiting = start
        is_complete = True
        with dies_after(number):
            while waiting:
                try:
                    functions.erase({"Records": waiting}, None)
                except Died:  # the queue delivers the message again
                    is_complete = False
                    waiting = [*waiting, *take("erasures")]
                else:
                    waiting = take("erasures")
                pass_time(90)
        assert read(api, erasure_id)["receipt"]["counts"] == COUNTS, number
        assert items_containing("zara") == [], number
        assert items_containing("yvette") == others, number
    assert number > 80


def test_a_record_that_cannot_be_decrypted_does_not_stop_an_erasure(
    api: Api, filled: None, workspace: NewWorkspace, pass_time: PassTime
) -> None:
    damaged = storage.table("leads")
    dynamodb = storage.sdk_client("dynamodb")
    item = dynamodb.scan(TableName=damaged)["Items"][0]
    sealed = item["document"]["B"]
    item["document"]["B"] = sealed[:-1] + bytes([sealed[-1] ^ 1])
    dynamodb.put_item(TableName=damaged, Item=item)
    found = erase(api, pass_time, **ZARA)
    assert found["receipt"]["counts"]["conversations"] == 2


@pytest.mark.parametrize("slow", ["delete", "clear"])
def test_many_conversations_of_a_person_are_removed_in_bounded_steps(
    slow: str, api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If an invocation runs out of time within a page or in the final clean-up, the next invocation continues there."""
    for number in range(25):
        body = {**state_body("Hello"), "metadata": {"userEmail": "zara@example.com"}}
        assert api.post(f"/agents/support/interact/{number}/state", body).status == 200
    erasure_id = begin(api, **ZARA)
    real, passed = leftovers.clear, [0]

    def clear(conversation: str) -> None:
        """Advance the clock by eight seconds per call, during or after the deletion."""
        real(conversation)
        is_deletion = passed[0] < 25 if slow == "delete" else passed[0] >= 25
        passed[0] += 1
        times.append(times[-1] + (8 if is_deletion else 0))

    times = [0.0]
    monkeypatch.setattr(leftovers, "clear", clear)
    monkeypatch.setattr(clock, "monotonic", lambda: times[-1])
    longest = 0.0
    while taken := take("erasures"):
        begun = times[-1]
        functions.erase({"Records": taken}, None)
        longest = max(longest, times[-1] - begun)
        pass_time(90)
    assert longest == 8 * 10
    assert read(api, erasure_id)["receipt"]["counts"] == {**NOTHING, "conversations": 25}
    assert items_containing("zara") == []
