"""Rebuild Chalice's record of a stage, `.chalice/deployed/<stage>.json`, from the account.

Chalice looks up functions and roles by name, but it knows the API and the event source mappings only from this file. It
writes the file at the end of a deployment, so the file is missing after a failed first deployment or on another
machine. Chalice would then create a second API with another URL, and duplicate mappings that invoke each function
twice. It also never deletes the mapping of a stream that no longer exists. Therefore, `reconcile` rebuilds the file
before Chalice runs. It ignores the old file, which may be missing, truncated or outdated. Chalice deletes the functions
and roles that are in the file but not in the application, so `reconcile` adds those that the stage no longer needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from infra.deploy import event_sources, leftovers
from infra.deploy import stage as stages
from infra.deploy.function import API, APPLICATION, Function
from infra.deploy.policies import Outputs
from infra.deploy.sdk_errors import unless_missing

Sdk = Callable[[str], Any]
Resource = dict[str, str]
"""An entry in Chalice's record."""

# API Gateway accepts five GetResources requests per account every two seconds. A page of 500 resources, the maximum,
# contains the whole API; the default of 25 would require five requests.
_LARGE_PAGES = {"PageSize": 500}


def reconcile(sdk: Sdk, stage: str, name: str, outputs: Outputs, functions: Collection[Function]) -> list[str]:
    """Write the file, and delete duplicate mappings and mappings to wrong event sources.

    `functions` are the functions that the stage needs. Chalice deletes the stage's other functions.

    Return a line of text for each deleted mapping, each leftover that Chalice will delete, and each additional API.
    """
    resources: list[Resource] = []
    deleted: list[str] = []
    for function in functions:
        resources += _find_role(sdk, function, name)
        arn = _find_function(sdk, function.deployed_name(name))
        if arn is None:
            continue
        resources.append({"name": function.name, "resource_type": "lambda_function", "lambda_arn": arn})
        if function.name == API:
            apis, lines = _find_apis(sdk("apigateway"), stage, arn)
            resources += apis
            deleted += lines
        else:
            mapping, lines = _keep_one_mapping(sdk("lambda"), function, name, outputs)
            deleted += lines
            resources += [_mapping_resource(function, name, arn, mapping)] if mapping else []
    left, lines = _find_leftovers(sdk, stage, name, functions)
    deleted += lines
    resources = left + resources
    content = {"resources": resources, "schema_version": "2.0", "backend": "api"}
    _replace(_path(stages.CHALICE_DIRECTORY, stage), json.dumps(content, indent=2) + "\n")
    return deleted


def copy_to_project(project: Path, stage: str) -> None:
    """Copy the file into the project that Chalice runs in. Chalice truncates its copy before it writes."""
    source = _path(stages.CHALICE_DIRECTORY, stage)
    _replace(_path(project / ".chalice", stage), source.read_text(encoding="utf-8"))


def copy_from_project(project: Path, stage: str) -> None:
    """Copy the file that Chalice has written from the project to the checkout."""
    written = _path(project / ".chalice", stage)
    _replace(_path(stages.CHALICE_DIRECTORY, stage), written.read_text(encoding="utf-8"))


def api_url(stage: str) -> str:
    """Return the URL of the deployed API, as Chalice recorded it."""
    content = json.loads(_path(stages.CHALICE_DIRECTORY, stage).read_text(encoding="utf-8"))
    return next(
        str(resource["rest_api_url"]) for resource in content["resources"] if resource["resource_type"] == "rest_api"
    )


def api_id(stage: str) -> str | None:
    """Return the id of the deployed API, or None if no API is deployed."""
    content = json.loads(_path(stages.CHALICE_DIRECTORY, stage).read_text(encoding="utf-8"))
    return next(
        (str(resource["rest_api_id"]) for resource in content["resources"] if resource["resource_type"] == "rest_api"),
        None,
    )


def find_api(gateway: Any, stage: str, function_arn: str) -> str:
    """Return the id of the API that invokes the function, or an empty string if there is none."""
    entries, _ = _find_apis(gateway, stage, function_arn)
    return entries[0]["rest_api_id"] if entries else ""


def place(stage: str) -> tuple[str, str] | None:
    """Return the region and account of the last deployment from this machine, or None if they are unknown."""
    try:
        content = json.loads(_path(stages.CHALICE_DIRECTORY, stage).read_text(encoding="utf-8"))
        arn = next(resource["lambda_arn"] for resource in content["resources"] if "lambda_arn" in resource)
    except (OSError, ValueError, LookupError, TypeError, StopIteration):
        return None
    _, _, _, region, account, _ = arn.split(":", 5)
    return region, account


def _path(chalice: Path, stage: str) -> Path:
    return chalice / "deployed" / f"{stage}.json"


def _replace(path: Path, text: str) -> None:
    """Replace a file atomically: an interruption leaves either the old or the new file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _find_leftovers(
    sdk: Sdk, stage: str, name: str, functions: Collection[Function]
) -> tuple[list[Resource], list[str]]:
    """Return an entry with Chalice's name for each leftover, and a line of text for each leftover."""
    resources, lines = [], []
    for role, arn in leftovers.roles(sdk, stage, name, functions).items():
        entry = "default-role" if role == name else f"{role.removeprefix(f'{name}-')}_role"
        resources.append({"name": entry, "resource_type": "iam_role", "role_arn": arn, "role_name": role})
        lines.append(f"{role}: the stage does not need this role; Chalice deletes it")
    for function, arn in leftovers.functions(sdk, stage, name, functions).items():
        for mapping in event_sources.list_mappings(sdk("lambda"), function):
            _delete_mapping(sdk("lambda"), mapping)
        entry = function.removeprefix(f"{name}-")
        resources.append({"name": entry, "resource_type": "lambda_function", "lambda_arn": arn})
        lines.append(f"{function}: the stage does not need this function; Chalice deletes it")
    return resources, lines


def _delete_mapping(awslambda: Any, mapping: dict[str, Any]) -> None:
    event_sources.wait_until_stable(awslambda, mapping["UUID"])
    awslambda.delete_event_source_mapping(UUID=mapping["UUID"])


def _keep_one_mapping(
    awslambda: Any, function: Function, name: str, outputs: Outputs
) -> tuple[dict[str, Any] | None, list[str]]:
    """Keep one mapping to the function's own event source. Return it, and a line of text for each deleted mapping."""
    source_arn = event_sources.event_source_arn(function, name, outputs)
    kept: dict[str, Any] | None = None
    deleted = []
    for mapping in event_sources.list_mappings(awslambda, function.deployed_name(name)):
        if mapping["EventSourceArn"] == source_arn and kept is None:
            kept = mapping
        else:
            _delete_mapping(awslambda, mapping)
            deleted.append(f"{function.name}: deleted the event source mapping to {mapping['EventSourceArn']}")
    return kept, deleted


def _mapping_resource(function: Function, name: str, function_arn: str, mapping: dict[str, Any]) -> Resource:
    common = {"event_uuid": mapping["UUID"], "lambda_arn": function_arn}
    if function.stream:
        own = {"stream_arn": mapping["EventSourceArn"]}
        return {"name": f"{function.name}-dynamodb-event-source", "resource_type": "dynamodb_event", **own, **common}
    own = {"queue_arn": mapping["EventSourceArn"], "queue": f"{name}-{function.queue}"}
    return {"name": f"{function.name}-sqs-event-source", "resource_type": "sqs_event", **own, **common}


def locate_api(sdk: Sdk, stage: str, name: str) -> Resource | None:
    """Find the stage's API in the account. Return its entry, or None if there is no API. `name` is the stack name."""
    arn = _find_function(sdk, name)
    entries, _ = _find_apis(sdk("apigateway"), stage, arn) if arn else ([], [])
    return entries[0] if entries else None


def _find_role(sdk: Sdk, function: Function, name: str) -> Iterator[Resource]:
    role = f"{name}-{function.name}"
    if response := unless_missing(sdk("iam").get_role, RoleName=role):
        arn = response["Role"]["Arn"]
        yield {"name": f"{function.name}_role", "resource_type": "iam_role", "role_arn": arn, "role_name": role}


def _find_function(sdk: Sdk, function: str) -> str | None:
    """Return the ARN of a function, or None if it does not exist."""
    configuration = unless_missing(sdk("lambda").get_function_configuration, FunctionName=function)
    return configuration["FunctionArn"] if configuration else None


def _find_apis(gateway: Any, stage: str, function_arn: str) -> tuple[list[Resource], list[str]]:
    """Return the entry of the oldest API that invokes the function, and a line of text for each other API.

    API names do not contain the stage, so an API is identified by its function.
    """
    pages = gateway.get_paginator("get_rest_apis").paginate(PaginationConfig=_LARGE_PAGES)
    named = [api for page in pages for api in page["items"] if api["name"] == APPLICATION]
    apis = [api for api in named if _invokes(gateway, api["id"], function_arn)]
    ids = [api["id"] for api in sorted(apis, key=lambda api: (api["createdDate"], api["id"]))]
    entries = [
        {
            "name": "rest_api",
            "resource_type": "rest_api",
            "rest_api_id": one,
            "rest_api_url": f"https://{one}.execute-api.{gateway.meta.region_name}.{_domain(function_arn)}/{stage}/",
        }
        for one in ids[:1]
    ]
    lines = [
        f"{one}: an additional API of stage {stage}, which deployments do not update; delete it with "
        f"`aws apigateway delete-rest-api --rest-api-id {one}`"
        for one in ids[1:]
    ]
    return entries, lines


def _invokes(gateway: Any, api_id: str, function_arn: str) -> bool:
    """Return whether an API method invokes exactly this function, not a function with a longer name."""
    paginator = gateway.get_paginator("get_resources")
    pages = paginator.paginate(restApiId=api_id, embed=["methods"], PaginationConfig=_LARGE_PAGES)
    methods = [
        method
        for page in pages
        for resource in page["items"]
        for method in resource.get("resourceMethods", {}).values()
    ]
    uris = [method.get("methodIntegration", {}).get("uri", "") for method in methods]
    return any(uri.endswith(f"/functions/{function_arn}/invocations") for uri in uris)


def _domain(arn: str) -> str:
    return "amazonaws.com.cn" if arn.startswith("arn:aws-cn:") else "amazonaws.com"
