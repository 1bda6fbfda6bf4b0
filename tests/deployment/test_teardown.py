"""Deleting the data of a stage: complete, limited to the stage, and repeatable after an interruption."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from infra import tables
from infra.deploy import stack, teardown


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The key of a stage, in an account with the tables of two stages."""
    with mock_aws():
        for prefix in ("cams-prod-", "cams-test-"):
            tables.create_missing(boto3.client, prefix)
        key_id: str = boto3.client("kms").create_key()["KeyMetadata"]["KeyId"]  # moto takes no ARN
        monkeypatch.setattr(stack, "outputs", lambda *_: {"EncryptionKeyArn": key_id})
        yield key_id


def stages_with_tables() -> set[str]:
    names = boto3.client("dynamodb").list_tables()["TableNames"]
    return {name.rsplit("-", 1)[0] for name in names}


def test_only_the_tables_and_the_key_of_the_stage_are_deleted(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    deleted: list[str] = []
    monkeypatch.setattr(stack, "delete", lambda _, name: deleted.append(name))
    teardown.delete_data(boto3.client, "cams-prod")
    assert stages_with_tables() == {"cams-test"}
    assert boto3.client("kms").describe_key(KeyId=key)["KeyMetadata"]["KeyState"] == "PendingDeletion"
    assert deleted == ["cams-prod"]


def test_an_interrupted_deletion_can_be_repeated(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stack, "delete", interrupt)
    with pytest.raises(KeyboardInterrupt):
        teardown.delete_data(boto3.client, "cams-prod")

    deleted: list[str] = []
    monkeypatch.setattr(stack, "delete", lambda _, name: deleted.append(name))

    class Kms:
        """Answers as AWS does for a key that is pending deletion; moto would restart the 30 days."""

        def schedule_key_deletion(self, **_: Any) -> None:
            raise ClientError({"Error": {"Code": "KMSInvalidStateException"}}, "ScheduleKeyDeletion")

    teardown.delete_data(lambda service: Kms() if service == "kms" else boto3.client(service), "cams-prod")
    assert deleted == ["cams-prod"]
