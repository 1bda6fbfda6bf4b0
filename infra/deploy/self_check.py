"""A function that checks a stage's event source mappings and keys every five minutes.

Disabled mappings and keys pending deletion produce no metrics. CloudFormation creates the function from this module's
source code (`self_check_resources`), so the module imports nothing from the project.
"""

import json
import os
import time
from typing import Any

import boto3

# The last result of a mapping whose function failed. This result is ignored, because it persists for days on a quiet
# stream, and other alarms cover failing functions. All other problems mean that the mapping cannot invoke its function.
_FAILED_CALL = "PROBLEM: Function call failed"


def check(event: Any, context: Any) -> list[str]:
    """Log a message for each broken part, and their count as the metric `brokenParts`. Return the messages."""
    problems = mapping_problems(boto3.client("lambda"), os.environ["FUNCTIONS"].split())
    problems += key_problems(boto3.client("kms"), os.environ["KEYS"].split())
    metric = {"Namespace": os.environ["NAME"], "Dimensions": [[]], "Metrics": [{"Name": "brokenParts"}]}
    emf = {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [metric]}
    print(json.dumps({"_aws": emf, "brokenParts": len(problems), "problems": problems}))
    return problems


def mapping_problems(client: Any, functions: list[str]) -> list[str]:
    """Return a message for each function whose mapping is missing, disabled or unable to invoke it."""
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
    """Return a message for each key that cannot be used."""
    states = {key: client.describe_key(KeyId=key)["KeyMetadata"]["KeyState"] for key in keys}
    return [f"The key {key} is {state}." for key, state in states.items() if state != "Enabled"]
