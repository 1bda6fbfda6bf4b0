"""The streams as they are now. A stack goes on telling the ARN that a stream had when the table was last changed by it.

A table whose stream was switched off and on, or that was restored under its name, has another one.
"""

from __future__ import annotations

from typing import Any

import click

from infra.deploy.functions import FUNCTIONS
from infra.deploy.policies import Outputs, stream_output


def living(dynamodb: Any, name: str, outputs: Outputs) -> dict[str, str]:
    """The outputs with the stream that each watched table has now. Refuses a table without one."""
    found = dict(outputs)
    for table in (function.stream for function in FUNCTIONS if function.stream):
        described = dynamodb.describe_table(TableName=f"{name}-{table}")["Table"]
        enabled = described.get("StreamSpecification", {}).get("StreamEnabled")
        if not (found.get(stream_output(table)) and enabled and described.get("LatestStreamArn")):
            raise click.ClickException(
                f"The table {name}-{table} has no stream, or the stack does not say it ({stream_output(table)}): "
                "nobody would be told of its changes. Compare it with infra/template.yaml."
            )
        found[stream_output(table)] = described["LatestStreamArn"]
    return found
