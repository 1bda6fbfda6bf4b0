"""A stage's settings, and the configuration that Chalice deploys it with.

The operator's settings are in `.chalice/config.json`, which a deployment only reads. The deployment generates Chalice's
configuration and a policy file per function in `build/<stage>/.chalice`, and runs Chalice there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from email.utils import parseaddr
from pathlib import Path
from typing import Any

import click

from chalicelib.extensions import present
from infra.deploy.function import APPLICATION
from infra.deploy.functions import declared_functions
from infra.deploy.policies import Outputs, policy, stream_output

ROOT = Path(__file__).resolve().parents[2]
CHALICE_DIRECTORY = ROOT / ".chalice"
Settings = Mapping[str, Any]
"""The settings of one stage, in the same form as `.chalice/config.json`."""
RESERVED = "reserved_concurrency"
"""Chalice's setting for reserved concurrency."""

_CONFIG = "config.json"
_MINIMUM_COMPRESSION_BYTES = 1024
_GENERATED_VARIABLES = (
    "CAMS_TABLE_PREFIX",
    "CAMS_ENCRYPTION_KEY",
    "CAMS_STREAM_",
    "CAMS_STORED_LAYOUT",
    "CAMS_READABLE_LAYOUTS",
    "CAMS_EXTENSIONS",
)
_POLICY_FILE = "iam_policy_file"


def read(stage: str) -> dict[str, Any]:
    """Return the operator's settings for a stage. Like Chalice, use the settings for all stages as defaults.

    Raise ClickException if the file is malformed.
    """
    try:
        config = json.loads((CHALICE_DIRECTORY / _CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise click.ClickException(f".chalice/{_CONFIG} cannot be read: {error}.") from error
    stages = config.get("stages", {}) if isinstance(config, dict) else None
    own = stages.get(stage, {}) if isinstance(stages, dict) else None
    if not isinstance(own, dict):
        raise click.ClickException(f'.chalice/{_CONFIG} has no object such as {{"stages": {{"{stage}": {{}}}}}}.')
    if config.get("app_name", APPLICATION) != APPLICATION:
        raise click.ClickException(f'.chalice/{_CONFIG} has the wrong "app_name": set it to "{APPLICATION}".')
    of_all = {key: value for key, value in config.items() if key not in ("version", "app_name", "stages")}
    return merge(of_all, own)


def merge(base: Settings, preferred: Settings) -> dict[str, Any]:
    """Merge two settings. Nested objects are merged by member; `preferred` takes precedence."""
    merged = {**base, **preferred}
    for key in base.keys() & preferred.keys():
        if isinstance(base[key], dict) and isinstance(preferred[key], dict):
            merged[key] = merge(base[key], preferred[key])
    return merged


def without_null(settings: Settings) -> dict[str, Any]:
    """Remove members that are null, because null means the default, but keep a null reserved concurrency."""
    return {
        key: without_null(value) if isinstance(value, dict) else value
        for key, value in settings.items()
        if value is not None or key == RESERVED
    }


def is_generated(variable: str) -> bool:
    """Return whether a deployment generates this environment variable."""
    return variable.startswith(_GENERATED_VARIABLES)


def extensions(settings: Settings) -> tuple[str, ...]:
    """Return a stage's extensions. Without the setting, a stage has all extensions that are present."""
    return tuple(sorted(settings.get("extensions", present())))


def architecture(settings: Settings) -> str:
    """Return the functions' processor architecture."""
    return str(settings.get("lambda_architecture") or "x86_64")


def variables(name: str, outputs: Outputs, extensions: Collection[str] | None = None) -> dict[str, str]:
    """Return the environment variables of the functions and of the operator's commands.

    `extensions` are the stage's extensions, by default all that are present.
    """
    streams = (function.stream for function in declared_functions(extensions) if function.stream)
    return {
        "CAMS_EXTENSIONS": ",".join(present() if extensions is None else extensions),
        "CAMS_TABLE_PREFIX": f"{name}-",
        "CAMS_ENCRYPTION_KEY": outputs["EncryptionKeyArn"],
        **{f"CAMS_STREAM_{table.upper()}": outputs[stream_output(table)] for table in streams},
    }


def generate(
    directory: Path, stage: str, name: str, settings: Settings, outputs: Outputs, variables: Mapping[str, str]
) -> None:
    """Write the configuration and the policy files to `.chalice` in the project `directory`.

    `variables` are the generated environment variables; `name` is the stack name, such as `cams-prod`.
    """
    target = directory / ".chalice"
    target.mkdir(parents=True, exist_ok=True)
    for stale in target.glob("*.json"):
        stale.unlink()
    environment = {**settings.get("environment_variables", {}), **variables}
    sender = parseaddr(environment.get("CAMS_MAIL_SENDER", ""))[1]
    functions = {}
    for function in declared_functions(extensions(settings)):
        functions[function.name] = {
            **settings.get("lambda_functions", {}).get(function.name, {}),
            "lambda_memory_size": function.memory_mb,
            "lambda_timeout": function.timeout_seconds,
            _POLICY_FILE: f"policy-{stage}-{function.name}.json",
        }
        _write(target / functions[function.name][_POLICY_FILE], policy(function, name, outputs, sender))
    generated = {
        **settings,
        "api_gateway_stage": stage,
        "api_gateway_endpoint_type": "REGIONAL",
        "minimum_compression_size": _MINIMUM_COMPRESSION_BYTES,
        # Chalice would derive permissions from AWS calls in app.py, which makes no such calls.
        "autogen_policy": False,
        "environment_variables": environment,
        "lambda_functions": functions,
    }
    _write(target / _CONFIG, {"version": "2.0", "app_name": APPLICATION, "stages": {stage: generated}})


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
