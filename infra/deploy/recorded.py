"""What Chalice has noted down about a stage, made to agree with what is in the account.

Chalice finds functions and roles by their names; API and event mappings only by `.chalice/deployed/<stage>.json`, which
it writes at the very end. After a first deployment that failed, or on another machine, it would make a second API, at
another address, and second mappings, which call everything twice. And it never leaves a stream that is gone. So the
file is written anew from the account before Chalice reads it, and mappings that must not be are deleted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from infra.deploy import stage as stages
from infra.deploy.functions import API, APPLICATION, FUNCTIONS, Function
from infra.deploy.policies import Outputs, stream_output

Sdk = Callable[[str], Any]
Note = dict[str, str]

_SETTLING_SECONDS = 120


def agree(sdk: Sdk, stage: str, name: str, outputs: Outputs) -> list[str]:
    """Write the file; returns a line for each mapping that was deleted."""
    notes: list[Note] = []
    removed: list[str] = []
    for function in FUNCTIONS:
        notes += _role(sdk, function, name)
        arn = _function_arn(sdk, function.physical(name))
        if arn is None:
            continue
        if function.name == API:
            notes.append({"name": API, "resource_type": "lambda_function", "lambda_arn": arn})
            notes += _api(sdk("apigateway"), stage, arn)
        else:
            notes.append({"name": function.name, "resource_type": "lambda_function", "lambda_arn": arn})
            mapping, gone = _one_mapping(sdk("lambda"), function, name, outputs)
            removed += gone
            notes += [_mapping_note(function, name, arn, mapping)] if mapping else []
    notes = _of_others(stage) + notes
    path = _path(stage)
    path.parent.mkdir(exist_ok=True)
    content = {"resources": notes, "schema_version": "2.0", "backend": "api"}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return removed


def address(stage: str) -> str:
    """Where the API answers, as Chalice has noted it down."""
    return next(str(one["rest_api_url"]) for one in _noted(stage) if one["resource_type"] == "rest_api")


def _path(stage: str) -> Path:
    return stages.CHALICE / "deployed" / f"{stage}.json"


def _noted(stage: str) -> list[Note]:
    try:
        content = json.loads(_path(stage).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    noted: list[Note] = content["resources"]
    return noted


def _of_others(stage: str) -> list[Note]:
    """Notes of functions that the application had and has no more: Chalice deletes those itself."""
    ours = {"rest_api", *(function.name for function in FUNCTIONS)}
    endings = ("_role", "-dynamodb-event-source", "-sqs-event-source")
    return [one for one in _noted(stage) if not ours & {one["name"], *(one["name"].removesuffix(e) for e in endings)}]


def source(function: Function, name: str, outputs: Outputs) -> str:
    """The ARN of what calls the function; empty where the stack does not say it."""
    if function.stream:
        return outputs.get(stream_output(function.stream), "")
    start = outputs["TablesArn"].replace(":dynamodb:", ":sqs:").partition("table/")[0]
    return f"{start}{name}-{function.queue}"


def mappings(awslambda: Any, function: str) -> list[dict[str, Any]]:
    """Every event mapping of a function."""
    pages = awslambda.get_paginator("list_event_source_mappings").paginate(FunctionName=function)
    return [one for page in pages for one in page["EventSourceMappings"] if one.get("State") != "Deleting"]


def settled(awslambda: Any, uuid: str) -> None:
    """Wait while a mapping is being made or changed: meanwhile it can be neither changed nor deleted."""
    deadline = time.monotonic() + _SETTLING_SECONDS
    while awslambda.get_event_source_mapping(UUID=uuid)["State"] in ("Creating", "Enabling", "Disabling", "Updating"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"The event mapping {uuid} does not settle.")
        time.sleep(0.5)


def _one_mapping(
    awslambda: Any, function: Function, name: str, outputs: Outputs
) -> tuple[dict[str, Any] | None, list[str]]:
    """The mapping of a function that reads from the right source. All others are deleted."""
    wanted = source(function, name, outputs)
    kept: dict[str, Any] | None = None
    removed = []
    for mapping in mappings(awslambda, function.physical(name)):
        if mapping["EventSourceArn"] == wanted and kept is None:
            kept = mapping
        else:
            settled(awslambda, mapping["UUID"])
            awslambda.delete_event_source_mapping(UUID=mapping["UUID"])
            removed.append(f"{function.name}: no longer called by {mapping['EventSourceArn']}")
    return kept, removed


def _mapping_note(function: Function, name: str, function_arn: str, mapping: dict[str, Any]) -> Note:
    note = {"event_uuid": mapping["UUID"], "lambda_arn": function_arn}
    if function.stream:
        own = {"stream_arn": mapping["EventSourceArn"]}
        return {"name": f"{function.name}-dynamodb-event-source", "resource_type": "dynamodb_event", **own, **note}
    own = {"queue_arn": mapping["EventSourceArn"], "queue": f"{name}-{function.queue}"}
    return {"name": f"{function.name}-sqs-event-source", "resource_type": "sqs_event", **own, **note}


def _role(sdk: Sdk, function: Function, name: str) -> Iterator[Note]:
    role = f"{name}-{function.name}"
    try:
        arn = sdk("iam").get_role(RoleName=role)["Role"]["Arn"]
    except ClientError as error:
        if _code(error) == "NoSuchEntity":
            return
        raise
    yield {"name": f"{function.name}_role", "resource_type": "iam_role", "role_arn": arn, "role_name": role}


def _function_arn(sdk: Sdk, function: str) -> str | None:
    try:
        return str(sdk("lambda").get_function_configuration(FunctionName=function)["FunctionArn"])
    except ClientError as error:
        if _code(error) == "ResourceNotFoundException":
            return None
        raise


def _api(gateway: Any, stage: str, function_arn: str) -> Iterator[Note]:
    """The API that calls the function. Every stage's has the same name, and of one half made nothing else is known."""
    for page in gateway.get_paginator("get_rest_apis").paginate():
        for api in page["items"]:
            if api["name"] == APPLICATION and function_arn in json.dumps(_methods(gateway, api["id"])):
                region = gateway.meta.region_name
                url = f"https://{api['id']}.execute-api.{region}.{_domain(function_arn)}/{stage}/"
                note = {"rest_api_id": api["id"], "rest_api_url": url}
                yield {"name": "rest_api", "resource_type": "rest_api", **note}
                return


def _methods(gateway: Any, api_id: str) -> list[Any]:
    pages = gateway.get_paginator("get_resources").paginate(restApiId=api_id, embed=["methods"])
    return [one.get("resourceMethods") for page in pages for one in page["items"]]


def _domain(arn: str) -> str:
    return "amazonaws.com.cn" if arn.startswith("arn:aws-cn:") else "amazonaws.com"


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
