"""The stage in `.chalice/config.json`, and its policy files, generated from the outputs of the stack.

A plain `chalice deploy --stage prod` works with them, too. Settings that an operator adds to the stage, such as another
environment variable, are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from email.utils import parseaddr
from pathlib import Path
from typing import Any

from infra.deploy.functions import FUNCTIONS
from infra.deploy.policies import Outputs, policy, stream_output

ROOT = Path(__file__).resolve().parents[2]
CHALICE_DIRECTORY = ROOT / ".chalice"
_CONFIG = "config.json"
_MINIMUM_COMPRESSION_BYTES = 1024
_OPERATORS_SETTINGS = ("lambda_architecture", "throttle", "requests_per_credential")
_RESERVED = "reserved_concurrency"
_GENERATED_VARIABLES = (
    "CAMS_TABLE_PREFIX",
    "CAMS_ENCRYPTION_KEY",
    "CAMS_STREAM_",
    "CAMS_STORED_LAYOUT",
    "CAMS_READABLE_LAYOUTS",
)


def record(stage: str, name: str, outputs: Outputs) -> None:
    """Write the stage and its policy files. Keeps an operator's own settings."""
    config = _read_config()
    settings = config["stages"].setdefault(stage, {})
    settings.update(
        {
            "api_gateway_stage": stage,
            "api_gateway_endpoint_type": "REGIONAL",
            "minimum_compression_size": _MINIMUM_COMPRESSION_BYTES,
            # Chalice derives permissions from the calls in app.py, which makes none.
            "autogen_policy": False,
        }
    )
    settings.setdefault("environment_variables", {}).update(variables(name, outputs))
    sender = parseaddr(settings["environment_variables"].get("CAMS_MAIL_SENDER", ""))[1]
    functions = settings.setdefault("lambda_functions", {})
    for function in FUNCTIONS:
        own = {"lambda_memory_size": function.memory_mb, "lambda_timeout": function.timeout_seconds}
        functions.setdefault(function.name, {}).update(own, iam_policy_file=_policy_file(stage, function.name))
        _write(CHALICE_DIRECTORY / _policy_file(stage, function.name), policy(function, name, outputs, sender))
    _write(CHALICE_DIRECTORY / _CONFIG, config)


def variables(name: str, outputs: Outputs) -> dict[str, str]:
    """The environment variables of the functions and of the operator's commands."""
    streams = (function.stream for function in FUNCTIONS if function.stream)
    return {
        "CAMS_TABLE_PREFIX": f"{name}-",
        "CAMS_ENCRYPTION_KEY": outputs["EncryptionKeyArn"],
        **{f"CAMS_STREAM_{table.upper()}": outputs[stream_output(table)] for table in streams},
    }


def names() -> set[str]:
    """The names of all stages."""
    return set(_read_config()["stages"])


def read(stage: str) -> dict[str, Any]:
    """The settings of a stage; empty for an unknown stage."""
    settings: dict[str, Any] = _read_config()["stages"].get(stage, {})
    return settings


def architecture(stage: str) -> str:
    """The processor architecture of the functions of a stage: the operator's `lambda_architecture`, or x86_64.

    Like Chalice, falls back to the value for all stages.
    """
    return str(read(stage).get("lambda_architecture") or _read_config().get("lambda_architecture", "x86_64"))


def set_variables(stage: str, variables: Mapping[str, str]) -> None:
    """Set environment variables of the functions, for Chalice to apply."""
    config = _read_config()
    config["stages"][stage]["environment_variables"].update(variables)
    _write(CHALICE_DIRECTORY / _CONFIG, config)


def reserve(stage: str, concurrency: Mapping[str, int]) -> None:
    """Record the reserved concurrency of functions, for Chalice to apply."""
    config = _read_config()
    functions = config["stages"][stage]["lambda_functions"]
    for name, value in concurrency.items():
        functions[name][_RESERVED] = value
    _write(CHALICE_DIRECTORY / _CONFIG, config)


def remove(stage: str) -> None:
    """Remove everything that a deployment has written, after the resources have been deleted."""
    config = _read_config()
    kept = _operators_settings(config["stages"].pop(stage, {}))
    if kept:
        config["stages"][stage] = kept
    _write(CHALICE_DIRECTORY / _CONFIG, config)
    for function in FUNCTIONS:
        (CHALICE_DIRECTORY / _policy_file(stage, function.name)).unlink(missing_ok=True)


def copy_settings(source: str, target: str) -> None:
    """Give a stage the operator's settings of another one, unless it has settings of its own."""
    config = _read_config()
    if target not in config["stages"]:
        config["stages"][target] = _operators_settings(config["stages"].get(source, {}))
        _write(CHALICE_DIRECTORY / _CONFIG, config)


def _operators_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What an operator has added to a stage."""
    own: dict[str, Any] = {name: settings[name] for name in _OPERATORS_SETTINGS if name in settings}
    concurrency = {
        name: found
        for name, function in settings.get("lambda_functions", {}).items()
        if (found := _operators_concurrency(name, function))
    }
    variables = {
        name: value
        for name, value in settings.get("environment_variables", {}).items()
        if not name.startswith(_GENERATED_VARIABLES)
    }
    if concurrency:
        own["lambda_functions"] = concurrency
    if variables:
        own["environment_variables"] = variables
    return own


def _operators_concurrency(function: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The reserved concurrency that an operator set; the default is what `reserve` writes."""
    default = next((one.reserved_concurrency for one in FUNCTIONS if one.name == function), None)
    is_default = default is not None and settings.get(_RESERVED) == default
    return {name: value for name, value in settings.items() if name == _RESERVED and not is_default}


def _policy_file(stage: str, function: str) -> str:
    return f"policy-{stage}-{function}.json"


def _read_config() -> dict[str, Any]:
    config: dict[str, Any] = json.loads((CHALICE_DIRECTORY / _CONFIG).read_text(encoding="utf-8"))
    return config


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
