"""The stage in `.chalice/config.json`: what the stack said, in the words of Chalice, and the policy files beside it.

With it a plain `chalice deploy --stage prod` does the right thing, too. What an operator has added to the stage, such
as another environment variable, stays.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from infra.deploy.functions import FUNCTIONS
from infra.deploy.policies import Outputs, policy, stream_output

ROOT = Path(__file__).resolve().parents[2]
CHALICE = ROOT / ".chalice"
_CONFIG = "config.json"
_COMPRESSED_FROM_BYTES = 1024
_OURS = ("CAMS_TABLE_PREFIX", "CAMS_ENCRYPTION_KEY", "CAMS_STREAM_")


def record(stage: str, name: str, outputs: Outputs) -> None:
    """Write the stage, whole, and its policies. What an operator has put there beside ours stays."""
    config = _read()
    ours = config["stages"].setdefault(stage, {})
    ours.update(
        {
            "api_gateway_stage": stage,
            "api_gateway_endpoint_type": "REGIONAL",
            "minimum_compression_size": _COMPRESSED_FROM_BYTES,
            # Chalice would look for rights in app.py, and find none.
            "autogen_policy": False,
        }
    )
    ours.setdefault("environment_variables", {}).update(variables(name, outputs))
    settings = ours.setdefault("lambda_functions", {})
    for function in FUNCTIONS:
        own = {"lambda_memory_size": function.memory, "lambda_timeout": function.seconds}
        settings.setdefault(function.name, {}).update(own, iam_policy_file=_policy_file(stage, function.name))
        _write(CHALICE / _policy_file(stage, function.name), policy(function, name, outputs))
    _write(CHALICE / _CONFIG, config)


def variables(name: str, outputs: Outputs) -> dict[str, str]:
    """The environment of the functions, and of an operator's command."""
    streams = (function.stream for function in FUNCTIONS if function.stream)
    return {
        "CAMS_TABLE_PREFIX": f"{name}-",
        "CAMS_ENCRYPTION_KEY": outputs["EncryptionKeyArn"],
        **{f"CAMS_STREAM_{table.upper()}": outputs[stream_output(table)] for table in streams},
    }


def recorded(stage: str) -> dict[str, Any]:
    """The stage as it is written down, empty when it is not."""
    found: dict[str, Any] = _read()["stages"].get(stage, {})
    return found


def forget(stage: str) -> None:
    """Take out what `record` has written: what it names is not there any more."""
    config = _read()
    ours = config["stages"].get(stage, {})
    left = ours.get("environment_variables", {})
    for name in [name for name in left if name.startswith(_OURS)]:
        del left[name]
    config["stages"].pop(stage, None)
    if left:
        config["stages"][stage] = {"environment_variables": left}
    _write(CHALICE / _CONFIG, config)
    for function in FUNCTIONS:
        (CHALICE / _policy_file(stage, function.name)).unlink(missing_ok=True)


def _policy_file(stage: str, function: str) -> str:
    return f"policy-{stage}-{function}.json"


def _read() -> dict[str, Any]:
    config: dict[str, Any] = json.loads((CHALICE / _CONFIG).read_text(encoding="utf-8"))
    return config


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
