"""Step: a deployment that disables all extensions fails while the extensions have data.

The next deployment enables all extensions again.
"""

from collections.abc import Collection
from typing import Any

from chalicelib.extensions import present
from infra.deploy.functions import declared_functions
from infra.tables import declared
from tests.deployment import cloud
from tests.deployment.rehearsal import NAME, STAGE, Failed, run
from tests.deployment.rehearsal_client import Gateway

_DEPLOY = ("-m", "infra.deploy", "deploy", "--stage", STAGE)


def disable(here: cloud.Cloud, api: Gateway) -> int:
    """Disable all extensions and delete their data; return the number of remaining functions. May raise Failed."""
    cloud.configure(here.project, {"local": {}, STAGE: {"extensions": []}})
    refused = here.run(*_DEPLOY)
    if not refused.returncode or "--delete-data" not in refused.stderr:
        raise Failed(f"Extensions with data were disabled:\n{refused.stdout}{refused.stderr}")
    printed = run(here, *_DEPLOY, *(f"--delete-data={name}" for name in present()))
    for name in present():
        if f"extension {name} is off: " not in printed:
            raise Failed(f"The deployment did not print that {name} is off:\n{printed}")
    return _check_parts(here, api, [])


def enable(here: cloud.Cloud, api: Gateway) -> int:
    """Enable all extensions with a deployment; return the number of functions. May raise Failed."""
    cloud.configure(here.project, {"local": {}, STAGE: {"extensions": [*present()]}})
    run(here, *_DEPLOY)
    return _check_parts(here, api, present())


def _check_parts(here: cloud.Cloud, api: Gateway, extensions: Collection[str]) -> int:
    functions = declared_functions(extensions)
    expected = {
        "functions": {f"{NAME}-check", *(function.deployed_name(NAME) for function in functions)},
        "tables": _names("AWS::DynamoDB::Table", "TableName", extensions),
        "queues": _names("AWS::SQS::Queue", "QueueName", extensions),
    }
    actual: dict[str, set[str]] = {
        "functions": {one["FunctionName"] for one in here.sdk("lambda").list_functions()["Functions"]},
        "tables": {*here.sdk("dynamodb").list_tables()["TableNames"]},
        "queues": {url.rpartition("/")[2] for url in here.sdk("sqs").list_queues()["QueueUrls"]},
    }
    for kind, names in expected.items():
        if actual[kind] != names:
            raise Failed(f"The stage with {[*extensions]} has different {kind}:  {sorted(actual[kind] ^ names)}")
    sources = here.sdk("lambda").list_event_source_mappings()["EventSourceMappings"]
    if len(sources) != sum(bool(function.stream or function.queue) for function in functions):
        raise Failed(f"The stage with {[*extensions]} has different event sources: {sources}")
    marks = {tag.get("x-extension") for tag in api.call("GET", "/openapi.json")["tags"]} - {None}
    if marks != {*extensions} - {"console", "mcp"}:  # the document omits console pages and /mcp
        raise Failed(f"The OpenAPI document of the stage with {[*extensions]} marks {marks}.")
    api.call("GET", "/v3/agents")
    return len(functions)


def _names(kind: str, member: str, extensions: Collection[str]) -> set[str]:
    declarations: list[dict[str, Any]] = declared(kind, extensions)
    return {one[member]["Fn::Sub"].replace("${Name}", NAME) for one in declarations}
