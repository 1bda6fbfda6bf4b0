"""A stage's limits, which protect the account from the stage and callers from each other.

Operators set the limits per stage in `.chalice/config.json` (docs/operate.md):

    "throttle": {"rate": 1000, "burst": 1000},
    "requests_per_credential": 0,
    "lambda_functions": {"deliver": {"reserved_concurrency": 200}, "deliver_slow": {"reserved_concurrency": 50}}

The throttle is an API stage setting that Chalice cannot express. The limit per credential is an AWS WAF rule in
`infra/template.yaml`. Chalice reserves the concurrency. `concurrency` computes the defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from infra.deploy.function import Function
from infra.deploy.functions import declared_functions
from infra.deploy.stage import Settings

_THROTTLE = ("rate", "burst")
# AWS limits: an account's default request rate (lower in some regions), a rate-based rule's limit, and a queue's
# concurrency.
_THROTTLES = range(1, 10_000 + 1)
_REQUESTS = range(10, 2_000_000_000 + 1)
_CONCURRENCIES = range(2, 1_000 + 1)


def problems(settings: Settings, stage_name: str) -> Iterator[str]:
    """Yield an error for each setting that AWS would reject."""
    yield from _throttle_problems(settings.get("throttle", {}), stage_name)
    requests = settings.get("requests_per_credential", 0)
    if not _is_number(requests) or (requests and requests not in _REQUESTS):
        yield (
            f"requests_per_credential of stage {stage_name} is {requests!r}: use 0 for none, or a whole number from 10 "
            "to 2000000000."
        )
    yield from _concurrency_problems(settings.get("lambda_functions", {}), stage_name)


def _throttle_problems(throttle: Any, stage_name: str) -> Iterator[str]:
    if not isinstance(throttle, dict):
        yield f"throttle of stage {stage_name} is {throttle!r}: use an object with rate and burst."
        return
    for name, value in throttle.items():
        if name not in _THROTTLE or not _is_number(value) or value not in _THROTTLES:
            yield f"throttle.{name} of stage {stage_name} is {value!r}: set rate and burst to numbers from 1 to 10000."


def _concurrency_problems(functions: Any, stage_name: str) -> Iterator[str]:
    if not isinstance(functions, dict):
        yield f"lambda_functions of stage {stage_name} is {functions!r}: use an object with names of functions."
        return
    known = {function.name: function for function in declared_functions()}
    for name, settings in functions.items():
        if not isinstance(settings, dict):
            yield f"lambda_functions.{name} of stage {stage_name} is {settings!r}: use an object with settings."
        elif name in known:
            yield from _reserved_problems(known[name], settings.get("reserved_concurrency"), stage_name)


def _reserved_problems(function: Function, value: Any, stage_name: str) -> Iterator[str]:
    """Yield an error for an invalid reserved concurrency, which also limits the function's queue."""
    valid = value is None or (_is_number(value) and (value in _CONCURRENCIES if function.queue else value > 0))
    if not valid:
        allowed = "a whole number from 2 to 1000" if function.queue else "a whole number from 1"
        place = f"reserved_concurrency of {function.name}, stage {stage_name},"
        yield f"{place} is {value!r}: use null for none, or {allowed}."


def unknown_functions(settings: Settings, functions: Iterable[Function]) -> list[str]:
    """Return the names in `lambda_functions` that match no function, such as names from a disabled extension."""
    return sorted(settings.get("lambda_functions", {}).keys() - {function.name for function in functions})


def requests_per_credential(settings: Settings) -> int:
    """Return the number of requests that a credential may send in five minutes, or 0 for no limit."""
    return int(settings.get("requests_per_credential", 0))


def throttle(gateway: Any, api_id: str, stage_name: str, settings: Settings) -> bool:
    """Set the API stage's throttle. Return whether the throttle has changed."""
    limit = settings["throttle"]
    current = gateway.get_stage(restApiId=api_id, stageName=stage_name).get("methodSettings", {}).get("*/*", {})
    if (current.get("throttlingRateLimit"), current.get("throttlingBurstLimit")) == (limit["rate"], limit["burst"]):
        return False
    operations = [
        {"op": "replace", "path": f"/*/*/throttling/{name}Limit", "value": str(value)} for name, value in limit.items()
    ]
    gateway.update_stage(restApiId=api_id, stageName=stage_name, patchOperations=operations)
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
