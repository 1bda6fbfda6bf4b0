"""Runs one release of the service: `python release_process.py`, with the release first in `PYTHONPATH`.

For each line `{"handler", "event"}` on standard input, the process prints `{"returned"}` or `{"raised"}`. A line
`{"seconds"}` advances the release's clock. The process imports no module of the working tree.
"""

import importlib
import json
import os
import sys
from types import SimpleNamespace
from typing import Any

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # the release logs to standard output

from app import app
from chalicelib import clock


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Invoke a handler as Lambda does."""
    if "sources" in request:
        sources = app.event_sources
        return {"returned": [[one.handler_string, _table(one), getattr(one, "queue", "")] for one in sources]}
    if "seconds" in request:
        milliseconds = clock.milliseconds
        clock.milliseconds = lambda: milliseconds() + request["seconds"] * 1000
        return {"returned": None}
    module, _, name = request["handler"].rpartition(".")
    context = SimpleNamespace(aws_request_id="1", function_name=name, memory_limit_in_mb=256)
    try:
        return {"returned": getattr(importlib.import_module(module), name)(request["event"], context)}
    except Exception as error:
        return {"raised": type(error).__name__}


def _table(source: Any) -> str:
    return source.name.rpartition("_")[2] if hasattr(source, "stream_arn") else ""


for line in sys.stdin:
    answers.write(json.dumps(answer(json.loads(line))) + "\n")
    answers.flush()
