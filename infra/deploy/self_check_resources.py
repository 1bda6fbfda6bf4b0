"""The resources of a stage's self-check (`self_check`): a function, its role, its log group and its schedule."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from infra.deploy import runtimes, self_check
from infra.deploy.function import Function
from infra.deploy.monitoring import NAME, Resources, log_group

_FUNCTION = f"{NAME}-check"
_RUNTIME = f"python{runtimes.DEFAULT}"
_ENCRYPTION_KEY = "EncryptionKey"


def build(functions: Iterable[Function], keys: Iterable[str]) -> Resources:
    """Return the resources that check these functions and the keys with these logical ids.

    The resources do not depend on the package, so the self-check also works without it.
    """
    arns = [_key_arn(logical_id) for logical_id in keys]
    target = {"Id": "check", "Arn": {"Fn::GetAtt": ["Check", "Arn"]}}
    schedule = {"ScheduleExpression": "rate(5 minutes)", "Targets": [target]}
    permission = {
        "Action": "lambda:InvokeFunction",
        "FunctionName": {"Ref": "Check"},
        "Principal": "events.amazonaws.com",
        "SourceArn": {"Fn::GetAtt": ["CheckSchedule", "Arn"]},
    }
    return {
        "CheckLog": log_group(_FUNCTION),
        "CheckRole": _serving("AWS::IAM::Role", _role(arns)),
        "Check": _serving("AWS::Lambda::Function", _function(functions, arns)) | {"DependsOn": "CheckLog"},
        "CheckSchedule": _serving("AWS::Events::Rule", schedule),
        "CheckPermission": _serving("AWS::Lambda::Permission", permission),
    }


def _function(functions: Iterable[Function], keys: list[dict[str, Any]]) -> dict[str, Any]:
    names = [function.deployed_name(NAME) for function in functions if function.stream or function.queue]
    variables = {
        "NAME": {"Ref": "Name"},
        "FUNCTIONS": {"Fn::Sub": " ".join(names)},
        "KEYS": {"Fn::Join": [" ", keys]},
    }
    return {
        "FunctionName": {"Fn::Sub": _FUNCTION},
        "Handler": "index.check",
        "Runtime": _RUNTIME,
        "Timeout": 60,
        "Role": {"Fn::GetAtt": ["CheckRole", "Arn"]},
        "Environment": {"Variables": variables},
        "Code": {"ZipFile": Path(self_check.__file__).read_text(encoding="utf-8")},
    }


def _role(keys: list[dict[str, Any]]) -> dict[str, Any]:
    log = "arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}:log-group:/aws/lambda/"
    statements = [
        # IAM cannot restrict this permission to the mappings of specific functions.
        {"Effect": "Allow", "Action": "lambda:ListEventSourceMappings", "Resource": "*"},
        {"Effect": "Allow", "Action": "kms:DescribeKey", "Resource": keys},
        {
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
            "Resource": {"Fn::Sub": f"{log}{_FUNCTION}:*"},
        },
    ]
    lambda_ = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    return {
        "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [lambda_]},
        "Policies": [{"PolicyName": "check", "PolicyDocument": {"Version": "2012-10-17", "Statement": statements}}],
    }


def _key_arn(logical_id: str) -> dict[str, Any]:
    own = {"Fn::GetAtt": [logical_id, "Arn"]}
    return {"Fn::If": ["OwnsKey", own, {"Ref": "KeyArn"}]} if logical_id == _ENCRYPTION_KEY else own


def _serving(kind: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {"Type": kind, "Condition": "IsServing", "Properties": properties}
