"""The stack of `infra/template.yaml`: made, changed, shrunk to its data, and what it says about itself.

It is made without deletion protection, which it gets in a second step: a first attempt that fails is rolled back and
leaves nothing, where protected tables would stay and stand in the way of the next attempt.
"""

from __future__ import annotations

import time
from typing import Any

import click
from botocore.exceptions import ClientError

from infra.tables import TEMPLATE

# How long a stack may take; CloudFormation itself gives up before.
_MOST_SECONDS = 3600
_PAUSE = 2.0
_READY = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE")
_NEVER_FINISHED = ("ROLLBACK_COMPLETE", "REVIEW_IN_PROGRESS")


def status(cloud: Any, name: str) -> str | None:
    """The status of the stack, None when there is none."""
    found = _described(cloud, name)
    return str(found["StackStatus"]) if found else None


def why_not(state: str | None, name: str) -> str | None:
    """One sentence when nothing can be done with a stack that is in this state."""
    if state is None or state in _READY or state in _NEVER_FINISHED:
        return None
    if state.endswith("_IN_PROGRESS"):
        return f"Somebody is at the stack {name} ({state}): wait until it is done, and repeat."
    if state == "UPDATE_ROLLBACK_FAILED":
        return (
            f"The stack {name} is stuck ({state}): `aws cloudformation continue-update-rollback --stack-name {name}`."
        )
    return f"The stack {name} is half there ({state}): look at its events, delete it, and repeat."


def apply(cloud: Any, name: str, stage: str) -> dict[str, str]:
    """Make the stack be what the template says; returns its outputs."""
    if status(cloud, name) in _NEVER_FINISHED:
        # A first attempt failed and was rolled back: there is nothing in it, and it cannot be changed.
        delete(cloud, name)
    if status(cloud, name) is None:
        cloud.create_stack(**_request(name, stage, protected=False))
        _wait(cloud, name)
    _update(cloud, **_request(name, stage))
    return outputs(cloud, name)


def shrink(cloud: Any, name: str, stage: str, *, protected: bool = True) -> None:
    """Delete what serves; tables and key stay in the stack, and a later deployment finds them there."""
    _update(cloud, **_request(name, stage, serving=False, protected=protected))


def delete(cloud: Any, name: str) -> None:
    """Delete the stack. Tables and key outlive it."""
    cloud.delete_stack(StackName=name)
    _wait(cloud, name)


def outputs(cloud: Any, name: str) -> dict[str, str]:
    """The outputs of the stack, none when it is not there."""
    found = _described(cloud, name) or {}
    return {one["OutputKey"]: one["OutputValue"] for one in found.get("Outputs", ())}


def _request(name: str, stage: str, *, serving: bool = True, protected: bool = True) -> dict[str, Any]:
    values = {"Name": name, "Stage": stage, "Serving": str(serving).lower(), "Protected": str(protected).lower()}
    return {
        "StackName": name,
        "TemplateBody": TEMPLATE.read_text(encoding="utf-8"),
        "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in values.items()],
    }


def _update(cloud: Any, **request: Any) -> None:
    try:
        cloud.update_stack(**request)
    except ClientError as error:
        if "No updates are to be performed" in str(error):
            return
        raise
    _wait(cloud, request["StackName"])


def _wait(cloud: Any, name: str) -> None:
    """Until the stack rests; a failure is told with the resource that caused it."""
    deadline, pause = time.monotonic() + _MOST_SECONDS, 0.1
    while (state := status(cloud, name)) is not None and state.endswith("_IN_PROGRESS"):
        if time.monotonic() > deadline:
            raise click.ClickException(f"The stack {name} has not finished after an hour ({state}).")
        time.sleep(pause)
        pause = min(_PAUSE, pause * 2)
    if state in (None, "CREATE_COMPLETE", "UPDATE_COMPLETE"):
        return
    raise click.ClickException(f"The stack {name} ended with {state}: {_first_failure(cloud, name)}")


def _first_failure(cloud: Any, name: str) -> str:
    events = cloud.describe_stack_events(StackName=name)["StackEvents"]
    failed = [one for one in events if one["ResourceStatus"].endswith("_FAILED") and one.get("ResourceStatusReason")]
    if not failed:
        return "see its events."
    return f"{failed[-1]['LogicalResourceId']}: {failed[-1]['ResourceStatusReason']}"


def _described(cloud: Any, name: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = cloud.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    return None if found["StackStatus"] == "DELETE_COMPLETE" else found
