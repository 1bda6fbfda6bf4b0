"""Deleting a stage's data: all of it, nobody else's, and to the end when it was interrupted."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from infra import tables
from infra.deploy import data, stack


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The key of a stage with its tables, beside those of another stage."""
    with mock_aws():
        for prefix in ("cams-prod-", "cams-test-"):
            tables.create_missing(boto3.client, prefix)
        made: str = boto3.client("kms").create_key()["KeyMetadata"]["KeyId"]  # moto knows it by its id only
        monkeypatch.setattr(stack, "outputs", lambda *_: {"EncryptionKeyArn": made})
        yield made


def tables_left() -> set[str]:
    names = boto3.client("dynamodb").list_tables()["TableNames"]
    return {name.rsplit("-", 1)[0] for name in names}


def test_tables_and_key_of_the_stage_go_and_no_others(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    deleted: list[str] = []
    monkeypatch.setattr(stack, "delete", lambda _, name: deleted.append(name))
    data.delete(boto3.client, "cams-prod")
    assert tables_left() == {"cams-test"}
    assert boto3.client("kms").describe_key(KeyId=key)["KeyMetadata"]["KeyState"] == "PendingDeletion"
    assert deleted == ["cams-prod"]


def test_what_was_interrupted_is_repeated(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stack, "delete", interrupt)
    with pytest.raises(KeyboardInterrupt):
        data.delete(boto3.client, "cams-prod")

    deleted: list[str] = []
    monkeypatch.setattr(stack, "delete", lambda _, name: deleted.append(name))

    class Kms:
        """As the cloud answers for a key that is to be deleted; moto starts the 30 days anew."""

        def schedule_key_deletion(self, **_: Any) -> None:
            raise ClientError({"Error": {"Code": "KMSInvalidStateException"}}, "ScheduleKeyDeletion")

    data.delete(lambda service: Kms() if service == "kms" else boto3.client(service), "cams-prod")
    assert deleted == ["cams-prod"]
