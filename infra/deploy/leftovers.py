"""A stage's leftovers: functions and roles that the stage no longer needs.

Leftovers come from an earlier version, or from an extension that is now disabled. They also come from a plain `chalice
deploy` that failed halfway: Chalice then has no record of the role and the first function that it created. Leftovers
are identified by Chalice's tags and policy names, and passed to Chalice for deletion.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from infra.deploy.function import APPLICATION, Function

Sdk = Callable[[str], Any]


def functions(sdk: Sdk, stage: str, name: str, needed: Collection[Function]) -> dict[str, str]:
    """Return the ARNs of the stage's functions that are not `needed`, keyed by deployed name."""
    awslambda = sdk("lambda")
    return {
        function["FunctionName"]: function["FunctionArn"]
        for function in _functions_of_others(awslambda, name, needed)
        if function["FunctionName"].startswith(f"{name}-") and _is_of_stage(awslambda, function["FunctionArn"], stage)
    }


def roles(sdk: Sdk, stage: str, name: str, needed: Collection[Function]) -> dict[str, str]:
    """Return the ARNs of the stage's roles that no needed function uses, keyed by role name.

    A role that another function uses does not belong to the stage, even if its name and its policy match.
    """
    iam, left = sdk("iam"), functions(sdk, stage, name, needed)
    own = {f"{name}-{function.name}" for function in needed}
    used = {one["Role"] for one in _functions_of_others(sdk("lambda"), name, needed) if one["FunctionName"] not in left}
    pages = iam.get_paginator("list_roles").paginate()
    return {
        role["RoleName"]: role["Arn"]
        for page in pages
        for role in page["Roles"]
        if (role["RoleName"] == name or role["RoleName"].startswith(f"{name}-"))
        and role["RoleName"] not in own
        and role["Arn"] not in used
        and _is_of_chalice(iam, role)
    }


def _functions_of_others(awslambda: Any, name: str, needed: Collection[Function]) -> list[dict[str, Any]]:
    """Return all functions in the account that are not `needed`."""
    own = {function.deployed_name(name) for function in needed}
    pages = awslambda.get_paginator("list_functions").paginate()
    return [one for page in pages for one in page["Functions"] if one["FunctionName"] not in own]


def _is_of_stage(awslambda: Any, arn: str, stage: str) -> bool:
    tag = awslambda.list_tags(Resource=arn)["Tags"].get("aws-chalice", "")
    return {f"stage={stage}", f"app={APPLICATION}"} <= set(tag.split(":"))


def _is_of_chalice(iam: Any, role: dict[str, Any]) -> bool:
    """Return whether only Lambda may assume the role, and its only policy is inline and has the role's name."""
    trusted = [statement.get("Principal") for statement in role["AssumeRolePolicyDocument"]["Statement"]]
    if trusted != [{"Service": "lambda.amazonaws.com"}]:
        return False
    inside = iam.list_role_policies(RoleName=role["RoleName"])["PolicyNames"]
    attached = iam.list_attached_role_policies(RoleName=role["RoleName"])["AttachedPolicies"]
    return inside == [role["RoleName"]] and not attached
