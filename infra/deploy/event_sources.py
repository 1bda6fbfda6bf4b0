"""The functions' event source mappings, and the mapping settings that Chalice cannot express.

Chalice cannot express filters, retries, bisecting, on-failure destinations or concurrency. Chalice updates only the
batch size and the batching window, so settings that are applied here survive its deployments.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import click

from infra.deploy.function import Function
from infra.deploy.policies import Outputs, stream_output

_STABLE_TIMEOUT_SECONDS = 600
# Lambda may list a new mapping with a delay.
_LISTED_WITHIN_SECONDS = 30
_POLL_SECONDS = 0.5
_TRANSITIONAL_STATES = ("Creating", "Enabling", "Disabling", "Updating")


def configure(
    awslambda: Any, name: str, outputs: Outputs, scaled: Mapping[str, Mapping[str, Any]], functions: Iterable[Function]
) -> int:
    """Apply the settings of `functions` to every mapping that differs. Return the number of changed mappings.

    `scaled` contains the settings that depend on the account's size, keyed by function (`concurrency`).

    Raise ClickException unless each function has exactly one mapping, to its own event source.
    """
    changed = 0
    for function in functions:
        if function.stream or function.queue:
            mapping = _only_mapping(awslambda, function, name, outputs)
            settings = declared_settings(function, outputs, scaled)
            if not matches(mapping, settings):
                wait_until_stable(awslambda, mapping["UUID"])
                awslambda.update_event_source_mapping(UUID=mapping["UUID"], **settings)
                wait_until_stable(awslambda, mapping["UUID"])
                changed += 1
    return changed


def event_source_arn(function: Function, name: str, outputs: Outputs) -> str:
    """Return the ARN of the function's stream or queue, or an empty string if the stack has no output for it."""
    if function.stream:
        return outputs.get(stream_output(function.stream), "")
    prefix = outputs["TablesArn"].replace(":dynamodb:", ":sqs:").partition("table/")[0]
    return f"{prefix}{name}-{function.queue}"


def list_mappings(awslambda: Any, function: str) -> list[dict[str, Any]]:
    """Return every event source mapping of a function, except those being deleted."""
    pages = awslambda.get_paginator("list_event_source_mappings").paginate(FunctionName=function)
    return [mapping for page in pages for mapping in page["EventSourceMappings"] if mapping.get("State") != "Deleting"]


def wait_until_stable(awslambda: Any, uuid: str) -> None:
    """Wait until a mapping can be changed or deleted: Lambda rejects both during a state change.

    Raise ClickException after 10 minutes.
    """
    deadline = time.monotonic() + _STABLE_TIMEOUT_SECONDS
    while (state := awslambda.get_event_source_mapping(UUID=uuid)["State"]) in _TRANSITIONAL_STATES:
        if time.monotonic() > deadline:
            minutes = _STABLE_TIMEOUT_SECONDS // 60
            raise click.ClickException(
                f"The event source mapping {uuid} is still {state} after {minutes} minutes: run the command again."
            )
        time.sleep(_POLL_SECONDS)


def matches(actual: Any, settings: Any) -> bool:
    """Return whether a mapping's description contains these settings. AWS adds members and omits empty members."""
    if isinstance(settings, dict):
        return all(matches((actual or {}).get(key), value) for key, value in settings.items())
    return bool(actual == settings or (not actual and settings == []))


def _only_mapping(awslambda: Any, function: Function, name: str, outputs: Outputs) -> dict[str, Any]:
    source_arn = event_source_arn(function, name, outputs)
    deadline = time.monotonic() + _LISTED_WITHIN_SECONDS
    while not (mappings := list_mappings(awslambda, function.deployed_name(name))) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    if [mapping["EventSourceArn"] for mapping in mappings] != [source_arn]:
        raise click.ClickException(
            f"{function.deployed_name(name)} does not have {source_arn} as its only event source: deploy again."
        )
    return mappings[0]


def declared_settings(function: Function, outputs: Outputs, scaled: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a function's mapping settings. `scaled` has the same form as in `configure`."""
    settings = {**function.mapping_settings, **scaled.get(function.name, {})}
    if function.stream:
        settings["DestinationConfig"] = {"OnFailure": {"Destination": outputs["DeadDeliveriesQueueArn"]}}
    return settings
