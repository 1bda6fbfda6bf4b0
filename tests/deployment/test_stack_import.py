"""Importing a deleted stack's tables and keys follows CloudFormation's documented rules and finds each key."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, WaiterError
from click import ClickException
from click.testing import CliRunner
from moto import mock_aws

from chalicelib.extensions import present
from infra import tables
from infra.deploy import sample_process, stack, stack_import, template
from infra.deploy.checks import NotReady
from infra.deploy.commands import deployment
from tests.deployment.resource_schemas import resource_schema
from tests.selection import first_case

NAME = "cams-prod"
RECEIPTS = "ReceiptKey"
ALIASES = {stack_import.ENCRYPTION: f"alias/{NAME}", RECEIPTS: f"alias/{NAME}-receipts"}
KEYS = template.key_ids()
has_receipts = pytest.mark.skipif(RECEIPTS not in KEYS, reason="only the extension erasures has this key")
_ROLE = f"{NAME}-erase"


class CloudFormation:
    """A fake account without the stack. It stores the change set. `owners` maps keys to the ids of their stacks.

    `failure` is the reason why the change set fails. `statuses` are the statuses of stacks and of their resources.
    """

    def __init__(
        self, owners: dict[str, str] | None = None, failure: str = "", statuses: tuple[str, str] = ("", "")
    ) -> None:
        self.owners, self.failure, self.statuses = owners or {}, failure, statuses
        self.change: dict[str, Any] = {}

    def describe_stacks(self, **request: str) -> Any:
        if request["StackName"] in self.owners.values():
            return {"Stacks": [{"StackName": NAME, "StackStatus": self.statuses[0]}]}
        raise ClientError({"Error": {"Code": "ValidationError", "Message": "does not exist"}}, "DescribeStacks")

    def describe_stack_resources(self, **request: str) -> Any:
        key = request["PhysicalResourceId"]
        if key not in self.owners:
            raise ClientError({"Error": {"Code": "ValidationError"}}, "DescribeStackResources")
        return {"StackResources": [{"StackId": self.owners[key], "ResourceStatus": self.statuses[1]}]}

    def create_change_set(self, **request: Any) -> None:
        self.change = request

    def get_waiter(self, _: str) -> Any:
        return self

    def wait(self, **_: Any) -> None:
        if self.failure:
            raise WaiterError("ChangeSetCreateComplete", "failed", {})

    def describe_change_set(self, **_: Any) -> Any:
        return {"StatusReason": self.failure}

    def execute_change_set(self, **_: Any) -> None:
        """Accept the call."""


@pytest.fixture
def created() -> Iterator[dict[str, str]]:
    with account() as keys:
        yield keys


@contextmanager
def account() -> Iterator[dict[str, str]]:
    """Yield a stage's keys in an account that contains the stage's tables but not its stack."""
    with mock_aws():
        tables.create_missing(boto3.client, f"{NAME}-")
        kms = boto3.client("kms")
        yield {name: kms.create_key()["KeyMetadata"]["Arn"] for name in KEYS}


def tag(logical_id: str, arn: str) -> None:
    """Tag a key as CloudFormation does."""
    tags = {"aws:cloudformation:stack-name": NAME, "aws:cloudformation:logical-id": logical_id}
    boto3.client("kms").tag_resource(
        KeyId=arn.rpartition("/")[2], Tags=[{"TagKey": key, "TagValue": value} for key, value in tags.items()]
    )


def imported(cloudformation: CloudFormation, arns: dict[str, str]) -> dict[str, Any]:
    """Import the stack; return the change set's template."""

    def sdk(service: str) -> Any:
        return cloudformation if service == "cloudformation" else boto3.client(service)

    stack_import.import_stack(sdk, NAME, "prod", arns, present())
    body: dict[str, Any] = json.loads(cloudformation.change["TemplateBody"])
    return body


def references(value: Any) -> set[str]:
    """Return the resources that a part of a template references with `Ref`, `Fn::GetAtt` and `Fn::Sub`."""
    if isinstance(value, list):
        return {name for one in value for name in references(one)}
    if not isinstance(value, dict):
        return set()
    own = {value["Ref"]} if "Ref" in value else {value["Fn::GetAtt"][0]} if "Fn::GetAtt" in value else set()
    return own | {name for one in value.values() for name in references(one)}


@pytest.fixture(scope="module")
def change() -> CloudFormation:
    """Return the change set that imports all resources that a deleted stack can leave, including the aliases."""
    cloudformation = CloudFormation()
    with account() as created:
        for logical_id, arn in created.items():
            boto3.client("kms").create_alias(AliasName=ALIASES[logical_id], TargetKeyId=arn.rpartition("/")[2])
        imported(cloudformation, created)
    return cloudformation


def test_the_import_has_what_is_left_and_nothing_else(change: CloudFormation) -> None:
    request, resources = change.change, json.loads(change.change["TemplateBody"])["Resources"]
    assert request["ChangeSetType"] == "IMPORT"
    listed = [one["LogicalResourceId"] for one in request["ResourcesToImport"]]
    assert len(listed) == len(set(listed)) <= 200
    assert {*listed} == resources.keys()
    assert {*KEYS, *(f"{key}Alias" for key in KEYS)} < {*listed}
    assert len(listed) == len(tables.declared("AWS::DynamoDB::Table")) + 2 * len(KEYS)


def test_every_imported_resource_has_a_deletion_policy(change: CloudFormation) -> None:
    resources = json.loads(change.change["TemplateBody"])["Resources"]
    assert {one["DeletionPolicy"] for one in resources.values()} == {"Retain"}


def test_an_import_adds_no_outputs(change: CloudFormation) -> None:
    assert "Outputs" not in json.loads(change.change["TemplateBody"])


def test_the_identifier_of_each_type_is_its_primary_identifier(change: CloudFormation) -> None:
    for kind, identifier in stack.IDENTIFIERS.items():
        schema = resource_schema("eu-west-1", kind)
        assert schema["primaryIdentifier"] == [f"/properties/{identifier}"]
        # CloudFormation can import resource types whose schema contains these handlers.
        assert {"read", "update"} <= schema["handlers"].keys()
    for one in change.change["ResourcesToImport"]:
        assert list(one["ResourceIdentifier"]) == [stack.IDENTIFIERS[one["ResourceType"]]]


def test_the_template_of_an_import_is_complete(change: CloudFormation) -> None:
    body = json.loads(change.change["TemplateBody"])
    known = {*body["Resources"], *body["Parameters"], "AWS::Partition", "AWS::AccountId", "AWS::Region"}
    assert references(body["Resources"]) <= known
    used = {one["Condition"] for one in body["Resources"].values() if "Condition" in one}
    assert used <= body["Conditions"].keys()
    assert {one["ParameterKey"] for one in change.change["Parameters"]} <= body["Parameters"].keys()


def test_an_identifier_equals_the_property_of_the_template(change: CloudFormation) -> None:
    resources = json.loads(change.change["TemplateBody"])["Resources"]
    for one in change.change["ResourcesToImport"]:
        ((member, value),) = one["ResourceIdentifier"].items()
        if member != "KeyId":  # the property is read-only
            declared = resources[one["LogicalResourceId"]]["Properties"][member]["Fn::Sub"]
            assert declared.replace("${Name}", NAME) == value


def test_missing_tables_are_named_before_the_import(created: dict[str, str]) -> None:
    """Check for missing tables, because the deployment would create empty tables."""
    for table in ("leads", "events"):
        boto3.client("dynamodb").delete_table(TableName=f"{NAME}-{table}")
    cloudformation = CloudFormation()
    with pytest.raises(NotReady, match=f"^These tables of {NAME} are missing: {NAME}-events, {NAME}-leads. Restore"):
        imported(cloudformation, created)
    assert not cloudformation.change


def test_an_adoption_that_ended_after_the_import_continues_with_the_sample(
    created: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for logical_id, arn in created.items():
        tag(logical_id, arn)
    sampled: list[str] = []
    monkeypatch.setattr(stack, "status", lambda *_: "IMPORT_COMPLETE")
    monkeypatch.setattr(sample_process, "run", lambda *arguments: sampled.extend(arguments))
    ran = CliRunner().invoke(deployment, ["adopt", "--stage", "prod"])
    assert ran.exit_code == 0, ran.output
    assert sampled == [NAME, created[stack_import.ENCRYPTION], present()]
    assert ran.output.splitlines()[-1].endswith("run `chalice deploy --stage prod`.")
    dynamodb = boto3.client("dynamodb")
    assert dynamodb.describe_table(TableName=f"{NAME}-agents")["Table"]["DeletionProtectionEnabled"]


def test_the_error_of_the_sample_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(ClickException) as failed:
        sample_process.run(NAME, "arn:aws:kms:eu-west-1:123456789012:key/1", present())
    assert re.fullmatch(rf"{NAME}-\w+: AWS cannot be reached: .*", failed.value.message)


def test_the_key_of_another_stack_is_used_and_not_imported(created: dict[str, str]) -> None:
    key = created[stack_import.ENCRYPTION]
    owners = {key.rpartition("/")[2]: "arn:aws:cloudformation:us-east-1:1:stack/cams-original/1"}
    cloudformation = CloudFormation(owners, statuses=("UPDATE_COMPLETE", "CREATE_COMPLETE"))
    resources = imported(cloudformation, created)["Resources"]
    assert {"EncryptionKey", "EncryptionKeyAlias"}.isdisjoint(resources)
    assert {"ParameterKey": "KeyArn", "ParameterValue": key} in cloudformation.change["Parameters"]


@pytest.mark.parametrize(
    "statuses",
    [
        pytest.param(("DELETE_COMPLETE", "DELETE_SKIPPED"), id="a deleted stack with a retained key"),
        pytest.param(("DELETE_COMPLETE", "UPDATE_COMPLETE"), id="deleted"),
        pytest.param(("UPDATE_COMPLETE", "DELETE_SKIPPED"), id="a stack that has released the key"),
    ],
)
@first_case
def test_the_keys_of_a_deleted_stack_are_imported(created: dict[str, str], statuses: tuple[str, str]) -> None:
    """Find the keys through the deleted stack, whose resources CloudFormation describes for 90 days."""
    ids = {arn.rpartition("/")[2]: f"arn:aws:cloudformation:us-east-1:1:stack/{NAME}/1" for arn in created.values()}
    cloudformation = CloudFormation(ids, statuses=statuses)
    assert {*KEYS} < imported(cloudformation, created)["Resources"].keys()
    assert "KeyArn" not in {one["ParameterKey"] for one in cloudformation.change["Parameters"]}


@has_receipts
def test_the_key_of_the_receipts_is_never_the_key_of_the_records(created: dict[str, str]) -> None:
    owners = {created[RECEIPTS].rpartition("/")[2]: "arn:aws:cloudformation:us-east-1:1:stack/cams-other/1"}
    cloudformation = CloudFormation(owners, statuses=("UPDATE_COMPLETE", "CREATE_COMPLETE"))
    imported(cloudformation, created)
    assert "KeyArn" not in {one["ParameterKey"] for one in cloudformation.change["Parameters"]}


def test_a_refused_import_names_the_reason(created: dict[str, str]) -> None:
    with pytest.raises(ClickException, match="CloudFormation rejects the import into cams-prod: it belongs to a stack"):
        imported(CloudFormation(failure="it belongs to a stack"), created)


@has_receipts
def test_the_policy_of_a_role_names_both_keys(created: dict[str, str]) -> None:
    iam = boto3.client("iam")
    iam.create_role(RoleName=_ROLE, AssumeRolePolicyDocument="{}")
    actions = {"kms:Decrypt": created[stack_import.ENCRYPTION], "kms:Sign": created[RECEIPTS]}
    statements = [{"Effect": "Allow", "Action": [name], "Resource": arn} for name, arn in actions.items()]
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_role_policy(RoleName=_ROLE, PolicyName=_ROLE, PolicyDocument=document)
    assert stack_import.keys(boto3.client, NAME) == created


def test_keys_are_found_by_alias_or_by_tag(created: dict[str, str]) -> None:
    boto3.client("kms").create_alias(
        AliasName=f"alias/{NAME}", TargetKeyId=created[stack_import.ENCRYPTION].split("/")[1]
    )
    for logical_id in created.keys() - {stack_import.ENCRYPTION}:
        tag(logical_id, created[logical_id])
    assert stack_import.keys(boto3.client, NAME) == created


def test_without_any_key_one_sentence_says_so(created: dict[str, str]) -> None:
    with pytest.raises(NotReady, match=r"^cams-prod has no keys left in this account and region"):
        stack_import.keys(boto3.client, NAME)


@pytest.mark.parametrize("logical_id", KEYS)
@first_case
def test_a_key_that_is_pending_deletion_is_named(created: dict[str, str], logical_id: str) -> None:
    for name, arn in created.items():
        tag(name, arn)
    key = created[logical_id].rpartition("/")[2]
    boto3.client("kms").schedule_key_deletion(KeyId=key, PendingWindowInDays=30)
    with pytest.raises(NotReady, match=f"The key {key} of {NAME} is PendingDeletion: run `aws kms cancel-key-deletion"):
        stack_import.keys(boto3.client, NAME)
