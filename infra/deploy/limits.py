"""The limits of a stage, which protect the account from the stage, and its callers from each other.

An operator sets them in the stage of `.chalice/config.json` (docs/operate.md):

    "throttle": {"rate": 1000, "burst": 1000},
    "requests_per_credential": 0,
    "lambda_functions": {"deliver": {"reserved_concurrency": 200}, "deliver_slow": {"reserved_concurrency": 50}}

The throttle is a setting of the API's stage, which Chalice cannot express. The limit of a credential is a rule of AWS
WAF in `infra/template.yaml`. Chalice reserves the concurrency.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from infra.deploy import stage
from infra.deploy.functions import FUNCTIONS

# Requests per second, and at once. Even if each takes 0.7 s, the longest of all, they fit into an account's 1,000
# concurrent executions, besides the reserved ones.
_THROTTLE = {"rate": 1000, "burst": 1000}
# Concurrent executions that remain for all other functions of the account. Smaller accounts reserve nothing.
_MIN_UNRESERVED = 500
# The lowest limits of AWS.
_MIN_REQUESTS = 10
_MIN_CONCURRENCY = 2


def problems(stage_name: str) -> Iterator[str]:
    """A sentence for each setting that AWS would reject."""
    throttle = _throttle(stage_name)
    for name, value in throttle.items():
        if name not in _THROTTLE or not _is_number(value) or value < 1:
            yield f"throttle.{name} of stage {stage_name} is {value!r}: set rate and burst to whole numbers from 1."
    requests = stage.read(stage_name).get("requests_per_credential", 0)
    if not _is_number(requests) or 0 < requests < _MIN_REQUESTS or requests < 0:
        yield f"requests_per_credential of stage {stage_name} is {requests!r}: use 0 for none, or at least 10."
    for name, value in reserved(stage_name).items():
        if not _is_number(value) or value < _MIN_CONCURRENCY:
            yield f"reserved_concurrency of {name}, stage {stage_name}, is {value!r}: use null for none, or at least 2."


def requests_per_credential(stage_name: str) -> int:
    """The requests that one credential may send in five minutes; 0 for no limit."""
    return int(stage.read(stage_name).get("requests_per_credential", 0))


def reserved(stage_name: str) -> dict[str, int]:
    """The reserved concurrency of each function that has one."""
    functions: Mapping[str, Any] = stage.read(stage_name).get("lambda_functions", {})
    values = {name: settings.get("reserved_concurrency") for name, settings in functions.items()}
    return {name: value for name, value in values.items() if value is not None}


def reserve(awslambda: Any, stage_name: str) -> None:
    """Reserve concurrency for the functions of the table without a setting, if the account has enough."""
    known = stage.read(stage_name).get("lambda_functions", {})
    wanted = {one.name: one.reserved_concurrency for one in FUNCTIONS if one.reserved_concurrency}
    missing = {name: value for name, value in wanted.items() if "reserved_concurrency" not in known.get(name, {})}
    unreserved = awslambda.get_account_settings()["AccountLimit"]["UnreservedConcurrentExecutions"]
    if missing and unreserved - sum(missing.values()) >= _MIN_UNRESERVED:
        stage.reserve(stage_name, missing)


def throttle(gateway: Any, api_id: str, stage_name: str) -> bool:
    """Set the throttle of the API's stage. Returns whether it was different."""
    wanted = _throttle(stage_name)
    current = gateway.get_stage(restApiId=api_id, stageName=stage_name).get("methodSettings", {}).get("*/*", {})
    if (current.get("throttlingRateLimit"), current.get("throttlingBurstLimit")) == (wanted["rate"], wanted["burst"]):
        return False
    operations = [
        {"op": "replace", "path": f"/*/*/throttling/{name}Limit", "value": str(value)} for name, value in wanted.items()
    ]
    gateway.update_stage(restApiId=api_id, stageName=stage_name, patchOperations=operations)
    return True


def _throttle(stage_name: str) -> dict[str, int]:
    return {**_THROTTLE, **stage.read(stage_name).get("throttle", {})}


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
