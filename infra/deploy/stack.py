"""The CloudFormation stack of `infra/template.yaml`: create, update, reduce to its data, delete, read its outputs.

A stack is created without deletion protection; an update then enables it. So a failed creation rolls back completely.
Protected tables would survive the rollback and block the next attempt.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import click
from botocore.exceptions import ClientError

from infra.tables import TEMPLATE

# CloudFormation itself gives up earlier.
_TIMEOUT_SECONDS = 3600
_FIRST_POLL_SECONDS = 0.1
_LONGEST_POLL_SECONDS = 2.0
_UPDATABLE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE")
_NEVER_CREATED = ("ROLLBACK_COMPLETE", "REVIEW_IN_PROGRESS")


def status(cloudformation: Any, name: str) -> str | None:
    """The status of the stack, None if it does not exist."""
    description = _describe(cloudformation, name)
    return str(description["StackStatus"]) if description else None


def blocking_reason(state: str | None, name: str) -> str | None:
    """One sentence if a deployment cannot start from this stack status, otherwise None."""
    if state is None or state in _UPDATABLE or state in _NEVER_CREATED:
        return None
    if state.endswith("_IN_PROGRESS"):
        return f"Another operation on the stack {name} is running ({state}): wait until it has finished, then repeat."
    if state == "UPDATE_ROLLBACK_FAILED":
        return (
            f"The rollback of the stack {name} failed ({state}): run "
            f"`aws cloudformation continue-update-rollback --stack-name {name}`."
        )
    return f"The stack {name} cannot be updated ({state}): look at its events, delete the stack, then repeat."


def apply(cloudformation: Any, name: str, stage: str, parameters: Mapping[str, str]) -> dict[str, str]:
    """Create the stack or update it to the template; returns its outputs. Raises ClickException on failure.

    `parameters` are those that the stage sets. Without `ApiId`, the stack keeps the one that it has.
    """
    if status(cloudformation, name) in _NEVER_CREATED:
        # A failed creation has been rolled back: the stack is empty and can only be deleted.
        delete(cloudformation, name)
    if status(cloudformation, name) is None:
        cloudformation.create_stack(**_request(name, stage, parameters, protected=False))
        _wait(cloudformation, name)
    parameters = {**_api_of(cloudformation, name), **parameters}
    _update(cloudformation, **_request(name, stage, parameters))
    return outputs(cloudformation, name)


def retain_data_only(cloudformation: Any, name: str, stage: str, *, protected: bool = True) -> None:
    """Delete every resource except tables and key. They stay in the stack for a later deployment."""
    _update(cloudformation, **_request(name, stage, {}, serving=False, protected=protected))


def delete(cloudformation: Any, name: str) -> None:
    """Delete the stack. The deletion policy of the template retains tables and key."""
    cloudformation.delete_stack(StackName=name)
    _wait(cloudformation, name)


def outputs(cloudformation: Any, name: str) -> dict[str, str]:
    """The outputs of the stack by name; empty if the stack does not exist."""
    description = _describe(cloudformation, name) or {}
    return {one["OutputKey"]: one["OutputValue"] for one in description.get("Outputs", ())}


def _api_of(cloudformation: Any, name: str) -> dict[str, str]:
    """The parameter `ApiId` of the stack, if it has one."""
    parameters = (_describe(cloudformation, name) or {}).get("Parameters", ())
    return {one["ParameterKey"]: one["ParameterValue"] for one in parameters if one["ParameterKey"] == "ApiId"}


def _request(
    name: str, stage: str, parameters: Mapping[str, str], *, serving: bool = True, protected: bool = True
) -> dict[str, Any]:
    values = {"Name": name, "Stage": stage, "Serving": str(serving).lower(), "Protected": str(protected).lower()}
    values.update(parameters)
    return {
        "StackName": name,
        "TemplateBody": TEMPLATE.read_text(encoding="utf-8"),
        "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in values.items()],
    }


def _update(cloudformation: Any, **request: Any) -> None:
    try:
        cloudformation.update_stack(**request)
    except ClientError as error:
        if "No updates are to be performed" in str(error):
            return
        raise
    _wait(cloudformation, request["StackName"])


def _wait(cloudformation: Any, name: str) -> None:
    """Poll with backoff until the operation has finished. Raises ClickException with the first failed resource."""
    deadline, pause = time.monotonic() + _TIMEOUT_SECONDS, _FIRST_POLL_SECONDS
    while (state := status(cloudformation, name)) is not None and state.endswith("_IN_PROGRESS"):
        if time.monotonic() > deadline:
            raise click.ClickException(f"The stack {name} has not finished after an hour ({state}).")
        time.sleep(pause)
        pause = min(_LONGEST_POLL_SECONDS, pause * 2)
    if state in (None, "CREATE_COMPLETE", "UPDATE_COMPLETE"):
        return
    raise click.ClickException(f"The stack {name} ended with {state}: {_first_failure(cloudformation, name)}")


def _first_failure(cloudformation: Any, name: str) -> str:
    events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
    failures = [one for one in events if one["ResourceStatus"].endswith("_FAILED") and one.get("ResourceStatusReason")]
    if not failures:
        return "see the events of the stack."
    return f"{failures[-1]['LogicalResourceId']}: {failures[-1]['ResourceStatusReason']}"


def _describe(cloudformation: Any, name: str) -> dict[str, Any] | None:
    try:
        description: dict[str, Any] = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    return None if description["StackStatus"] == "DELETE_COMPLETE" else description
