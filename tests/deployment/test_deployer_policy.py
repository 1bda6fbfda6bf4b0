"""The deployer's policy covers all resources, fits into AWS's limit, and is restricted to the stage if possible."""

import json
import re
from fnmatch import fnmatchcase
from typing import Any

from botocore.session import Session

from infra.deploy import template
from infra.local.children import ROOT
from tests.deployment.deployer import POLICY, read_statements

# Maximum size of a managed policy in characters, without white space.
_MAX_CHARACTERS = 6144
# Statement -> how it is restricted, if its resources have generated ids or its actions do not support resources.
_WITHOUT_NAMES = {
    "ListNames": "only reads, and creation of a key",
    "Subscriptions": "nothing: AWS offers no resource",
    "EventSources": "a condition on the mapping's function",
    "Apis": "nothing: an API has only an id",
    "WebAcls": "nothing: an API has only an id",
    "Domains": "reads",
    "Keys": "nothing: a key has only an id, and changed aliases or tags take minutes to affect permissions",
}
# Actions for documented settings that cannot be restricted to the stage, namely subscriptions of an email address, and
# functions with layers or in a network.
_ON_EVERYTHING = (
    "sns:GetSubscriptionAttributes",
    "sns:SetSubscriptionAttributes",
    "sns:Unsubscribe",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "lambda:GetLayerVersion",
)
# Resource type in the template -> the action with which CloudFormation creates such a resource.
_CREATION = {
    "AWS::Budgets::Budget": "budgets:ModifyBudget",
    "AWS::CloudWatch::Alarm": "cloudwatch:PutMetricAlarm",
    "AWS::DynamoDB::Table": "dynamodb:CreateTable",
    "AWS::Events::Rule": "events:PutRule",
    "AWS::IAM::Role": "iam:CreateRole",
    "AWS::KMS::Alias": "kms:CreateAlias",
    "AWS::KMS::Key": "kms:CreateKey",
    "AWS::Lambda::Function": "lambda:CreateFunction",
    "AWS::Lambda::Permission": "lambda:AddPermission",
    "AWS::Logs::LogGroup": "logs:CreateLogGroup",
    "AWS::S3::Bucket": "s3:CreateBucket",
    "AWS::SNS::Subscription": "sns:Subscribe",
    "AWS::SNS::Topic": "sns:CreateTopic",
    "AWS::SQS::Queue": "sqs:CreateQueue",
    "AWS::WAFv2::WebACL": "wafv2:CreateWebACL",
    "AWS::WAFv2::WebACLAssociation": "wafv2:AssociateWebACL",
}


def listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


ACTIONS = sorted({action for one in read_statements() for action in listed(one["Action"])})


def test_the_policy_fits_into_a_managed_policy() -> None:
    assert len(json.dumps(json.loads(POLICY.read_text()), separators=(",", ":"))) <= _MAX_CHARACTERS


def test_every_statement_is_limited_to_names_of_the_application_unless_its_reason_is_known() -> None:
    unlimited = {
        one["Sid"] for one in read_statements() if not all("cams-*" in resource for resource in listed(one["Resource"]))
    }
    assert unlimited == _WITHOUT_NAMES.keys()


def test_a_condition_limits_what_has_one() -> None:
    conditions = {one["Sid"]: one["Condition"] for one in read_statements() if "Condition" in one}
    assert conditions == {
        "EventSources": {"ArnLike": {"lambda:FunctionArn": "arn:aws:lambda:*:*:function:cams-*"}},
        "RolesOfFunctions": {"StringEquals": {"iam:PassedToService": "lambda.amazonaws.com"}},
    }


def test_the_policy_permits_to_create_each_kind_of_resource_of_the_template() -> None:
    kinds = {one["Type"] for one in template.build()["Resources"].values()}
    assert kinds == _CREATION.keys()
    for kind in kinds:
        assert any(fnmatchcase(_CREATION[kind], action) for action in ACTIONS), kind


def test_the_policy_permits_what_aws_limits_to_no_resource_of_the_stage() -> None:
    permitted = {action for one in read_statements() if one["Resource"] == "*" for action in one["Action"]}
    assert {*_ON_EVERYTHING} <= permitted


def test_the_policy_permits_the_commands_for_keys_that_operators_are_told_to_run() -> None:
    texts = (ROOT / "infra").rglob("*.py")
    commands = {one for path in texts for one in re.findall(r"aws kms ([a-z-]+)", path.read_text(encoding="utf-8"))}
    assert {"cancel-key-deletion", "enable-key"} <= commands
    assert {f"kms:{one.title().replace('-', '')}" for one in commands} <= {*ACTIONS}


def test_every_action_is_one_of_its_service() -> None:
    for service in ("cloudformation", "ec2", "iam", "kms", "lambda", "logs", "sns", "sqs", "sts", "wafv2"):
        known = set(Session().get_service_model(service).operation_names) | {"PassRole"}
        assert {action.partition(":")[2] for action in ACTIONS if action.startswith(f"{service}:")} - {"*"} <= known
