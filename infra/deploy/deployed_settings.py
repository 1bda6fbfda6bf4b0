"""The settings of the deployed stage, read from the account.

Settings that `.chalice/config.json` does not mention keep their deployed values, so a stage can be deployed from any
clone. The first step of a deployment writes the operator's settings to the stack parameter `OperatorSettings`, so that
the next deployment can complete an interrupted one. An adopted stack lacks the parameter, so its settings are read from
the functions. Limits are not read, because the operator's limits cannot be distinguished from limits that are derived
from the account's size. A restored stage inherits the settings of the stage that its tables come from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chalicelib.extensions import present
from infra.deploy import chalice_state, stack
from infra.deploy.checks import NotReady
from infra.deploy.function import APPLICATION
from infra.deploy.functions import declared_functions
from infra.deploy.sdk_errors import unless_missing
from infra.deploy.stage import RESERVED, Settings, is_generated, merge, without_null

Sdk = Callable[[str], Any]

_PARAMETER = "OperatorSettings"
# CloudFormation's limit for a parameter value.
_PARAMETER_BYTES = 4096
_LIMITS = ("throttle", "lambda_functions")
# Settings with their own stack parameters.
_NOTIFICATIONS = ("alarms_email", "monthly_budget")
# Every restored stage has this table, and the table always contains records.
_ORIGIN_TABLE = "keyring"
_READABLE = (
    "environment_variables",
    "extensions",
    "lambda_architecture",
    "python_version",
    "requests_per_credential",
    "layers",
    "subnet_ids",
    "security_group_ids",
    "tags",
    "xray",
    *_LIMITS,
    *_NOTIFICATIONS,
)


@dataclass(frozen=True)
class DeployedSettings:
    """The settings of the deployed stage, in the same form as `.chalice/config.json`.

    `current` contains the functions' and the API's settings; it is empty if the stage has no functions. `own`
    contains the operator's settings, which a deployment keeps. For a restored stage, `origin` is the stack that `own`
    comes from.
    """

    current: Settings = field(default_factory=dict)
    own: Settings = field(default_factory=dict)
    origin: str = ""


def read(sdk: Sdk, name: str) -> DeployedSettings:
    """Return the deployed settings of the stage with the stack `name`, such as `cams-prod`."""
    current = _current(sdk, name)
    own = _own(sdk, name, current)
    if current or own:
        return DeployedSettings(current, own)
    origin = _origin(sdk("dynamodb"), name)
    return DeployedSettings({}, _own(sdk, origin, _current(sdk, origin)), origin) if origin else DeployedSettings()


def reservations(awslambda: Any, name: str) -> dict[str, dict[str, int]]:
    """Return the deployed functions' reserved concurrency, in the same format as `lambda_functions`."""
    functions = {}
    for function in declared_functions():
        found = unless_missing(awslambda.get_function_concurrency, FunctionName=function.deployed_name(name))
        value = (found or {}).get("ReservedConcurrentExecutions")
        if value is not None:
            functions[function.name] = {RESERVED: value}
    return functions


def combine(deployed: DeployedSettings, configured: Settings) -> dict[str, Any]:
    """Return the settings to deploy: the configured settings, plus every deployed setting that they do not mention.

    An empty string removes a variable. Null cannot be used, because Chalice reads `.chalice/config.json` first and
    fails if a variable is null.
    """
    settings = without_null(merge(deployed.own, configured))
    if variables := settings.pop("environment_variables", {}):
        settings["environment_variables"] = {name: value for name, value in variables.items() if value != ""}
    return settings


def describe(deployed: DeployedSettings, configured: Settings, settings: Settings) -> list[str]:
    """Return a line that lists the kept settings, plus a line for each changed setting.

    `configured` contains the settings from `.chalice/config.json`. `settings` contains all settings to deploy,
    including defaults.
    """
    lines = changes(deployed.current, settings)
    mentioned = _flat(configured, keep_null=True)
    if names := [".".join(path) for path in _flat(deployed.own) if not _is_mentioned(path, mentioned)]:
        place = f"settings of {deployed.origin}" if deployed.origin else "deployed settings"
        lines.insert(0, f"keeps {place} that .chalice/config.json does not have: {', '.join(names)}")
    return lines


def _is_mentioned(path: tuple[str, ...], mentioned: Mapping[tuple[str, ...], Any]) -> bool:
    """Return whether the operator's settings contain the path or a null parent of the path."""
    return path in mentioned or any(path[: len(one)] == one for one, value in mentioned.items() if value is None)


def changes(current: Settings, settings: Settings) -> list[str]:
    """Return a line for each deployed setting that `settings` would change, or an empty list for a new stage."""
    if not current:
        return []
    before, after = _flat(current), _comparable(_flat(settings))
    return [_line(path, before.get(path), after.get(path)) for path in _paths(before, after)]


def parameters(own: Settings) -> dict[str, str]:
    """Return the stack parameter for the operator's settings. Raise NotReady if the settings are too long."""
    kept = {name: value for name, value in own.items() if name not in _NOTIFICATIONS}
    text = json.dumps(kept, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    if (size := len(text.encode())) > _PARAMETER_BYTES:
        raise NotReady(
            f"The stage's settings have {size} bytes as JSON, but CloudFormation stores at most {_PARAMETER_BYTES}: "
            "shorten the environment variables."
        )
    return {_PARAMETER: text}


def _comparable(flat: Mapping[tuple[str, ...], Any]) -> dict[tuple[str, ...], Any]:
    """Return only the settings that `_current` also reads."""
    return {
        path: value
        for path, value in flat.items()
        if path[0] in _READABLE and (path[0] != "lambda_functions" or path[-1] == RESERVED)
    }


def _paths(before: Mapping[tuple[str, ...], Any], after: Mapping[tuple[str, ...], Any]) -> list[tuple[str, ...]]:
    # Empty values (0, false and "") are equivalent to missing values.
    return [path for path in {**before, **after} if (before.get(path) or None) != (after.get(path) or None)]


def _line(path: tuple[str, ...], old: Any, new: Any) -> str:
    place = f"{path[0]}: {'.'.join(path[1:])} " if path[1:] else f"{path[0]}: "
    if path[0] == "environment_variables" and not path[1].startswith("CAMS_"):
        return place + ("is added" if old is None else "is removed" if new is None else "changes")
    return f"{place}{_text(old)} -> {_text(new)}"


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None or value == "" else str(value)


def _flat(settings: Settings, keep_null: bool = False) -> dict[tuple[str, ...], Any]:
    """Return the settings keyed by path, such as `("throttle", "rate")`."""
    flat: dict[tuple[str, ...], Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            flat |= {(key, *path): one for path, one in _flat(value, keep_null).items()}
        elif value is not None or keep_null or key == RESERVED:
            flat[(key,)] = value
    return flat


def _current(sdk: Sdk, name: str) -> dict[str, Any]:
    """Return the functions' and the API's settings, or an empty object if the API function does not exist."""
    configuration = unless_missing(sdk("lambda").get_function_configuration, FunctionName=name)
    if not configuration:
        return {}
    variables = configuration.get("Environment", {}).get("Variables", {})
    network = configuration.get("VpcConfig", {})
    stack_parameters = stack.parameters_of(sdk("cloudformation"), name, ("RequestsPerCredential",))
    settings = {
        "environment_variables": {key: value for key, value in variables.items() if not is_generated(key)},
        "lambda_architecture": configuration.get("Architectures", ["x86_64"])[0],
        "python_version": configuration["Runtime"].removeprefix("python"),
        "requests_per_credential": int(stack_parameters.get("RequestsPerCredential", 0)),
        "throttle": _throttle(sdk("apigateway"), name, configuration["FunctionArn"]),
        "lambda_functions": reservations(sdk("lambda"), name),
        "layers": [layer["Arn"] for layer in configuration.get("Layers", ())],
        "subnet_ids": network.get("SubnetIds", []),
        "security_group_ids": network.get("SecurityGroupIds", []),
        "tags": _tags(sdk("lambda"), configuration["FunctionArn"]),
        "extensions": _extensions(variables),
        "xray": configuration.get("TracingConfig", {}).get("Mode") == "Active",
        **_notifications(sdk, name),
    }
    return {key: value for key, value in settings.items() if value or key == "extensions"}


def _extensions(variables: Mapping[str, str]) -> list[str]:
    """Return a deployed function's extensions. Functions from earlier versions have all extensions."""
    listed = variables.get("CAMS_EXTENSIONS", ",".join(present()))
    return [name for name in listed.split(",") if name]


def _tags(awslambda: Any, arn: str) -> dict[str, str]:
    """Return a function's tags, except the tags that Chalice and AWS set."""
    tags: dict[str, str] = awslambda.list_tags(Resource=arn)["Tags"]
    return {key: value for key, value in tags.items() if key != "aws-chalice" and not key.startswith("aws:")}


def _notifications(sdk: Sdk, name: str) -> dict[str, Any]:
    """Return the settings that have separate stack parameters (`operator_email`)."""
    stored = stack.parameters_of(sdk("cloudformation"), name, ("AlarmsEmail", "MonthlyBudget"))
    settings = {"alarms_email": stored.get("AlarmsEmail"), "monthly_budget": int(stored.get("MonthlyBudget") or 0)}
    return {key: value for key, value in settings.items() if value}


def _own(sdk: Sdk, name: str, current: Settings) -> dict[str, Any]:
    """Return the operator's settings, or an empty object if the stage has none."""
    if stored := stack.parameters_of(sdk("cloudformation"), name, (_PARAMETER,)).get(_PARAMETER):
        return {**json.loads(stored), **_notifications(sdk, name)}
    own = {key: value for key, value in current.items() if key not in _LIMITS}
    if own.get("lambda_architecture") == "x86_64":
        del own["lambda_architecture"]
    if {*own.get("extensions", ())} == {*present()}:
        own.pop("extensions", None)
    return own


def _throttle(gateway: Any, name: str, function_arn: str) -> dict[str, int]:
    stage_name = name.removeprefix(f"{APPLICATION}-")
    api_id = chalice_state.find_api(gateway, stage_name, function_arn)
    found = unless_missing(gateway.get_stage, restApiId=api_id, stageName=stage_name) if api_id else None
    settings = (found or {}).get("methodSettings", {}).get("*/*", {})
    if "throttlingRateLimit" not in settings:
        return {}
    return {"rate": int(settings["throttlingRateLimit"]), "burst": int(settings["throttlingBurstLimit"])}


def _origin(dynamodb: Any, name: str) -> str:
    """Return the stack whose tables were restored into this stack, or an empty string if there is none."""
    found = unless_missing(dynamodb.describe_table, TableName=f"{name}-{_ORIGIN_TABLE}") or {}
    arn: str = found.get("Table", {}).get("RestoreSummary", {}).get("SourceTableArn", "")
    return arn.rpartition("/")[2].removesuffix(f"-{_ORIGIN_TABLE}")
