"""The tasks of the queue of erasures: JSON lists of a name and ids. Each may be repeated."""

import json
from collections.abc import Callable

from chalicelib.conversations import leftovers
from chalicelib.erasures import erasing, retention

_TASKS: dict[str, Callable[..., None]] = {"erase": erasing.resume, "retain": retention.resume}


def run(message: str, seconds: float) -> None:
    """Do what a queue message asks for, for up to `seconds`. Raises ValueError or TypeError if it is malformed."""
    name, *arguments = json.loads(message)
    if name == leftovers.CLEAR:
        leftovers.clear(*arguments)
    elif name in _TASKS:
        _TASKS[name](*arguments, seconds=seconds)
    else:
        raise ValueError("unknown task")
