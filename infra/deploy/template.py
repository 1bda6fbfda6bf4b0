"""The complete CloudFormation template: declared resources, log groups, alarms (`monitoring`) and self-check."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from infra import extension_parts
from infra.deploy import monitoring, self_check_resources
from infra.deploy.functions import declared_functions


def build(extensions: Collection[str] | None = None) -> dict[str, Any]:
    """Return the template of a stack with these extensions, by default with all that are present."""
    template, functions = extension_parts.template(extensions), declared_functions(extensions)
    generated = {
        **monitoring.log_groups(functions),
        **monitoring.alarms(functions, extensions),
        **self_check_resources.build(functions, key_ids(extensions)),
    }
    return {**template, "Resources": {**template["Resources"], **generated}}


def key_ids(extensions: Collection[str] | None = None) -> list[str]:
    """Return the keys' logical ids. The stack output `<logical id>Arn` contains the key's ARN."""
    resources = extension_parts.template(extensions)["Resources"]
    return [logical_id for logical_id, resource in resources.items() if resource["Type"] == "AWS::KMS::Key"]


def body(template: dict[str, Any]) -> str:
    """Return a template as JSON text. CloudFormation accepts at most 51,200 bytes."""
    return json.dumps(template, separators=(",", ":"))


def declared(kind: str, extensions: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Return the unresolved properties of all resources of one type, such as `AWS::Logs::LogGroup`."""
    return [resource["Properties"] for resource in build(extensions)["Resources"].values() if resource["Type"] == kind]
