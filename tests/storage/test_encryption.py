"""An encrypted document decrypts only with its own key and associated data."""

from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from chalicelib import errors, storage
from chalicelib.storage import encryption, keyring, layouts
from chalicelib.workspaces.store import WorkspaceRow
from tests.engines import clear_caches


@pytest.fixture(autouse=True)
def keys(engine: None) -> None:
    keyring.ensure_data_key()


def test_an_encrypted_document_can_be_decrypted() -> None:
    payload = storage.encode_json({"": [1, 1.0, "é😀", None], "big": 10**40})
    assert (
        encryption.unseal("w", "table/item/attribute", encryption.seal("w", "table/item/attribute", payload)) == payload
    )


@pytest.mark.parametrize(
    ("workspace", "place"), [("other", "here"), ("w", "there")], ids=["another workspace", "another place"]
)
def test_a_document_does_not_decrypt_in_another_place(workspace: str, place: str) -> None:
    sealed = encryption.seal("w", "here", b"{}")
    with pytest.raises(encryption.DecryptionError):
        encryption.unseal(workspace, place, sealed)


@pytest.mark.parametrize("position", [1, 4, 5, 17, -1], ids=["key id", "its end", "nonce", "text", "tag"])
def test_an_altered_byte_is_detected(position: int) -> None:
    sealed = bytearray(encryption.seal("w", "here", b'{"a":1}'))
    sealed[position] ^= 1
    with pytest.raises(encryption.DecryptionError):
        encryption.unseal("w", "here", bytes(sealed))


@pytest.mark.parametrize("first", [0, 1, ord("{"), 255])
def test_a_first_byte_that_is_no_layout_is_damage_and_no_newer_version(first: int) -> None:
    sealed = encryption.seal("w", "here", b"{}")
    with pytest.raises(encryption.DecryptionError):
        encryption.unseal("w", "here", bytes([first]) + sealed[1:])


def test_the_layout_is_authenticated(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = encryption.seal("w", "here", b"{}")
    newer = layouts.CURRENT + 1
    monkeypatch.setattr(layouts, "READABLE", {**layouts.READABLE, newer: "9.0.0"})
    with pytest.raises(encryption.DecryptionError):
        encryption.unseal("w", "here", bytes([newer]) + sealed[1:])


def test_each_encryption_of_a_document_differs() -> None:
    assert encryption.seal("w", "here", b"{}") != encryption.seal("w", "here", b"{}")


def test_a_rotated_key_encrypts_new_documents_and_the_old_one_still_decrypts() -> None:
    before = encryption.seal("w", "here", b'"before"')
    keyring.rotate()
    after = encryption.seal("w", "here", b'"after"')
    assert before[1:5] != after[1:5]
    clear_caches()
    assert [encryption.unseal("w", "here", sealed) for sealed in (before, after)] == [b'"before"', b'"after"']


def test_ensuring_a_key_twice_creates_one_key() -> None:
    first = keyring.current().key_id
    keyring.ensure_data_key()
    clear_caches()
    assert keyring.current().key_id == first


def test_a_key_id_is_never_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = keyring.current().key_id
    monkeypatch.setattr(keyring, "os", SimpleNamespace(urandom=lambda size: taken))
    with pytest.raises(storage.ConditionFailed):
        keyring.rotate()


def test_without_a_key_encryption_fails_with_an_instruction() -> None:
    for item in boto3.client("dynamodb").scan(TableName="cams-keyring")["Items"]:
        boto3.client("dynamodb").delete_item(TableName="cams-keyring", Key={"name": item["name"]})
    clear_caches()
    with pytest.raises(errors.Unavailable, match="create a workspace"):
        encryption.seal("w", "here", b"{}")


def test_a_process_unwraps_a_key_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    real = keyring._kms
    monkeypatch.setattr(keyring, "_kms", lambda operation, **rest: calls.append(operation) or real(operation, **rest))
    for _ in range(3):
        encryption.unseal("w", "here", encryption.seal("w", "here", b"{}"))
    assert calls == ["decrypt"]


def test_the_repr_of_a_key_does_not_show_its_secret() -> None:
    assert repr(keyring.current()) == f"DataKey({keyring.current().key_id.hex()})"


def test_the_associated_data_names_the_table_without_the_prefix_of_the_stage() -> None:
    assert WorkspaceRow("w", "workspace").associated_data("document") == "workspaces/w/workspace/document"
