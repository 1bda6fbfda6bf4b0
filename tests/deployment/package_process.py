"""Run a function of the package where there is nothing else, and tell what it has imported and opened.

    python -I -S -B package_process.py PACKAGE MODULE < EVENTS

EVENTS is a JSON list of [handler, event]. Imports only the standard library and the package, as a cloud's runtime does;
which modules are compiled, opened or imported is known from the interpreter's own audit events.
"""

import gc
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGE, MODULE = sys.argv[1:]
sys.path.insert(0, PACKAGE)

opened: set[str] = set()
compiled: set[str] = set()


def note(event: str, arguments: tuple[Any, ...]) -> None:
    """Keep what was read of the package, and which of its sources Python had to compile."""
    if event == "open" and str(arguments[0]).startswith(PACKAGE):
        opened.add(str(arguments[0]))
    elif event == "compile" and str(arguments[1]).endswith(".py"):
        compiled.add(str(arguments[1]))


class Context:
    """What a runtime hands over beside the event."""

    function_name = MODULE
    function_version = "1"
    invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:cams"
    memory_limit_in_mb = 256
    aws_request_id = "1"
    log_group_name = log_stream_name = ""

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        """A minute, always."""
        return 60_000


def state() -> dict[str, Any]:
    """What the process has imported by now, and how many SDK clients of each service it has made."""
    base = sys.modules["botocore.client"].BaseClient
    clients = [type(one).__name__ for one in gc.get_objects() if isinstance(one, base)]
    return {
        "modules": sorted(sys.modules),
        "clients": {name: clients.count(name) for name in clients},
        "compiled": sorted(compiled),
    }


sys.addaudithook(note)
module = import_module(MODULE)
at_start = state()
answers, after_each = [], []
for handler, event in json.load(sys.stdin):
    answers.append(getattr(module, handler)(event, Context()))
    after_each.append(state())
files = {str(Path(one).relative_to(PACKAGE)) for one in opened if Path(one).is_file()}
libraries = {
    str(Path(str(one.__file__)).relative_to(PACKAGE))
    for one in list(sys.modules.values())
    if (getattr(one, "__file__", None) or "").startswith(PACKAGE)
}
json.dump(
    {"answers": answers, "at_start": at_start, "after_each": after_each, "files": sorted(files | libraries)}, sys.stdout
)
