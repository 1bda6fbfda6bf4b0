"""Deleting a stage's data is complete, limited to the stage, and repeatable after an interruption."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from click.testing import CliRunner
from moto import mock_aws

from infra import tables
from infra.deploy import chalice_process, chalice_state, stack, teardown, template
from infra.deploy.commands import deployment


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return a stage's key in an account that contains two stages' tables."""
    with mock_aws():
        for prefix in ("cams-prod-", "cams-test-"):
            tables.create_missing(boto3.client, prefix)
        key_id: str = boto3.client("kms").create_key()["KeyMetadata"]["KeyId"]  # moto does not accept ARNs
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
        """A fake client that rejects a key that is pending deletion, as AWS does. moto would restart the 30 days."""

        def schedule_key_deletion(self, **_: Any) -> None:
            raise ClientError({"Error": {"Code": "KMSInvalidStateException"}}, "ScheduleKeyDeletion")

    teardown.delete_data(lambda service: Kms() if service == "kms" else boto3.client(service), "cams-prod")
    assert deleted == ["cams-prod"]


_PARAMETERS = {"ApiId": "a1", "Stage": "prod", "RequestsPerCredential": "2000"}
_STACK = {
    "Parameters": {name: {"Type": "String"} for name in _PARAMETERS},
    "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
}


@pytest.mark.parametrize("delete_data", [False, True], ids=["data stays", "with data"])
def test_the_stack_has_no_api_before_the_api_and_the_web_acl_are_deleted(
    delete_data: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check the order, because AWS WAF does not delete a web ACL that is associated with an API."""
    calls: list[Any] = []

    def parameters() -> dict[str, str]:
        return stack.parameters_of(boto3.client("cloudformation"), "cams-prod", _PARAMETERS)

    monkeypatch.setattr(chalice_state, "reconcile", lambda *_: [])
    monkeypatch.setattr(chalice_state, "api_id", lambda _: None)
    monkeypatch.setattr(chalice_process, "prepare_deletion", lambda _: None)
    monkeypatch.setattr(chalice_state, "copy_to_project", lambda *_: None)
    monkeypatch.setattr(chalice_state, "copy_from_project", lambda *_: None)
    monkeypatch.setattr(chalice_process, "run", lambda *_: calls.append(("API", parameters())))
    monkeypatch.setattr(stack, "retain_data_only", lambda *_, **__: calls.append("web ACL"))
    monkeypatch.setattr(teardown, "delete_data", lambda *_: calls.append("data"))
    with mock_aws():
        boto3.client("cloudformation").create_stack(
            StackName="cams-prod",
            TemplateBody=json.dumps(_STACK),
            Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in _PARAMETERS.items()],
        )
        arguments = ["destroy", "--stage", "prod", "--yes", *(["--delete-data"] if delete_data else [])]
        for _ in range(2):  # the second run repeats the interrupted deletion
            calls.clear()
            answer = CliRunner().invoke(deployment, arguments)
            assert answer.exit_code == 0, answer.output
            assert calls == [("API", {**_PARAMETERS, "ApiId": ""}), "web ACL", *(["data"] if delete_data else [])]


def test_the_association_of_the_web_acl_exists_only_while_the_stack_has_an_api() -> None:
    whole = template.build()
    assert whole["Resources"]["CredentialLimitOfApi"]["Condition"] == "LimitsCredentialsOfApi"
    conditions = whole["Conditions"]["LimitsCredentialsOfApi"]["Fn::And"]
    assert {"Fn::Not": [{"Fn::Equals": [{"Ref": "ApiId"}, ""]}]} in conditions


def test_the_bucket_of_packages_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    with mock_aws():
        s3 = boto3.client("s3", region_name="us-east-1")
        s3.create_bucket(Bucket="packages")
        for name in ("first", "second"):
            s3.put_object(Bucket="packages", Key=name, Body=b"code")
        monkeypatch.setattr(stack, "outputs", lambda *_: {"PackagesBucket": "packages"})
        teardown.empty_packages(boto3.client, "cams-prod")
        s3.delete_bucket(Bucket="packages")


def test_a_stack_without_a_bucket_needs_no_emptying(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "outputs", lambda *_: {})
    teardown.empty_packages(boto3.client, "cams-prod")
