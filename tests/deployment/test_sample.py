"""The sample that a restore decrypts covers each table and record kind, wherever the records are in the table."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from chalicelib import storage
from chalicelib.conversations.rows import ConversationRow, MessageIndexRow
from chalicelib.storage import keyring, layouts
from infra.deploy import sample
from infra.tables import declared, table_name
from tests.api import Api
from tests.builders import message, state_body
from tests.engines import clear_caches
from tests.moto_tables import items

# Number of message index items that precede the relevant record.
_BEFORE = 300


@pytest.fixture
def long_conversation(api: Api, agent_id: str) -> Api:
    """Create a conversation with a chunked transcript, items of new messages, and 300 index items."""
    turns = [{"from": "human", "messages": [message(f"{number} {'x' * 150}")]} for number in range(700)]
    assert api.post("/agents/support/interact/long/state", {"turns": turns}).status == 200
    conversation = storage.join_key(api.get("/v3/workspace").data["id"], "support", "long")
    places = [
        MessageIndexRow(conversation, f"mid#{number:032x}", writing="x", start=1, length=1) for number in range(_BEFORE)
    ]
    storage.save_many(places)
    return api


def output(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    clear_caches()
    capsys.readouterr()
    sample.main()
    lines = [line.partition(": ") for line in capsys.readouterr().out.splitlines()]
    return {name.removeprefix(storage.table("")): rest for name, _, rest in lines}


def failure(capsys: pytest.CaptureFixture[str]) -> str:
    clear_caches()
    with pytest.raises(SystemExit) as ended:
        sample.main()
    assert "Canary" not in str(ended.value)
    return str(ended.value)


def corrupt(table: str, attribute: str, change: Callable[[bytes], bytes]) -> None:
    """Change the attribute in a table's last item that has this attribute."""
    name = storage.table(table)
    item = [one for one in items()[name] if attribute in one][-1]
    item = {**item, attribute: {"B": change(item[attribute]["B"])}}
    storage.sdk_client("dynamodb").put_item(TableName=name, Item=item)


def test_every_table_and_every_kind_of_record_is_sampled(
    long_conversation: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    sampled = output(capsys)
    assert sampled.keys() == {table_name(one, "") for one in declared("AWS::DynamoDB::Table")}
    assert "1 document" in sampled["workspaces"]
    assert sampled["keyring"] == "2 records, decrypted attributes: 2 wrapped"
    heads = sum("turns" in item for item in items()["cams-conversations"])
    assert f" {heads} turns" in sampled["conversations"]
    assert " part, " in sampled["conversations"]
    assert " received, " in sampled["conversations"]
    assert sampled["credentials"].endswith("decrypted attributes: none")


def test_index_items_of_a_long_conversation_do_not_fill_the_sample(
    long_conversation: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    """Check a long conversation, which may come first, because scans return conversations in hash order."""
    for number in range(3):
        long_conversation.post(f"/agents/support/interact/z{number}/state", state_body("one"))
    corrupt("conversations", "summary", lambda value: value[:-1] + bytes([value[-1] ^ 1]))
    assert "A record of cams-conversations cannot be decrypted with the keys in cams-keyring." in failure(capsys)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda value: value[:9], "A record of cams-workspaces cannot be decrypted with the keys in cams-keyring."),
        (
            lambda value: value[:1] + b"bad!" + value[5:],
            "A record of cams-workspaces cannot be decrypted with the keys",
        ),
        (
            lambda value: bytes([layouts.CURRENT + 1]) + value[1:],
            "A newer version has stored a record of cams-workspaces: restore with that version.",
        ),
    ],
    ids=["cut", "another key", "newer"],
)
def test_a_record_that_cannot_be_read_is_named_by_its_table(
    change: Callable[[bytes], bytes], sentence: str, api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    corrupt("workspaces", "document", change)
    assert sentence in failure(capsys)


def test_a_transcript_without_one_of_its_chunks_is_found(
    long_conversation: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    chunk = next(item for item in items()["cams-conversations"] if "part" in item)
    key = {name: chunk[name] for name in ("conversation", "item")}
    storage.sdk_client("dynamodb").delete_item(TableName=ConversationRow.Meta.table_name, Key=key)
    assert failure(capsys) == "A conversation in cams-conversations lacks part of its transcript."


def test_a_key_that_kms_refuses_is_an_error_in_one_line(
    api: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(**_: Any) -> Any:
        raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "Decrypt")

    monkeypatch.setattr(storage.sdk_client("kms"), "decrypt", refuse)
    keyring.current.cache_clear()
    assert "cannot be decrypted: KMS rejected the encryption key (AccessDeniedException)" in failure(capsys)
