"""What earlier runs left behind: functions and roles of the stage that the application no longer has.

A plain `chalice deploy` of an unknown stage used to fail halfway. Chalice then records nothing of what it created: a
role for all functions, such as `cams-prod`, and the first function. A deployment adopts a function that it still has;
the others are found here, by the marks that Chalice sets, so that it deletes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infra.deploy.functions import APPLICATION, FUNCTIONS

Sdk = Callable[[str], Any]


def functions(sdk: Sdk, stage: str, name: str) -> dict[str, str]:
    """The ARN of each function of the stage by its deployed name, without those that the application has."""
    awslambda = sdk("lambda")
    own = {function.deployed_name(name) for function in FUNCTIONS}
    pages = awslambda.get_paginator("list_functions").paginate()
    found = {one["FunctionName"]: one["FunctionArn"] for page in pages for one in page["Functions"]}
    return {
        function: arn
        for function, arn in found.items()
        if function.startswith(f"{name}-") and function not in own and _is_of_stage(awslambda, arn, stage)
    }


def roles(sdk: Sdk, name: str) -> dict[str, str]:
    """The ARN of each role of the stage by its name, without those of the application's functions."""
    iam = sdk("iam")
    own = {f"{name}-{function.name}" for function in FUNCTIONS}
    pages = iam.get_paginator("list_roles").paginate()
    found = {one["RoleName"]: one["Arn"] for page in pages for one in page["Roles"]}
    return {
        role: arn
        for role, arn in found.items()
        if (role == name or role.startswith(f"{name}-")) and role not in own and _is_of_chalice(iam, role)
    }


def _is_of_stage(awslambda: Any, arn: str, stage: str) -> bool:
    tag = awslambda.list_tags(Resource=arn)["Tags"].get("aws-chalice", "")
    return {f"stage={stage}", f"app={APPLICATION}"} <= set(tag.split(":"))


def _is_of_chalice(iam: Any, role: str) -> bool:
    """Whether the role has exactly what Chalice gives a role: one policy inside it, with the role's name."""
    inside = iam.list_role_policies(RoleName=role)["PolicyNames"]
    return inside == [role] and not iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
