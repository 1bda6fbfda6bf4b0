"""Fields for test tools, and a tool call that must meet its deadline."""

import sys
import time
from collections.abc import Callable
from typing import Any

from chalicelib.extensions.tool_calls import calls
from tests.api import Api
from tests.sending.timed_post import SLACK

Create = Callable[..., str]


def field(place: str | None, key: str, **members: Any) -> dict[str, Any]:
    """Return a tool field: an argument with this key, sent in this place."""
    return {"key": key, **({"in": place} if place else {}), **members}


def call_and_check(api: Api, path: str) -> dict[str, Any]:
    """Call a tool; return the result. Check that the call met its deadline."""
    start = time.monotonic()
    answer = api.post(path, {"arguments": {}})
    took = time.monotonic() - start
    assert answer.status == 200, answer.text
    data: dict[str, Any] = answer.data
    sys.stdout.write(f"{took:.3f} s: {data['error']}\n")
    assert took <= calls.DEADLINE_SECONDS + SLACK
    assert data["durationMs"] <= took * 1000 + 1
    return data
