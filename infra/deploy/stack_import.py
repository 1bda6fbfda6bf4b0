"""Import a deleted stack's remaining tables and keys into a new stack with the same name.

When CloudFormation deletes a stack, it retains tables and keys, but deletes the key aliases. Chalice manages the
functions, roles and API, so they remain. Keys are found in the role policies or, if there are no roles, by alias or by
the tags that CloudFormation added.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from infra.deploy import layouts, stack, template
from infra.deploy.checks import NotReady
from infra.deploy.function import API
from infra.deploy.functions import declared_functions
from infra.deploy.policies import deployed_statements
from infra.deploy.sdk_errors import ignore, unless_missing
from infra.tables import list_names, resolve, table_name

Sdk = Callable[[str], Any]

ENCRYPTION = "EncryptionKey"


def tables(dynamodb: Any, name: str, extensions: Collection[str] | None = None) -> dict[str, str]:
    """Return the names of the stage's tables, keyed by logical id. Raise NotReady if a table is missing.

    `name` is the stack name. A deployment would recreate a missing table without its records.
    """
    declared = {
        logical_id: table_name(one["Properties"], f"{name}-")
        for logical_id, one in template.build(extensions)["Resources"].items()
        if one["Type"] == "AWS::DynamoDB::Table"
    }
    missing = sorted({*declared.values()} - list_names(dynamodb))
    if len(missing) == len(declared):
        raise NotReady(f"{name} has no tables in this account and region.")
    if missing:
        raise NotReady(
            f"These tables of {name} are missing: {', '.join(missing)}. Restore them from their last backups, or use "
            "the version that was deployed if it has no such tables; then repeat."
        )
    return declared


def keys(sdk: Sdk, name: str, extensions: Collection[str] | None = None) -> dict[str, str]:
    """Return the ARNs of the remaining keys, keyed by logical id. Raise NotReady if the data cannot be decrypted."""
    used, arns = _keys_in_use(sdk("iam"), name), dict[str, str]()
    for logical_id, (_, alias) in _aliases(name, extensions).items():
        candidates = [used.get(logical_id) or alias, *_tagged_keys(sdk("kms"), name, logical_id)]
        described = [
            key_description for key_description in (_describe(sdk("kms"), key) for key in candidates) if key_description
        ]
        enabled = [key_description["Arn"] for key_description in described if key_description["KeyState"] == "Enabled"]
        if enabled:
            arns[logical_id] = str(enabled[0])
        elif described:
            key, state = described[0]["KeyId"], described[0]["KeyState"]
            raise NotReady(
                f"The key {key} of {name} is {state}: run `aws kms cancel-key-deletion --key-id {key}` if its deletion "
                f"is scheduled, then `aws kms enable-key --key-id {key}`, and repeat."
            )
    if ENCRYPTION not in arns:
        raise NotReady(f"{name} has no keys left in this account and region: its records cannot be decrypted.")
    return arns


def import_stack(sdk: Sdk, name: str, stage_name: str, arns: Mapping[str, str], extensions: Collection[str]) -> None:
    """Create the stack around the tables and these keys."""
    cloudformation, kms = sdk("cloudformation"), sdk("kms")
    parameters = {**_layout(sdk("lambda"), name), **stack.extensions_parameter(extensions)}
    existing, aliases = tables(sdk("dynamodb"), name, extensions), _aliases(name, extensions)
    for logical_id, arn in arns.items():
        key = arn.rpartition("/")[2]
        if _is_owned(cloudformation, key):
            if logical_id == ENCRYPTION:  # the stage was restored with another stage's key, which still exists
                parameters["KeyArn"] = arn
            continue
        existing[logical_id] = key
        resource, alias = aliases[logical_id]
        if _describe(kms, alias):
            existing[resource] = alias
    stack.import_resources(cloudformation, name, stage_name, parameters, existing)


def _aliases(name: str, extensions: Collection[str] | None) -> dict[str, tuple[str, str]]:
    """Return each key alias's logical id and name, keyed by the key's logical id."""
    resources = template.build(extensions)["Resources"]
    return {
        one["Properties"]["TargetKeyId"]["Ref"]: (
            logical_id,
            resolve(one["Properties"]["AliasName"], name),
        )
        for logical_id, one in resources.items()
        if one["Type"] == "AWS::KMS::Alias"
    }


def _keys_in_use(iam: Any, name: str) -> dict[str, str]:
    """Return the keys in the roles' policies by logical id, or an empty mapping if there are no roles."""
    used = dict[str, str]()
    for function in (function for function in declared_functions() if function.keys or function.name == API):
        permissions = {f"kms:{action}": output.removesuffix("Arn") for output, action in function.keys.items()}
        permissions["kms:Decrypt"] = ENCRYPTION
        statements = deployed_statements(iam, f"{name}-{function.name}")
        by_action = {action: str(statement["Resource"]) for statement in statements for action in statement["Action"]}
        used |= {key: by_action[action] for action, key in permissions.items() if action in by_action}
    return used


def _tagged_keys(kms: Any, name: str, logical_id: str) -> Iterator[str]:
    tags_of_stack = {("aws:cloudformation:stack-name", name), ("aws:cloudformation:logical-id", logical_id)}
    for page in kms.get_paginator("list_keys").paginate():
        for key in page["Keys"]:
            with ignore("AccessDeniedException"):  # keys that have other owners, such as AWS managed keys
                tags = kms.list_resource_tags(KeyId=key["KeyId"])["Tags"]
                if tags_of_stack <= {(tag["TagKey"], tag["TagValue"]) for tag in tags}:
                    yield key["KeyId"]


def _describe(kms: Any, key: str) -> dict[str, Any] | None:
    response = unless_missing(kms.describe_key, KeyId=key)
    return response["KeyMetadata"] if response else None


def _is_owned(cloudformation: Any, key: str) -> bool:
    """Return whether the key belongs to an existing stack.

    CloudFormation lists a deleted stack's resources for 90 days, including retained keys. Each stack is therefore
    looked up by its id, because a new stack may have the same name.
    """
    resources = []
    with ignore("ValidationError"):  # the key belongs to no stack
        resources = cloudformation.describe_stack_resources(PhysicalResourceId=key)["StackResources"]
    owners = {
        resource["StackId"]
        for resource in resources
        if resource["ResourceStatus"] not in ("DELETE_COMPLETE", "DELETE_SKIPPED")
    }
    return any(stack.status(cloudformation, owner) for owner in owners)


def _layout(awslambda: Any, name: str) -> dict[str, str]:
    """Return the stack parameters for the layout that the functions write, or none if there are no functions."""
    configuration = unless_missing(awslambda.get_function_configuration, FunctionName=name)
    return layouts.recorded(int(configuration["Environment"]["Variables"][layouts.VARIABLE])) if configuration else {}
