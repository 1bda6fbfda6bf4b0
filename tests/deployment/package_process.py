"""Runs handlers of the package in an isolated interpreter, and prints which modules and files they used.

    python -I -S -B package_process.py PACKAGE MODULE < EVENTS

EVENTS is a JSON list of [handler, event]. Like the Lambda runtime, the process can import only the standard library and
the package. The interpreter's audit events report the files that the process opens and compiles.
"""

import gc
import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGE, MODULE = sys.argv[1:]
sys.path.insert(0, PACKAGE)

opened: set[str] = set()
compiled: set[str] = set()
expressions: set[str] = set()


def audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Record each package file that is opened, and each source file that is compiled."""
    if event == "open" and str(arguments[0]).startswith(PACKAGE):
        opened.add(str(arguments[0]))
    elif event == "compile" and str(arguments[1]).endswith(".py"):
        compiled.add(str(arguments[1]))


class Context:
    """An invocation's context object."""

    function_name = MODULE
    function_version = "1"
    invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:cams"
    memory_limit_in_mb = 256
    aws_request_id = "1"
    log_group_name = log_stream_name = ""

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        """Return a remaining time of one minute."""
        return 60_000


def state() -> dict[str, Any]:
    """Return the modules imported and compiled so far, and the number of SDK clients per service."""
    base = sys.modules["botocore.client"].BaseClient
    gc.unfreeze()  # `app` freezes the objects that exist after its import
    clients = [type(one).__name__ for one in gc.get_objects() if isinstance(one, base)]
    return {
        "expressions": sorted(expressions),
        "modules": sorted(sys.modules),
        "clients": {name: clients.count(name) for name in clients},
        "compiled": sorted(compiled),
    }


def note_expression(pattern: Any, flags: int = 0) -> Any:
    """Record and compile a regular expression."""
    expressions.add(repr(pattern))
    return compile_expression(pattern, flags)


compile_expression = re._compiler.compile  # type: ignore[attr-defined]
re._compiler.compile = note_expression  # type: ignore[attr-defined]
re.purge()
sys.addaudithook(audit)
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
