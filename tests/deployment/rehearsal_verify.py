"""Step: `make verify` fails and names the problem if a permission, a mapping or a redrive policy is missing."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.deployment import cloud
from tests.deployment.rehearsal import NAME, STAGE, Failed, replace_text

Break = Callable[[cloud.Cloud], Any]


def check_failures(here: cloud.Cloud) -> None:
    """Break a permission, a mapping and a queue of the running stage, verify, and repair them. May raise Failed."""
    expected = (
        f"The role {NAME}-maintain lacks the permission dynamodb:",
        f"to {NAME}-fan_out_leads is Disabled",
        f"The queue {NAME}-maintenance does not move messages to {NAME}-maintenance-dead",
    )
    with (
        without_permission(here, "maintain", 1),
        disabled_mapping(here, "fan_out_leads"),
        without_redrive_policy(here, "maintenance"),
    ):
        done = verify(here, *_ONLY)
    if done.returncode != 1 or any(sentence not in done.stderr for sentence in expected):
        raise Failed(f"`verify` exited with {done.returncode} and does not name {expected}:\n{done.stderr}")
    done = verify(here, *_ONLY)
    if done.returncode:
        raise Failed(f"`verify` fails after the repair:\n{done.stdout}{done.stderr}")


_ONLY = ("--only", "permissions", "--only", "mappings", "--only", "queues")


def verify(here: cloud.Cloud, *options: str) -> Any:
    """Run `make verify`; return the completed process, regardless of the exit code."""
    return here.run("-m", "infra.deploy", "verify", "--stage", STAGE, *options)


@contextmanager
def without_permission(here: cloud.Cloud, function: str, number: int) -> Iterator[None]:
    """Remove a statement from a function's role policy inside the block."""
    iam, role = here.sdk("iam"), f"{NAME}-{function}"
    (policy,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
    document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
    rest = [one for place, one in enumerate(document["Statement"]) if place != number]
    _put(iam, role, policy, {**document, "Statement": rest})
    yield
    _put(iam, role, policy, document)


def _put(iam: Any, role: str, policy: str, document: dict[str, Any]) -> None:
    iam.put_role_policy(RoleName=role, PolicyName=policy, PolicyDocument=json.dumps(document))


@contextmanager
def disabled_mapping(here: cloud.Cloud, function: str) -> Iterator[None]:
    """Disable a function's event source mapping inside the block."""
    awslambda = here.sdk("lambda")
    (mapping,) = awslambda.list_event_source_mappings(FunctionName=f"{NAME}-{function}")["EventSourceMappings"]
    awslambda.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    yield
    awslambda.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)


@contextmanager
def without_redrive_policy(here: cloud.Cloud, queue: str) -> Iterator[None]:
    """Remove a queue's redrive policy inside the block."""
    sqs = here.sdk("sqs")
    url = sqs.get_queue_url(QueueName=f"{NAME}-{queue}")["QueueUrl"]
    policy = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])["Attributes"]["RedrivePolicy"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": ""})
    yield
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": policy})


# ---- parts that `--break` breaks before the first deployment, whose verification then fails
# -----------------------------


def break_policy(project: Path) -> None:
    """Declare a permission for the wrong table, so that functions fail without the right permission."""
    replace_text(project / "infra/deploy/functions.py", '"webhooks": "Query", "events"', '"webhook": "Query", "events"')


def break_stream(project: Path) -> None:
    """Remove a stream's output from the stack."""
    stream = "  LeadsStream:\n    Value:\n      Fn::GetAtt: [LeadsTable, StreamArn]\n"
    replace_text(project / "infra/template.yaml", stream, "")


BREAKS: dict[str, Callable[[Path], None]] = {"policy": break_policy, "stream": break_stream}
"""Value of `--break` -> a function that breaks a project."""
