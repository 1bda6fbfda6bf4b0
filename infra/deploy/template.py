"""The whole CloudFormation template: `infra/template.yaml` with log groups and alarms (`monitoring`) and a check."""

from __future__ import annotations

import json
from typing import Any

import yaml

from infra.deploy import monitoring, self_check_resources
from infra.tables import TEMPLATE


def build() -> dict[str, Any]:
    """Return the template of a stack."""
    template: dict[str, Any] = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))
    generated = {**monitoring.log_groups(), **monitoring.alarms(), **self_check_resources.build()}
    return {**template, "Resources": {**template["Resources"], **generated}}


def body(template: dict[str, Any]) -> str:
    """Return a template as the text of a request. CloudFormation accepts at most 51,200 bytes."""
    return json.dumps(template, separators=(",", ":"))


def declared(kind: str) -> list[dict[str, Any]]:
    """Return the properties of all resources with one type, such as `AWS::Logs::LogGroup`, unresolved."""
    return [one["Properties"] for one in build()["Resources"].values() if one["Type"] == kind]
