"""A stage's concurrency settings, scaled to the account's limit on concurrent executions.

All functions in an account share its concurrent executions: usually 1,000 per region, but 10 in a new account. If the
queues could start more invocations than that, Lambda would throttle invocations after receiving their messages. Each
receive counts, so an intact message would be moved to the dead-letter queue after ten throttled receives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.deploy.functions import declared_functions
from infra.deploy.stage import RESERVED, Settings, extensions, merge

# Concurrent executions of the account size that the values in `functions` assume.
_FULL_SIZE = 1_000
# AWS's minimum for a queue's MaximumConcurrency.
_MIN_OF_QUEUE = 2
# AWS rejects a reservation that leaves fewer executions unreserved.
_MIN_UNRESERVED = 100
MINIMUM = 10
"""Four executions for the API: a console page and the requests that it makes. Four for the two delivery queues, because
AWS's minimum per queue is two. Two for the streams and the other queues, whose invocations are short."""
RECOMMENDED = 100
_QUOTA = "L-B99A9384"


def available_executions(awslambda: Any, current: Settings) -> int:
    """Return the concurrent executions of the account that other applications' functions do not reserve.

    `current` contains the stage's deployed settings: the next deployment can reuse the executions that the last
    deployment reserved.
    """
    unreserved = awslambda.get_account_settings()["AccountLimit"]["UnreservedConcurrentExecutions"]
    return int(unreserved) + sum(reservations(current).values())


def problem(settings: Settings, executions: int) -> str:
    """Return an error if the API lacks executions or AWS would reject a reservation, or an empty string if not."""
    if executions < MINIMUM:
        return (
            f"The account has {executions} concurrent executions for this stage, which needs at least {MINIMUM}: "
            f"remove other functions' reservations, or request more with `{_request()}`."
        )
    remaining = executions - sum(reservations(settings).values())
    if reservations(settings) and remaining < _MIN_UNRESERVED:
        return (
            f"The reserved_concurrency of {', '.join(reservations(settings))} would leave {max(0, remaining)} of the "
            f"account's {executions} concurrent executions for this stage, and AWS keeps {_MIN_UNRESERVED} unreserved: "
            f"lower it or set it to null, or request more with `{_request()}`."
        )
    return ""


def warning(executions: int) -> str:
    """Return a warning if the account's limit is low, otherwise an empty string."""
    if executions >= RECOMMENDED:
        return ""
    return (
        f"The account has only {executions} concurrent executions, so requests may fail and webhooks may be late under "
        f"load: request more with `{_request()}`, then deploy again."
    )


def with_defaults(settings: Settings, executions: int) -> dict[str, Any]:
    """Add the default throttle and reserved concurrency for an account with this number of executions."""
    own = settings.get("lambda_functions", {})
    missing = {
        function.name: _scaled(function.reserved_concurrency, executions)
        for function in declared_functions(extensions(settings))
        if function.reserved_concurrency and RESERVED not in own.get(function.name, {})
    }
    if executions - sum(reservations(settings).values()) - sum(missing.values()) < _MIN_UNRESERVED:
        missing = {}
    # If every request took 0.5 s, like the slowest, the requests would use half the concurrent executions.
    throttle = dict.fromkeys(("rate", "burst"), min(_FULL_SIZE, executions))
    functions = {name: {RESERVED: value} for name, value in missing.items()}
    return merge({"throttle": throttle, "lambda_functions": functions}, settings)


def reservations(settings: Settings) -> dict[str, int]:
    """Return the reserved concurrency of each function that sets it."""
    functions: Mapping[str, Any] = settings.get("lambda_functions", {})
    values = {name: one.get(RESERVED) for name, one in functions.items()}
    return {name: value for name, value in values.items() if value is not None}


def mapping_settings(settings: Settings, executions: int) -> dict[str, dict[str, Any]]:
    """Return the account-dependent settings of the event source mappings, keyed by function.

    A queue's concurrency does not exceed the function's reserved concurrency, because Lambda would throttle the excess.
    """
    limits = reservations(settings)
    scaled: dict[str, dict[str, Any]] = {}
    for function in declared_functions(extensions(settings)):
        if function.queue:
            maximum = function.mapping_settings["ScalingConfig"]["MaximumConcurrency"]
            value = limits.get(function.name, _scaled(maximum, executions))
            scaled[function.name] = {"ScalingConfig": {"MaximumConcurrency": value}}
        elif function.stream:
            factor = function.mapping_settings["ParallelizationFactor"]
            scaled[function.name] = {"ParallelizationFactor": max(1, min(factor, factor * executions // _FULL_SIZE))}
    return scaled


def _scaled(value: int, executions: int) -> int:
    """Return a concurrency from `functions`, scaled to the account's size."""
    return max(_MIN_OF_QUEUE, min(value, value * executions // _FULL_SIZE))


def _request() -> str:
    return (
        "aws service-quotas request-service-quota-increase --service-code lambda "
        f"--quota-code {_QUOTA} --desired-value {_FULL_SIZE}"
    )
