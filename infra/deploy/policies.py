"""The functions' IAM policies, generated from `functions`: named actions on named resources.

A resource ends with `*` only if AWS generates the rest of its name or a condition limits it: log streams, SES
identities, and table streams for `ListStreams`, which does not accept stream ARNs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.deploy.function import DEAD_LETTER_QUEUE, Function
from infra.deploy.sdk_errors import unless_missing

Outputs = Mapping[str, str]
"""The stack outputs, keyed by name."""

_STREAM_ACTIONS = ("DescribeStream", "GetRecords", "GetShardIterator")
_QUEUE_ACTIONS = ("DeleteMessage", "GetQueueAttributes", "ReceiveMessage")
_SEND_ACTIONS = ("GetQueueUrl", "SendMessage")


def policy(function: Function, name: str, outputs: Outputs, sender: str = "") -> dict[str, Any]:
    """Return the policy document for a function's role. `name` is the stack name, such as `cams-prod`.

    `sender` is the From address of emails. Without a sender, no function may send email.
    """
    tables = outputs["TablesArn"]
    partition, region, account = _parse_arn(tables)
    queues = f"arn:{partition}:sqs:{region}:{account}:{name}-"
    logs = f"arn:{partition}:logs:{region}:{account}:log-group:/aws/lambda/{function.deployed_name(name)}:*"
    statements = [_allow("logs", ("CreateLogStream", "PutLogEvents"), logs)]
    statements += [_allow("dynamodb", actions.split(), tables + table) for table, actions in function.tables.items()]
    if "keyring" in function.tables:
        statements.append(_allow("kms", ("Decrypt",), outputs["EncryptionKeyArn"]))
    statements += [_allow("kms", (action,), outputs[key]) for key, action in function.keys.items()]
    if function.sends_mail and sender:
        # In the SES sandbox, sending also requires permission for the recipients' identities.
        allowed = _allow("ses", ("SendRawEmail",), f"arn:{partition}:ses:{region}:{account}:identity/*")
        statements.append({**allowed, "Condition": {"StringEquals": {"ses:FromAddress": sender}}})
    if function.stream:
        statements.append(_allow("dynamodb", _STREAM_ACTIONS, outputs[stream_output(function.stream)]))
        statements.append(_allow("dynamodb", ("ListStreams",), f"{tables}{function.stream}/stream/*"))
        # Lambda uses the function's role to send to the on-failure destination.
        statements.append(_allow("sqs", ("SendMessage",), queues + DEAD_LETTER_QUEUE))
    if function.queue:
        statements.append(_allow("sqs", _QUEUE_ACTIONS, queues + function.queue))
    statements += [_allow("sqs", _SEND_ACTIONS, queues + queue) for queue in sorted(function.sends_to)]
    return {"Version": "2012-10-17", "Statement": statements}


def deployed_statements(iam: Any, role: str) -> list[dict[str, Any]]:
    """Return the statements of the policy that Chalice puts into a role, or an empty list if the role is missing."""
    response = unless_missing(iam.get_role_policy, RoleName=role, PolicyName=role)
    statements: list[dict[str, Any]] = response["PolicyDocument"]["Statement"] if response else []
    return statements


def stream_output(table: str) -> str:
    """Return the name of the stack output that contains a table's stream ARN."""
    return f"{table.title()}Stream"


def _allow(service: str, actions: Any, resource: str) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": [f"{service}:{action}" for action in actions], "Resource": resource}


def _parse_arn(arn: str) -> tuple[str, str, str]:
    """Return the partition, region and account of an ARN."""
    _, partition, _, region, account, _ = arn.split(":", 5)
    return partition, region, account
