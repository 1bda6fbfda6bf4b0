"""Erasures over HTTP and in the function: progress, crashes, repeated messages, and the signed receipt.

`test_erased_person` shows that nothing of a person is left.
"""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient

from chalicelib import clock, errors, storage
from chalicelib.conversations import leftovers
from chalicelib.conversations.rows import MessageIndexRow
from chalicelib.extensions.erasures import functions, kinds, receipt, search, store
from chalicelib.extensions.erasures.identity import Identity
from chalicelib.storage import stored_responses
from chalicelib.webhooks import events, ledger
from chalicelib.workspaces.store import NewWorkspace
from tests import decrypted_items, moto_tables
from tests.api import Api
from tests.builders import lead_body, message, state_body
from tests.capacity import metered
from tests.conftest import PassTime
from tests.engine_requests import refuse_operation
from tests.person_records import ZARA, fill
from tests.queues.messages import take
from tests.selection import whole


def work(pass_time: PassTime) -> None:
    """Run the function with the messages of its queue until there are none."""
    while taken := take("erasures"):
        functions.erase({"Records": taken}, None)
        pass_time(90)


def begin(api: Api, **person: str) -> str:
    made = api.post("/v3/erasures", {"erasure": person}).data
    assert made["status"] == "running"
    erasure_id: str = made["id"]
    return erasure_id


def read(api: Api, erasure_id: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"/v3/erasures/{erasure_id}").data
    return found


def erase(api: Api, pass_time: PassTime, **person: str) -> dict[str, Any]:
    """Erase a person; return the complete erasure."""
    erasure_id = begin(api, **person)
    work(pass_time)
    found = read(api, erasure_id)
    assert found["status"] == "complete"
    return found


COUNTS = {
    **dict.fromkeys(kinds.by_name(), 0),
    "conversations": 2,
    "analytics": 1,
    "leads": 1,
    "events": 1,
    "answers": 1,
}
NOTHING = dict.fromkeys(COUNTS, 0)


def left(text: str) -> list[decrypted_items.DecryptedItem]:
    """The items with a text, unless it is a part of a random id or of Base64."""
    found = re.compile(rf"(?<![0-9A-Za-z+/]){re.escape(text)}")
    return [one for one in decrypted_items.items() if found.search(one.text)]


@pytest.fixture
def filled(api: Api, agent_id: str, workspace: NewWorkspace) -> None:
    """Two users with a record of every kind."""
    for user in ("zara", "yvette"):
        fill(api, workspace.workspace_id, user)


# ---- the person -----------------------------------------------------------------------------------


def test_a_person_is_erased_and_another_stays(api: Api, filled: None, pass_time: PassTime) -> None:
    others = left("yvette")
    found = erase(api, pass_time, email="ZARA@example.com", userID="zara")
    assert found["counts"] == found["receipt"]["counts"] == COUNTS
    assert left("zara") == []
    assert left("yvette") == others


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


@pytest.mark.parametrize("user", ["support", "web-chat", "human", "anna"])
def test_an_id_that_is_also_another_text_erases_nobody_else(
    api: Api, agent_id: str, workspace: NewWorkspace, pass_time: PassTime, user: str
) -> None:
    """A visitor may choose an id: that of the agent, a channel, a sender, somebody's name."""
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
    """Answers of the routes of messages have only the messages."""
    headers = {**api._headers, "Content-Type": "application/json"}
    for user in ("zara", "yvette"):
        body = {**state_body("Hello"), "metadata": {"userEmail": f"{user}@example.com"}}
        assert api.post(f"/agents/support/interact/of-{user}/state", body).status == 200
        for method in ("POST", "PATCH"):
            key = {"Idempotency-Key": f"{method}-{user}"}
            said = {"messages": [{"from": "human", "mid": user, "item": {"text": f"Words of {user}"}}]}
            path = f"/v3/agents/support/convos/of-{user}/messages"
            assert api.call(method, path, said, {**headers, **key}).status == 200
    others = left("yvette")
    counts = erase(api, pass_time, email=ZARA["email"])["counts"]
    assert counts == {**NOTHING, "conversations": 1, "answers": 2}
    assert left("zara") == []
    assert left("yvette") == others


@pytest.mark.parametrize("body", [{}, {"erasure": {}}, {"erasure": {"email": None}}, {"erasure": {"userID": ""}}])
def test_an_erasure_names_a_person(api: Api, body: dict[str, Any]) -> None:
    assert api.post("/v3/erasures", body).status == 400
    assert take("erasures") == []


def test_an_unknown_erasure_is_404_and_so_is_one_of_another_workspace(api: Api, other_workspace: NewWorkspace) -> None:
    erasure_id = begin(api, **ZARA)
    assert Api(other_workspace.workspace_key).get(f"/v3/erasures/{erasure_id}").status == 404
    assert api.get("/v3/erasures/unknown").status == 404


def test_an_access_token_does_not_open_erasures(workspace: NewWorkspace) -> None:
    token = Api(workspace.access_token)
    assert token.post("/v3/erasures", {"erasure": ZARA}).status == 403
    assert token.get("/v3/erasures/any").status == 403


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

    monkeypatch.setattr(store, "new", overtaken)
    for number in range(store.MAX_RUNNING - 1):
        begin(api, userID=f"user-{number}")
    assert api.post("/v3/erasures", {"erasure": ZARA}).status == 429


# ---- steps ----------------------------------------------------------------------------------------


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
    assert rounds > 70  # two searches, each with a page for each of 32 partitions of events
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
    assert left("zara") == []
    assert len(left("other-")) == 3


def test_the_second_search_waits_and_finds_what_was_being_written(
    api: Api, filled: None, workspace: NewWorkspace, pass_time: PassTime
) -> None:
    erasure_id = begin(api, **ZARA)
    functions.erase({"Records": take("erasures")}, None)
    assert read(api, erasure_id)["counts"] == {**COUNTS, "answers": 0}
    # A request in flight, and a change that was still in the stream.
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
    assert left("zara") == []


def test_a_message_that_was_being_added_leaves_no_index(
    api: Api, filled: None, workspace: NewWorkspace, pass_time: PassTime
) -> None:
    """Its items are written before the commit, which fails because the conversation is gone."""
    begin(api, **ZARA)
    functions.erase({"Records": take("erasures")}, None)
    place = MessageIndexRow(
        storage.join_key(workspace.workspace_id, "support", "zara"), "mid#late", start=1, length=2, writing="w"
    )
    storage.save_many([place])
    pass_time(90)
    functions.erase({"Records": take("erasures")}, None)
    work(pass_time)
    assert left("zara") == []


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
    assert left("zara") == []


def test_an_erasure_costs_the_same_whatever_another_workspace_has_stored(
    api: Api, filled: None, other_workspace: NewWorkspace, pass_time: PassTime
) -> None:
    costs = []
    erase(api, pass_time, userID="nobody")  # a process reads its keys once
    for count in (0, 30):
        keyed_requests(other_workspace, count)
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
    """The items of one request share the sort key of the index, so a page may end between them."""
    monkeypatch.setattr(kinds, "_PAGE", 1)
    assert erase(api, pass_time, **ZARA)["receipt"]["counts"] == COUNTS
    assert left("zara") == []


def test_two_erasures_of_a_person_at_once_both_complete(api: Api, filled: None, pass_time: PassTime) -> None:
    begun = [begin(api, **ZARA), begin(api, userID="zara", email="ZARA@EXAMPLE.COM")]
    work(pass_time)
    counts = [read(api, one)["receipt"]["counts"] for one in begun]
    assert {name: counts[0][name] + counts[1][name] for name in COUNTS} == COUNTS
    assert left("zara") == []


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
    assert left("zara") == []


class Died(BaseException):
    """The process ends."""


@contextmanager
def dies_after(number: int) -> Iterator[list[str]]:
    """End the process after a number of requests to DynamoDB, KMS and SQS; yield the requests."""
    sent: list[str] = []
    send = BaseClient._make_api_call

    def counted(client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        answer = send(client, operation, parameters)
        sent.append(operation)
        if len(sent) == number:
            raise Died
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseClient, "_make_api_call", counted)
        yield sent


@pytest.mark.parametrize("step", [pytest.param(13, id="every 13th"), pytest.param(1, id="every", marks=whole)])
def test_an_erasure_that_dies_after_any_request_is_continued_and_counts_once(
    step: int, api: Api, filled: None, pass_time: PassTime
) -> None:
    erasure_id = begin(api, **ZARA)
    begun, start, number = moto_tables.snapshot(), take("erasures"), 0
    others = left("yvette")
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
                except Died:  # the queue makes the message visible again
                    is_complete = False
                    waiting = [*waiting, *take("erasures")]
                else:
                    waiting = take("erasures")
                pass_time(90)
        assert read(api, erasure_id)["receipt"]["counts"] == COUNTS, number
        assert left("zara") == [], number
        assert left("yvette") == others, number
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
    """An invocation that runs out of time within a page, or in the final clearing, continues where it was."""
    for number in range(25):
        body = {**state_body("Hello"), "metadata": {"userEmail": "zara@example.com"}}
        assert api.post(f"/agents/support/interact/{number}/state", body).status == 200
    erasure_id = begin(api, **ZARA)
    real, passed = leftovers.clear, [0]

    def clear(conversation: str) -> None:
        """Each takes eight seconds: those of the deletion, or the later ones."""
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
    assert left("zara") == []


# ---- the receipt ----------------------------------------------------------------------------------


def test_a_receipt_has_a_hash_and_a_signature_of_its_canonical_text(
    api: Api, workspace: NewWorkspace, filled: None, pass_time: PassTime
) -> None:
    signed = erase(api, pass_time, **ZARA)["receipt"]
    text = receipt.canonical(signed)
    assert hashlib.sha256(text).hexdigest() == signed["hash"]
    assert json.loads(text)["workspaceId"] == workspace.workspace_id
    verified = boto3.client("kms").verify(
        KeyId=receipt.key_alias(), Message=text, MessageType="RAW",
        Signature=base64.b64decode(signed["signature"]), SigningAlgorithm="ECDSA_SHA_256",
    )  # fmt: skip
    assert verified["SignatureValid"]
    day = 24 * 60 * 60
    assert signed["streamsUntil"] == clock.iso(int(_seconds(signed["completedAt"])) + day)


def _seconds(iso: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(iso.replace("Z", "+00:00")).timestamp()


def test_an_erasure_is_not_complete_without_its_signature(
    api: Api, filled: None, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    erasure_id = begin(api, **ZARA)
    functions.erase({"Records": take("erasures")}, None)
    pass_time(90)
    waiting = take("erasures")
    with monkeypatch.context() as patch:
        patch.setattr(receipt, "_ALGORITHM", "UNKNOWN")
        with pytest.raises(errors.Unavailable):
            functions.erase({"Records": waiting}, None)
    assert read(api, erasure_id)["status"] == "running"
    functions.erase({"Records": waiting}, None)
    assert read(api, erasure_id)["receipt"]["counts"] == COUNTS


@pytest.mark.skipif(not (shutil.which("openssl") and shutil.which("jq")), reason="needs openssl and jq")
def test_the_documented_command_verifies_a_receipt(api: Api, filled: None, pass_time: PassTime, tmp_path: Path) -> None:
    (tmp_path / "erasure.json").write_text(json.dumps({"data": erase(api, pass_time, **ZARA)}))
    key = boto3.client("kms").get_public_key(KeyId=receipt.key_alias())["PublicKey"]
    (tmp_path / "receipts.der").write_bytes(key)
    page = (Path(__file__).parents[3] / "docs/erasures.md").read_text(encoding="utf-8")
    command = page.partition("<!-- verify -->\n```sh\n")[2].partition("```")[0]
    ran = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stdout == "Verified OK\n", ran.stderr
    with (tmp_path / "erasure.json").open("r+") as file:
        changed = file.read().replace('"conversations": 2', '"conversations": 3')
        file.seek(0)
        file.write(changed)
    ran = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Verified OK" not in ran.stdout
