"""The policy of each function, from the table in `functions`: actions by name on resources by name, no `*` for either.

The only asterisks are the ones that a name ends with where the cloud makes the rest of it up: the streams of a log
group, and those of a table for `ListStreams`, which names none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.deploy.functions import DEAD, Function

Outputs = Mapping[str, str]
"""What the stack of the template says about itself."""

_READS_STREAM = ("DescribeStream", "GetRecords", "GetShardIterator")
_READS_QUEUE = ("DeleteMessage", "GetQueueAttributes", "ReceiveMessage")
_SENDS = ("GetQueueUrl", "SendMessage")


def policy(function: Function, name: str, outputs: Outputs) -> dict[str, Any]:
    """What the role of a function may do; `name` is the deployment's, such as `cams-prod`."""
    tables = outputs["TablesArn"]
    partition, region, account = _place(tables)
    queues = f"arn:{partition}:sqs:{region}:{account}:{name}-"
    logs = f"arn:{partition}:logs:{region}:{account}:log-group:/aws/lambda/{function.physical(name)}:*"
    statements = [_allow("logs", ("CreateLogStream", "PutLogEvents"), logs)]
    statements += [_allow("dynamodb", actions.split(), tables + table) for table, actions in function.tables.items()]
    if "keyring" in function.tables:
        statements.append(_allow("kms", ("Decrypt",), outputs["EncryptionKeyArn"]))
    sends = set(function.sends)
    if function.stream:
        statements.append(_allow("dynamodb", _READS_STREAM, outputs[stream_output(function.stream)]))
        statements.append(_allow("dynamodb", ("ListStreams",), f"{tables}{function.stream}/stream/*"))
        sends.add(DEAD)  # the failure destination is told with the function's rights
    if function.queue:
        statements.append(_allow("sqs", _READS_QUEUE, queues + function.queue))
    statements += [_allow("sqs", _SENDS, queues + queue) for queue in sorted(sends)]
    return {"Version": "2012-10-17", "Statement": statements}


def stream_output(table: str) -> str:
    """The output of the stack that has the ARN of a table's stream."""
    return f"{table.title()}Stream"


def _allow(service: str, actions: Any, resource: str) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": [f"{service}:{action}" for action in actions], "Resource": resource}


def _place(arn: str) -> tuple[str, str, str]:
    """Partition, region and account of an ARN."""
    _, partition, _, region, account, _ = arn.split(":", 5)
    return partition, region, account
