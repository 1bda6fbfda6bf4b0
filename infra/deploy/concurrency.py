"""The concurrency settings of a stage, scaled to the account's limit of concurrent executions.

All functions of an account share its concurrent executions: usually 1,000 in a region, but 10 in a new account. If the
queues may invoke more functions than that, Lambda throttles the invocation after the message has been received. Each
receive counts, so after ten throttled receives an intact message is moved to the dead-letter queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.deploy.functions import declared_functions
from infra.deploy.stage import RESERVED, Settings, extensions, merge

# `functions` has the values for this account.
_FULL_SIZE = 1_000
# AWS's minimum of a queue's MaximumConcurrency.
_MIN_OF_QUEUE = 2
# AWS rejects a reservation that leaves fewer unreserved executions.
_MIN_UNRESERVED = 100
MINIMUM = 10
"""Four for the API: a page of the console and what it loads. Four for the two queues of deliveries, AWS's minimum. Two
for the streams and the other queues, whose invocations are short."""
RECOMMENDED = 100
_QUOTA = "L-B99A9384"


def available_executions(awslambda: Any, current: Settings) -> int:
    """Return the concurrent executions of the account that other applications' functions do not reserve.

    `current` contains the deployed settings of the stage: the next deployment may reuse the executions that the last
    one reserved.
    """
    unreserved = awslambda.get_account_settings()["AccountLimit"]["UnreservedConcurrentExecutions"]
    return int(unreserved) + sum(reservations(current).values())


def problem(settings: Settings, executions: int) -> str:
    """Return a sentence if the API would lack executions or AWS would reject a reservation, otherwise an empty text."""
    if executions < MINIMUM:
        return (
            f"The account has {executions} concurrent executions for this stage, which needs at least {MINIMUM}: "
            f"remove reservations of other functions, or request more with `{_request()}`."
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
    """Return a sentence if the account is small, otherwise an empty text."""
    if executions >= RECOMMENDED:
        return ""
    return (
        f"The account has only {executions} concurrent executions, so requests may fail and webhooks may be late under "
        f"load: request more with `{_request()}`, then deploy again."
    )


def with_defaults(settings: Settings, executions: int) -> dict[str, Any]:
    """Add the throttle and the reserved concurrency of an account with this many concurrent executions."""
    own = settings.get("lambda_functions", {})
    missing = {
        function.name: _scaled(function.reserved_concurrency, executions)
        for function in declared_functions(extensions(settings))
        if function.reserved_concurrency and RESERVED not in own.get(function.name, {})
    }
    if executions - sum(reservations(settings).values()) - sum(missing.values()) < _MIN_UNRESERVED:
        missing = {}
    # If each request took 0.5 s, like the longest, the requests would use half of the concurrent executions.
    throttle = dict.fromkeys(("rate", "burst"), min(_FULL_SIZE, executions))
    functions = {name: {RESERVED: value} for name, value in missing.items()}
    return merge({"throttle": throttle, "lambda_functions": functions}, settings)


def reservations(settings: Settings) -> dict[str, int]:
    """Return the reserved concurrency of each function that has one."""
    functions: Mapping[str, Any] = settings.get("lambda_functions", {})
    values = {name: one.get(RESERVED) for name, one in functions.items()}
    return {name: value for name, value in values.items() if value is not None}


def mapping_settings(settings: Settings, executions: int) -> dict[str, dict[str, Any]]:
    """Return the settings of event source mappings that depend on the account, by function.

    A queue invokes a function no more often than its reserved concurrency, because Lambda would throttle the rest.
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
    """Return a concurrency of `functions` for an account of another size."""
    return max(_MIN_OF_QUEUE, min(value, value * executions // _FULL_SIZE))


def _request() -> str:
    return (
        "aws service-quotas request-service-quota-increase --service-code lambda "
        f"--quota-code {_QUOTA} --desired-value {_FULL_SIZE}"
    )
