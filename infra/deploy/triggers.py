"""What Chalice cannot say of an event mapping: filters, retries, bisecting, the failure destination, concurrency.

Chalice sends batch size and window only when it deploys again, so what is set here stays.
"""

from __future__ import annotations

from typing import Any

import click

from infra.deploy.functions import FUNCTIONS, Function
from infra.deploy.policies import Outputs
from infra.deploy.recorded import mappings, settled, source


def tune(awslambda: Any, name: str, outputs: Outputs) -> int:
    """Set every mapping as the table says; returns how many had to be changed. Refuses a function without its one."""
    changed = 0
    for function in FUNCTIONS:
        if function.stream or function.queue:
            mapping = _the_one(awslambda, function, name, outputs)
            wanted = _wanted(function, outputs)
            if not _says(mapping, wanted):
                settled(awslambda, mapping["UUID"])
                awslambda.update_event_source_mapping(UUID=mapping["UUID"], **wanted)
                settled(awslambda, mapping["UUID"])
                changed += 1
    return changed


def _the_one(awslambda: Any, function: Function, name: str, outputs: Outputs) -> dict[str, Any]:
    wanted = source(function, name, outputs)
    found = mappings(awslambda, function.physical(name))
    if [one["EventSourceArn"] for one in found] != [wanted]:
        raise click.ClickException(f"{function.physical(name)} is not called by {wanted} alone: deploy again.")
    return found[0]


def _wanted(function: Function, outputs: Outputs) -> dict[str, Any]:
    wanted = dict(function.tuning)
    if function.stream:
        wanted["DestinationConfig"] = {"OnFailure": {"Destination": outputs["DeadDeliveriesQueueArn"]}}
    return wanted


def _says(found: Any, wanted: Any) -> bool:
    """Whether the cloud's description has what is wanted; it says more, and leaves out what is empty."""
    if isinstance(wanted, dict):
        return all(_says((found or {}).get(key), value) for key, value in wanted.items())
    return bool(found == wanted or (not found and wanted == []))
