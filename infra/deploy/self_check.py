"""The function that checks the event source mappings and the keys of a stage every five minutes.

A disabled mapping, or a key that is about to be deleted, produces no metric. CloudFormation creates the function from
the text of this module (`monitoring`), so it imports nothing of the project.
"""

import json
import os
import time
from typing import Any

import boto3

# The last result of a mapping whose function failed. It is ignored, because it stays for days if the stream is quiet,
# and other alarms watch failing functions. All other results mean that the mapping cannot invoke its function.
_FAILED_CALL = "PROBLEM: Function call failed"


def check(event: Any, context: Any) -> list[str]:
    """Log the number of broken parts as the metric `brokenParts`, and a sentence for each. Return the sentences."""
    problems = mapping_problems(boto3.client("lambda"), os.environ["FUNCTIONS"].split())
    problems += key_problems(boto3.client("kms"), os.environ["KEYS"].split())
    metric = {"Namespace": os.environ["NAME"], "Dimensions": [[]], "Metrics": [{"Name": "brokenParts"}]}
    emf = {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [metric]}
    print(json.dumps({"_aws": emf, "brokenParts": len(problems), "problems": problems}))
    return problems


def mapping_problems(client: Any, functions: list[str]) -> list[str]:
    """Return a sentence for each function without an enabled mapping, or whose mapping cannot invoke it."""
    pages = client.get_paginator("list_event_source_mappings").paginate()
    mappings = {one["FunctionArn"].split(":")[6]: one for page in pages for one in page["EventSourceMappings"]}
    problems = []
    for name in functions:
        mapping = mappings.get(name, {})
        state, result = mapping.get("State", "missing"), mapping.get("LastProcessingResult") or ""
        if state not in ("Enabled", "Creating", "Enabling", "Updating"):
            problems.append(f"The event source mapping of {name} is {state}.")
        elif result.startswith("PROBLEM") and not result.startswith(_FAILED_CALL):
            problems.append(f"The event source mapping of {name} reports: {result}")
    return problems


def key_problems(client: Any, keys: list[str]) -> list[str]:
    """Return a sentence for each key that cannot be used."""
    states = {key: client.describe_key(KeyId=key)["KeyMetadata"]["KeyState"] for key in keys}
    return [f"The key {key} is {state}." for key, state in states.items() if state != "Enabled"]
