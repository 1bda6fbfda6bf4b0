"""Hooks of schemathesis: what its generated requests must not do to the run that they test."""

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
    """Let no request repeat an idempotency key, nor end the workspace key of the run."""
    # A changed case gets the credential again that it is to be refused without.
    if not case.operation.schema.is_security_param_negated(case):
        _make_key_unique(case)
    is_valid = case.meta.generation.mode.is_positive
    if is_valid and case.operation.label == _ROTATION and isinstance(case.body, dict):
        _keep_old_key(case.body)


def _make_key_unique(case: Any) -> None:
    """Add a number to a valid key.

    Requests with the key of an earlier one are replayed, which schemathesis does not know: it reports a record that was
    deleted since as lost, and a header that is not read for a replay as accepted.
    """
    key = (case.headers or {}).get(_KEY)
    if key is not None and _VALID_KEY.fullmatch(key):
        number = str(next(_numbers))
        case.headers[_KEY] = key[: _MAX_KEY - len(number)] + number


def _keep_old_key(body: dict[str, Any]) -> None:
    """Let the overlap last a day at least. After it, all requests of the run would be refused."""
    overlap = body.get("overlapSeconds")
    if type(overlap) in (int, float) and overlap in range(_DAY):
        body["overlapSeconds"] = _DAY
