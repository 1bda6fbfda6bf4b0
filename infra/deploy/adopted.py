"""The settings of the deployed stage, read from the account.

What `.chalice/config.json` does not mention stays as it is deployed, so a stage can be deployed from any clone. A stage
that was restored and has no functions yet takes over the settings of the stage that its tables come from.

The account cannot tell the limits that an operator chose from those that a deployment chose, which depend on the size
of the account. So the stack's parameter `OperatorLimits` holds the operator's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from infra.deploy import chalice_state, stack
from infra.deploy.functions import APPLICATION, FUNCTIONS
from infra.deploy.stage import RESERVED, Settings, is_generated, merge, without_null

Sdk = Callable[[str], Any]

_PARAMETER = "OperatorLimits"
_LIMITS = ("throttle", "lambda_functions")
# Restored with every stage, and empty in none.
_ORIGIN_TABLE = "keyring"


@dataclass(frozen=True)
class Deployed:
    """The settings of the deployed stage, in the form of `.chalice/config.json`.

    `current` has all of them, empty if the stage has no functions. `own` has those that a deployment keeps. `origin` is
    the stack of another stage that `own` comes from, if any.
    """

    current: Settings = field(default_factory=dict)
    own: Settings = field(default_factory=dict)
    origin: str = ""


def read(sdk: Sdk, name: str) -> Deployed:
    """Return the settings of the stage with the stack `name`, such as `cams-prod`."""
    if configuration := _configuration(sdk, name):
        current = _current(sdk, name, configuration)
        return Deployed(current, _own(sdk, name, current))
    origin = _origin(sdk("dynamodb"), name)
    if origin and (configuration := _configuration(sdk, origin)):
        own = {**_own(sdk, origin, _current(sdk, origin, configuration)), **_notifications(sdk, origin)}
        return Deployed({}, own, origin)
    return Deployed()


def reserved(awslambda: Any, name: str) -> dict[str, dict[str, int]]:
    """Return the deployed functions that have reserved concurrency, as in `lambda_functions`."""
    functions = {}
    for function in FUNCTIONS:
        found = _unless_missing(awslambda.get_function_concurrency, FunctionName=function.deployed_name(name))
        value = (found or {}).get("ReservedConcurrentExecutions")
        if value is not None:
            functions[function.name] = {RESERVED: value}
    return functions


def effective(deployed: Deployed, operators: Settings) -> dict[str, Any]:
    """Return the settings to deploy: the operator's, and the deployed ones that they do not mention.

    An empty variable is removed. Chalice, which reads `.chalice/config.json` first, fails for a variable that is null.
    """
    settings = without_null(merge(deployed.own, operators))
    if variables := settings.pop("environment_variables", {}):
        settings["environment_variables"] = {name: value for name, value in variables.items() if value != ""}
    return settings


def describe(deployed: Deployed, operators: Settings, settings: Settings) -> list[str]:
    """Return a line with the names of the settings that are kept, and a line for each setting that changes.

    `operators` are the settings of `.chalice/config.json`, `settings` those to deploy with all defaults.
    """
    lines = changes(deployed.current, settings)
    if names := [".".join(path) for path in _flat(_without(deployed.own, _flat(operators, keep_null=True)))]:
        place = f"settings of {deployed.origin}" if deployed.origin else "deployed settings"
        lines.insert(0, f"keeps {place} that .chalice/config.json does not have: {', '.join(names)}")
    return lines


def loss(deployed: Deployed, operators: Settings) -> str:
    """Return a text with the settings that are lost with the functions; empty if `.chalice/config.json` has them all.

    Other variables than those of CAMS may contain secrets, so the text has only their names.
    """
    lost = _without(deployed.own, _flat(operators, keep_null=True))
    variables = lost.pop("environment_variables", {})
    if readable := {key: value for key, value in variables.items() if key.startswith("CAMS_")}:
        lost["environment_variables"] = readable
    lines = [json.dumps(lost, indent=2)] if lost else []
    if others := [key for key in variables if key not in readable]:
        lines.append(f"the variables {', '.join(others)}, with their values")
    return "\n".join(lines)


def _without(settings: Settings, mentioned: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    """Return the settings whose path is not mentioned, and not below a path that is null."""
    left: dict[str, Any] = {}
    for path, value in _flat(settings).items():
        if path in mentioned or any(path[: len(one)] == one for one, set_to in mentioned.items() if set_to is None):
            continue
        place = left
        for key in path[:-1]:
            place = place.setdefault(key, {})
        place[path[-1]] = value
    return left


def changes(current: Settings, settings: Settings) -> list[str]:
    """Return a line for each deployed setting that a deployment of `settings` changes; none for a new stage."""
    if not current:
        return []
    before, after = _flat(current), _flat(settings)
    return [_line(path, before.get(path), after.get(path)) for path in _paths(before, after)]


def parameters(settings: Settings) -> dict[str, str]:
    """Return the parameter of the stack that holds the limits of the operator."""
    own = {name: settings[name] for name in _LIMITS if settings.get(name)}
    return {_PARAMETER: json.dumps(own, separators=(",", ":"), sort_keys=True)}


def _paths(before: Mapping[tuple[str, ...], Any], after: Mapping[tuple[str, ...], Any]) -> list[tuple[str, ...]]:
    return [path for path in {**before, **after} if before.get(path) != after.get(path)]


def _line(path: tuple[str, ...], old: Any, new: Any) -> str:
    place = f"{path[0]}: {'.'.join(path[1:])} " if path[1:] else f"{path[0]}: "
    if path[0] == "environment_variables" and not path[1].startswith("CAMS_"):
        return place + ("is added" if old is None else "is removed" if new is None else "changes")
    return f"{place}{_text(old)} -> {_text(new)}"


def _text(value: Any) -> str:
    return "none" if value is None or value == "" else str(value)


def _flat(settings: Settings, keep_null: bool = False) -> dict[tuple[str, ...], Any]:
    """Return the settings by path, such as `("throttle", "rate")`."""
    flat: dict[tuple[str, ...], Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            flat |= {(key, *path): one for path, one in _flat(value, keep_null).items()}
        elif value is not None or keep_null or key == RESERVED:
            flat[(key,)] = value
    return flat


def _current(sdk: Sdk, name: str, configuration: Mapping[str, Any]) -> dict[str, Any]:
    variables = configuration.get("Environment", {}).get("Variables", {})
    network = configuration.get("VpcConfig", {})
    stack_parameters = stack.parameters_of(sdk("cloudformation"), name, ("RequestsPerCredential",))
    settings = {
        "environment_variables": {key: value for key, value in variables.items() if not is_generated(key)},
        "lambda_architecture": configuration.get("Architectures", ["x86_64"])[0],
        "python_version": configuration["Runtime"].removeprefix("python"),
        "requests_per_credential": int(stack_parameters.get("RequestsPerCredential", 0)),
        "throttle": _throttle(sdk("apigateway"), name, configuration["FunctionArn"]),
        "lambda_functions": reserved(sdk("lambda"), name),
        "layers": [one["Arn"] for one in configuration.get("Layers", ())],
        "subnet_ids": network.get("SubnetIds", []),
        "security_group_ids": network.get("SecurityGroupIds", []),
        "tags": _tags(sdk("lambda"), configuration["FunctionArn"]),
        "xray": configuration.get("TracingConfig", {}).get("Mode") == "Active",
    }
    return {key: value for key, value in settings.items() if value}


def _tags(awslambda: Any, arn: str) -> dict[str, str]:
    """Return the tags of a function without those of Chalice and of AWS."""
    tags: dict[str, str] = awslambda.list_tags(Resource=arn)["Tags"]
    return {key: value for key, value in tags.items() if key != "aws-chalice" and not key.startswith("aws:")}


def _notifications(sdk: Sdk, name: str) -> dict[str, Any]:
    """Return the settings that every stack keeps by itself (`operator_email`), but does not pass on."""
    found = stack.parameters_of(sdk("cloudformation"), name, ("AlarmsEmail", "MonthlyBudget"))
    email, budget = found.get("AlarmsEmail"), int(found.get("MonthlyBudget") or 0)
    return {**({"alarms_email": email} if email else {}), **({"monthly_budget": budget} if budget else {})}


def _own(sdk: Sdk, name: str, current: Settings) -> dict[str, Any]:
    """Return the current settings without the limits that a deployment chose."""
    limits = stack.parameters_of(sdk("cloudformation"), name, (_PARAMETER,)).get(_PARAMETER, "{}")
    chosen = {key: value for key, value in current.items() if key not in _LIMITS}
    if chosen.get("lambda_architecture") == "x86_64":
        del chosen["lambda_architecture"]
    return {**chosen, **json.loads(limits)}


def _throttle(gateway: Any, name: str, function_arn: str) -> dict[str, int]:
    stage_name = name.removeprefix(f"{APPLICATION}-")
    api_id = chalice_state.find_api(gateway, stage_name, function_arn)
    found = _unless_missing(gateway.get_stage, restApiId=api_id, stageName=stage_name) if api_id else None
    settings = (found or {}).get("methodSettings", {}).get("*/*", {})
    if "throttlingRateLimit" not in settings:
        return {}
    return {"rate": int(settings["throttlingRateLimit"]), "burst": int(settings["throttlingBurstLimit"])}


def _configuration(sdk: Sdk, name: str) -> dict[str, Any] | None:
    """Return the configuration of the function behind the API, None without one."""
    return _unless_missing(sdk("lambda").get_function_configuration, FunctionName=name)


def _origin(dynamodb: Any, name: str) -> str:
    """Return the stack whose tables were restored into this one, empty for none."""
    found = _unless_missing(dynamodb.describe_table, TableName=f"{name}-{_ORIGIN_TABLE}") or {}
    arn: str = found.get("Table", {}).get("RestoreSummary", {}).get("SourceTableArn", "")
    return arn.rpartition("/")[2].removesuffix(f"-{_ORIGIN_TABLE}")


def _unless_missing(call: Callable[..., dict[str, Any]], **arguments: str) -> dict[str, Any] | None:
    """Return the response of a call, None if the resource does not exist."""
    try:
        return call(**arguments)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in ("ResourceNotFoundException", "NotFoundException"):
            return None
        raise
