"""The CloudFormation stack for `template`: create, update, reduce to its data, delete, and read outputs.

A stack is created without deletion protection on its tables, so that a failed creation rolls back completely. Protected
tables would survive the rollback and block the next attempt. A later update enables the protection. A complete stack
has termination protection against accidental deletion.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

import click
import yaml
from botocore.exceptions import ClientError, WaiterError

from chalicelib.extensions import present
from infra.deploy import sdk_errors, template

# CloudFormation itself times out first.
_TIMEOUT_SECONDS = 3600
_FIRST_POLL_SECONDS = 0.1
_LONGEST_POLL_SECONDS = 2.0
_DONE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")
_BEGINNINGS = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "IMPORT_IN_PROGRESS")
_UPDATABLE = (*_DONE, "UPDATE_ROLLBACK_COMPLETE")
# The parameters that keep their values in later stack operations, unless an operation sets them.
_EXTENSIONS = "Extensions"
_KEPT = (
    "KeyArn",
    "StoredLayout",
    "StoredLayoutVersion",
    "AlarmsEmail",
    "MonthlyBudget",
    "OperatorSettings",
    _EXTENSIONS,
)
_USED_BY_FUNCTIONS = ("AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::KMS::Key", "AWS::KMS::Alias")
# An empty parameter would have no output.
_NO_EXTENSION = "none"
IDENTIFIERS = {
    "AWS::DynamoDB::Table": "TableName",
    "AWS::KMS::Key": "KeyId",
    "AWS::KMS::Alias": "AliasName",
}
"""The property that identifies a resource in an import, keyed by resource type."""
# The stage's self-check has a role. CloudFormation requires this capability for the previous template, too.
_CAPABILITIES = ["CAPABILITY_IAM"]
NEVER_CREATED = ("ROLLBACK_COMPLETE", "REVIEW_IN_PROGRESS")
"""The statuses of a stack without resources."""


def status(cloudformation: Any, name: str) -> str | None:
    """Return the status of the stack, or None if it does not exist."""
    description = _describe(cloudformation, name)
    return str(description["StackStatus"]) if description else None


def blocking_reason(state: str | None, name: str) -> str | None:
    """Return a sentence if a deployment cannot start from this stack status, otherwise None."""
    if state is None or state in _UPDATABLE or state in NEVER_CREATED:
        return None
    if state.endswith("_IN_PROGRESS"):
        return _conflict(name)
    if state == "UPDATE_ROLLBACK_FAILED":
        return (
            f"The rollback of the stack {name} failed ({state}): run "
            f"`aws cloudformation continue-update-rollback --stack-name {name}`."
        )
    return f"The stack {name} cannot be updated ({state}): check its events, delete the stack, then try again."


def create(cloudformation: Any, name: str, stage: str, parameters: Mapping[str, str]) -> None:
    """Create the stack with the defaults for all other parameters. Raise ClickException on failure.

    If two processes create it at the same time, CloudFormation rejects the second request.
    """
    if status(cloudformation, name) in NEVER_CREATED:
        # After a failed creation has been rolled back, the stack is empty and can only be deleted.
        delete(cloudformation, name)
    with _reported_conflicts(name):
        cloudformation.create_stack(**_request(name, stage, parameters, protected=False))
    _wait(cloudformation, name)


def apply(
    cloudformation: Any,
    name: str,
    stage: str,
    parameters: Mapping[str, str],
    unused: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """Update the stack to the template; return its outputs. Raise ClickException on failure.

    The stack keeps its parameter `ApiId` and the parameters in `_KEPT`, unless `parameters` contains them. It also
    keeps the `unused` resources.
    """
    parameters = {**parameters_of(cloudformation, name, ("ApiId", *_KEPT)), **parameters}
    _update(cloudformation, **_request(name, stage, parameters, unused=unused))
    cloudformation.update_termination_protection(StackName=name, EnableTerminationProtection=True)
    return outputs(cloudformation, name)


def removed_resources(cloudformation: Any, name: str, extensions: Collection[str]) -> dict[str, Any]:
    """Return the deployed tables, queues and keys that the stack would not have with these extensions.

    The deployed functions still use these resources. The result maps logical ids to declarations, and is empty if there
    is no stack.
    """
    if status(cloudformation, name) in (None, *NEVER_CREATED):
        return {}
    body = cloudformation.get_template(StackName=name, TemplateStage="Original")["TemplateBody"]
    # The SDK parses a template in JSON, but version 1.0 stored YAML.
    deployed = (yaml.safe_load(body) if isinstance(body, str) else body)["Resources"]
    kept = template.build(extensions)["Resources"]
    return {
        logical_id: resource
        for logical_id, resource in deployed.items()
        if resource["Type"] in _USED_BY_FUNCTIONS and logical_id not in kept
    }


def disassociate_api(cloudformation: Any, name: str) -> None:
    """Remove the web ACL's association with the API, if there is one. Everything else stays unchanged.

    AWS WAF deletes a web ACL only after its associations. It does not document how to delete an association whose API
    no longer exists, so this runs before the API is deleted.
    """
    parameters = {
        parameter["ParameterKey"]: parameter
        for parameter in (_describe(cloudformation, name) or {}).get("Parameters", ())
    }
    if not parameters.get("ApiId", {}).get("ParameterValue"):
        return
    kept = [{"ParameterKey": key, "UsePreviousValue": True} for key in parameters if key != "ApiId"]
    without_api = [*kept, {"ParameterKey": "ApiId", "ParameterValue": ""}]
    request = {"StackName": name, "UsePreviousTemplate": True, "Capabilities": _CAPABILITIES}
    _update(cloudformation, **request, Parameters=without_api)


def retain_data_only(cloudformation: Any, name: str, stage: str, *, protected: bool = True) -> None:
    """Delete every resource except the tables and key, which stay in the stack for a later deployment."""
    kept = parameters_of(cloudformation, name, _KEPT)
    _update(cloudformation, **_request(name, stage, kept, serving=False, protected=protected))
    cloudformation.update_termination_protection(StackName=name, EnableTerminationProtection=protected)


def import_resources(
    cloudformation: Any, name: str, stage: str, parameters: Mapping[str, str], existing: Mapping[str, str]
) -> None:
    """Create the stack around existing resources. Raise ClickException on failure.

    `existing` maps logical ids to resource identifiers. In an import, the template may contain only the imported
    resources, each with a deletion policy, and no outputs. A later update adds the rest. The policy is always Retain,
    because RetainExceptOnCreate would delete the data if the import were rolled back.
    """
    if status(cloudformation, name) in NEVER_CREATED:
        delete(cloudformation, name)
    whole = template.build(_parse_extensions(parameters.get(_EXTENSIONS, "")))
    kept = {logical_id: {**whole["Resources"][logical_id], "DeletionPolicy": "Retain"} for logical_id in existing}
    parts = {part: whole[part] for part in ("AWSTemplateFormatVersion", "Parameters", "Conditions")}
    resources = [
        {
            "ResourceType": one["Type"],
            "LogicalResourceId": logical_id,
            "ResourceIdentifier": {IDENTIFIERS[one["Type"]]: existing[logical_id]},
        }
        for logical_id, one in kept.items()
    ]
    change = {"StackName": name, "ChangeSetName": "import"}
    request = {
        **_request(name, stage, parameters, serving=False),
        **change,
        "TemplateBody": template.body({**parts, "Resources": kept}),
    }
    cloudformation.create_change_set(**request, ChangeSetType="IMPORT", ResourcesToImport=resources)
    try:
        cloudformation.get_waiter("change_set_create_complete").wait(**change, WaiterConfig={"Delay": 2})
    except WaiterError as error:
        reason = cloudformation.describe_change_set(**change).get("StatusReason", error)
        raise click.ClickException(f"CloudFormation rejects the import into {name}: {reason}") from error
    cloudformation.execute_change_set(**change)
    _wait(cloudformation, name)


def delete(cloudformation: Any, name: str) -> None:
    """Delete the stack. The template's deletion policies retain the tables and the key."""
    cloudformation.delete_stack(StackName=name)
    _wait(cloudformation, name)


def outputs(cloudformation: Any, name: str) -> dict[str, str]:
    """Return the stack outputs by name, or an empty mapping if the stack does not exist."""
    description = _describe(cloudformation, name) or {}
    return {output["OutputKey"]: output["OutputValue"] for output in description.get("Outputs", ())}


def parameters_of(cloudformation: Any, name: str, names: Collection[str]) -> dict[str, str]:
    """Return the values of these parameters, omitting parameters that the stack lacks."""
    parameters = (_describe(cloudformation, name) or {}).get("Parameters", ())
    return {
        parameter["ParameterKey"]: parameter["ParameterValue"]
        for parameter in parameters
        if parameter["ParameterKey"] in names
    }


def extensions(cloudformation: Any, name: str) -> tuple[str, ...]:
    """Return the extensions that the stack has resources for, or all if an earlier version created the stack."""
    recorded = parameters_of(cloudformation, name, (_EXTENSIONS,)).get(_EXTENSIONS, "")
    return _parse_extensions(recorded)


def extensions_parameter(names: Iterable[str]) -> dict[str, str]:
    """Return the parameter that adds the resources of these extensions to a stack."""
    return {_EXTENSIONS: ",".join(sorted(names)) or _NO_EXTENSION}


def _parse_extensions(parameter: str) -> tuple[str, ...]:
    return tuple(name for name in parameter.split(",") if name != _NO_EXTENSION) if parameter else present()


def list_users(cloudformation: Any, key_arn: str) -> list[str]:
    """Return the stacks that use another stack's key, because the other stack's tables were restored into them."""
    pages = cloudformation.get_paginator("describe_stacks").paginate()
    return [
        stack["StackName"]
        for page in pages
        for stack in page["Stacks"]
        if {"ParameterKey": "KeyArn", "ParameterValue": key_arn} in stack.get("Parameters", ())
        and stack["StackStatus"] != "DELETE_COMPLETE"
    ]


def _request(
    name: str,
    stage: str,
    parameters: Mapping[str, str],
    *,
    serving: bool = True,
    protected: bool = True,
    unused: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    values = {"Name": name, "Stage": stage, "Serving": str(serving).lower(), "Protected": str(protected).lower()}
    values.update(parameters)
    values.setdefault(_EXTENSIONS, ",".join(present()))
    whole = template.build(_parse_extensions(values[_EXTENSIONS]))
    whole["Resources"] = {**(unused or {}), **whole["Resources"]}
    if values.get("MonthlyBudget", "0") == "0":
        # CloudFormation rejects a resource type that the region does not support, even if the resource's condition is
        # false.
        del whole["Resources"]["Budget"]
    return {
        "StackName": name,
        "TemplateBody": template.body(whole),
        "Capabilities": _CAPABILITIES,
        "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in values.items()],
    }


def _update(cloudformation: Any, **request: Any) -> None:
    try:
        with _reported_conflicts(request["StackName"]):
            cloudformation.update_stack(**request)
    except ClientError as error:
        if "No updates are to be performed" in str(error):
            return
        raise
    _wait(cloudformation, request["StackName"])


def _conflict(name: str) -> str:
    return f"Another operation on the stack {name} is running: wait until it has finished, then repeat."


@contextmanager
def _reported_conflicts(name: str) -> Iterator[None]:
    """Report in one sentence that another process has started an operation since the checks."""
    try:
        yield
    except ClientError as error:
        code = sdk_errors.code(error)
        if code == "AlreadyExistsException" or (code == "ValidationError" and "_IN_PROGRESS state" in str(error)):
            raise click.ClickException(_conflict(name)) from error
        raise


def _wait(cloudformation: Any, name: str) -> None:
    """Poll with backoff until the operation has finished. Raise ClickException with the first failed resource."""
    deadline, pause = time.monotonic() + _TIMEOUT_SECONDS, _FIRST_POLL_SECONDS
    while (state := status(cloudformation, name)) is not None and state.endswith("_IN_PROGRESS"):
        if time.monotonic() > deadline:
            raise click.ClickException(f"The stack {name} has not finished after an hour ({state}).")
        time.sleep(pause)
        pause = min(_LONGEST_POLL_SECONDS, pause * 2)
    if state is None or state in _DONE:
        return
    raise click.ClickException(f"The stack {name} ended with {state}: {_first_failure(cloudformation, name)}")


def _first_failure(cloudformation: Any, name: str) -> str:
    """Return the first failed resource of the last operation, with the reason."""
    # The newest events are first. A rollback has more events than a page.
    pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName=name)
    events = (event for page in pages for event in page["StackEvents"])
    own = takewhile(lambda event: not _begins(event, name), events)
    failures = [
        event for event in own if event["ResourceStatus"].endswith("_FAILED") and event.get("ResourceStatusReason")
    ]
    if not failures:
        return "see the stack's events."
    return f"{failures[-1]['LogicalResourceId']}: {failures[-1]['ResourceStatusReason']}"


def _begins(event: dict[str, Any], name: str) -> bool:
    return event["LogicalResourceId"] == name and event["ResourceStatus"] in _BEGINNINGS


def _describe(cloudformation: Any, name: str) -> dict[str, Any] | None:
    try:
        description: dict[str, Any] = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    return None if description["StackStatus"] == "DELETE_COMPLETE" else description
