"""What is sealed opens at its own place with its own key, and nowhere else."""

from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from chalicelib import errors, storage
from chalicelib.storage import encryption, keyring
from tests.conftest import forget


@pytest.fixture(autouse=True)
def keys(engine: None) -> None:
    keyring.ensure_data_key()


def test_what_is_sealed_opens_again() -> None:
    payload = storage.encode_json({"": [1, 1.0, "é😀", None], "big": 10**40})
    assert (
        encryption.unseal("w", "table/item/attribute", encryption.seal("w", "table/item/attribute", payload)) == payload
    )


@pytest.mark.parametrize(
    ("workspace", "place"), [("other", "here"), ("w", "there")], ids=["another workspace", "another place"]
)
def test_it_opens_nowhere_else(workspace: str, place: str) -> None:
    sealed = encryption.seal("w", "here", b"{}")
    with pytest.raises(encryption.DecryptionError):
        encryption.unseal(workspace, place, sealed)


@pytest.mark.parametrize("position", [0, 5, 17, -1], ids=["layout", "nonce", "text", "tag"])
def test_an_altered_byte_is_noticed(position: int) -> None:
    sealed = bytearray(encryption.seal("w", "here", b'{"a":1}'))
    sealed[position] ^= 1
    with pytest.raises(encryption.DecryptionError):
        encryption.unseal("w", "here", bytes(sealed))


def test_the_same_document_is_sealed_differently_every_time() -> None:
    assert encryption.seal("w", "here", b"{}") != encryption.seal("w", "here", b"{}")


def test_a_rotated_key_seals_from_now_on_and_the_old_one_still_opens() -> None:
    before = encryption.seal("w", "here", b'"before"')
    keyring.rotate()
    after = encryption.seal("w", "here", b'"after"')
    assert before[1:5] != after[1:5]
    forget()
    assert [encryption.unseal("w", "here", sealed) for sealed in (before, after)] == [b'"before"', b'"after"']


def test_ensuring_twice_makes_one_key() -> None:
    first = keyring.current().key_id
    keyring.ensure_data_key()
    forget()
    assert keyring.current().key_id == first


def test_a_key_id_is_never_given_to_a_second_key(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = keyring.current().key_id
    monkeypatch.setattr(keyring, "os", SimpleNamespace(urandom=lambda size: taken))
    with pytest.raises(storage.ConditionFailed):
        keyring.rotate()


def test_without_a_key_nothing_is_sealed_and_the_error_says_what_to_do() -> None:
    for item in boto3.client("dynamodb").scan(TableName="cams-keyring")["Items"]:
        boto3.client("dynamodb").delete_item(TableName="cams-keyring", Key={"name": item["name"]})
    forget()
    with pytest.raises(errors.Unavailable, match="create a workspace"):
        encryption.seal("w", "here", b"{}")


def test_a_process_unwraps_a_key_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    real = keyring._kms
    monkeypatch.setattr(keyring, "_kms", lambda operation, **rest: calls.append(operation) or real(operation, **rest))
    for _ in range(3):
        encryption.unseal("w", "here", encryption.seal("w", "here", b"{}"))
    assert calls == ["decrypt"]


def test_a_key_does_not_show_its_secret() -> None:
    assert repr(keyring.current()) == f"DataKey({keyring.current().key_id.hex()})"
