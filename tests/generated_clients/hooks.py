"""Schemathesis hooks that keep generated requests from disturbing the run under test."""

import re
from itertools import count
from typing import Any

import schemathesis

_KEY, _ROTATION = "Idempotency-Key", "POST /v3/workspace/key/rotate"
_VALID_KEY, _MAX_KEY = re.compile("[!-~]{1,255}"), 255
_DAY = 24 * 60 * 60
_numbers = count()


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Keep requests from reusing an idempotency key and from expiring the run's workspace key."""
    # If the case tests a missing credential, changing the case would add the credential again.
    if not case.operation.schema.is_security_param_negated(case):
        _make_key_unique(case)
    is_valid = case.meta.generation.mode.is_positive
    if is_valid and case.operation.label == _ROTATION and isinstance(case.body, dict):
        _keep_old_key(case.body)


def _make_key_unique(case: Any) -> None:
    """Append a number to a valid idempotency key.

    The service replays the response if a key was already used. Schemathesis would report the replay as an error if the
    record has since been deleted, or if the replay ignores an invalid header.
    """
    key = (case.headers or {}).get(_KEY)
    if key is not None and _VALID_KEY.fullmatch(key):
        number = str(next(_numbers))
        case.headers[_KEY] = key[: _MAX_KEY - len(number)] + number


def _keep_old_key(body: dict[str, Any]) -> None:
    """Make the overlap at least a day, because all of the run's requests would be rejected after the overlap."""
    overlap = body.get("overlapSeconds")
    if type(overlap) in (int, float) and overlap in range(_DAY):
        body["overlapSeconds"] = _DAY
