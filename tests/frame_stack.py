"""Run each test in a large chunk of CPython's stack of frames.

Since 3.11, CPython keeps frames in chunks of 16 KB. A call that crosses the end of a chunk maps memory for the next
one, and its return unmaps it. A loop at such a depth takes twice as long, most of it in the kernel. The frame below is
so large that CPython maps a chunk of two megabytes, which has room for all calls of a test.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
from _pytest import runner

_LARGE_FRAME = 100_000  # values of eight bytes


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


_call_in_large_frame = FunctionType(_call.__code__.replace(co_stacksize=_LARGE_FRAME), globals())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Any:
    """Run the test as pytest does, in a large frame."""
    return _call_in_large_frame(runner.pytest_runtest_protocol, item, nextitem)
