"""The current stream of each table.

Re-enabling a stream or restoring its table creates a stream with a new ARN. The stack output keeps the ARN from the
last time that CloudFormation changed the table.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import click

from infra.deploy.functions import declared_functions
from infra.deploy.policies import Outputs, stream_output


def current_streams(
    dynamodb: Any, name: str, outputs: Outputs, extensions: Collection[str] | None = None
) -> dict[str, str]:
    """Return the stack's outputs with the current ARN of each stream that a function reads.

    Raise ClickException if a table has no enabled stream, or if the stack has no output for it.
    """
    current = dict(outputs)
    for table in (function.stream for function in declared_functions(extensions) if function.stream):
        description = dynamodb.describe_table(TableName=f"{name}-{table}")["Table"]
        enabled = description.get("StreamSpecification", {}).get("StreamEnabled")
        if not (current.get(stream_output(table)) and enabled and description.get("LatestStreamArn")):
            raise click.ClickException(
                f"The table {name}-{table} has no stream, or the stack has no output {stream_output(table)}: its "
                "changes would trigger no webhooks. Compare the table with infra/template.yaml."
            )
        current[stream_output(table)] = description["LatestStreamArn"]
    return current
