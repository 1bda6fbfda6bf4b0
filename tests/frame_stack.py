"""A pytest plugin that runs each test in a large chunk of CPython's frame stack.

Since 3.11, CPython keeps frames in chunks of 16 KB. A call that does not fit into the current chunk maps memory for a
new chunk, and its return unmaps the memory. A loop that makes such calls takes twice as long and spends most of the
time in the kernel. The frame below is so large that CPython maps a chunk of two megabytes, which has room for all calls
of a test.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
from _pytest import runner

_LARGE_FRAME = 100_000  # stack slots of eight bytes


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


_call_in_large_frame = FunctionType(_call.__code__.replace(co_stacksize=_LARGE_FRAME), globals())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Any:
    """Run the test as pytest does, but in a large frame."""
    return _call_in_large_frame(runner.pytest_runtest_protocol, item, nextitem)
