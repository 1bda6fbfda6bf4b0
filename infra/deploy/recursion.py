"""Lambda's recursive loop detection, which is disabled for some functions.

A function that has more work than fits into one invocation sends the rest to its own queue. Lambda treats this chain as
an error: after about 16 invocations it stops invoking the function, and the message becomes a dead letter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from botocore.exceptions import ClientError

from infra.deploy.function import Function

_ALLOW = "Allow"
# If a region does not support a call, Lambda responds with the error code for a missing permission. A few regions
# support neither loop detection nor its API calls.
_UNKNOWN_CALL = "Unable to determine service/operation name"


def allow(awslambda: Any, name: str, functions: Iterable[Function]) -> None:
    """Disable loop detection for each function that sends to its own queue. `name` is the stack name."""
    for function in functions:
        deployed = function.deployed_name(name)
        if function.sends_to_itself and not is_allowed(awslambda, deployed):
            awslambda.put_function_recursion_config(FunctionName=deployed, RecursiveLoop=_ALLOW)


def is_allowed(awslambda: Any, deployed: str) -> bool:
    """Return whether the function may invoke itself through its queue. `deployed` is its name in the account."""
    try:
        return bool(awslambda.get_function_recursion_config(FunctionName=deployed)["RecursiveLoop"] == _ALLOW)
    except ClientError as error:
        if _UNKNOWN_CALL in str(error):
            return True
        raise
