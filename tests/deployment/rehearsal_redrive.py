"""Step: the operator command replays a discarded stream batch, whose webhook arrives once."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.deployment import cloud
from tests.deployment.rehearsal import NAME, Failed, run, until
from tests.deployment.rehearsal_client import Gateway
from tests.deployment.rehearsal_queues import Receiver, waiting

_FUNCTION = f"{NAME}-fan_out_agents"
_AGENT = "redriven"


def check_redrive(here: cloud.Cloud, api: Gateway, receiver: Receiver) -> str:
    """Let a function fail until its batch becomes a dead letter. Then repair the function and replay the batch.

    Return the last line that the command printed.
    """
    with _without_permissions(here), _short_age(here):
        api.call("POST", f"/v2/agents/{_AGENT}", {"title": "Created during an outage"})
        until(
            lambda: waiting(here.sdk("sqs"), "deliveries-dead") > 0,
            lambda: "the batch did not become a dead letter",
        )
    variables = here.sdk("lambda").get_function_configuration(FunctionName=NAME)["Environment"]["Variables"]
    printed = run(here, "-m", "infra.cams", "redrive-streams", **variables)
    until(lambda: bool(_received(receiver)), lambda: f"no webhook arrived after:\n{printed}")
    run(here, "-m", "infra.cams", "redrive-streams", **variables)
    if waiting(here.sdk("sqs"), "deliveries-dead"):
        raise Failed(f"The dead-letter queue is not empty after:\n{printed}")
    if len(_received(receiver)) != 1:
        raise Failed(f"A replayed change was delivered {len(_received(receiver))} times.")
    return printed.splitlines()[-1]


def _received(receiver: Receiver) -> list[dict[str, Any]]:
    return [one for one in receiver.received if one["payload"].get("agentId") == _AGENT]


@contextmanager
def _without_permissions(here: cloud.Cloud) -> Iterator[None]:
    """Remove all permissions from the function inside the block."""
    iam = here.sdk("iam")
    (name,) = iam.list_role_policies(RoleName=_FUNCTION)["PolicyNames"]
    document = iam.get_role_policy(RoleName=_FUNCTION, PolicyName=name)["PolicyDocument"]
    iam.delete_role_policy(RoleName=_FUNCTION, PolicyName=name)
    yield
    iam.put_role_policy(RoleName=_FUNCTION, PolicyName=name, PolicyDocument=json.dumps(document))


@contextmanager
def _short_age(here: cloud.Cloud) -> Iterator[None]:
    """Make Lambda discard a batch after one second, which only the emulator accepts."""
    awslambda = here.sdk("lambda")
    (mapping,) = awslambda.list_event_source_mappings(FunctionName=_FUNCTION)["EventSourceMappings"]
    age = mapping["MaximumRecordAgeInSeconds"]
    awslambda.update_event_source_mapping(UUID=mapping["UUID"], MaximumRecordAgeInSeconds=1)
    yield
    awslambda.update_event_source_mapping(UUID=mapping["UUID"], MaximumRecordAgeInSeconds=age)
