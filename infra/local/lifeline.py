"""Ends a child process when the process that started it is gone, however that one died.

The parent keeps the other end of the child's standard input open and never writes to it: the operating system
closes it with the parent, `kill -9` included, on every platform (a parent-death signal exists on Linux
alone).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

_SECONDS_TO_STOP = 10


def end_with_parent() -> None:
    """From now on this process gets a SIGTERM when its parent is gone, and is ended if that does not end it."""
    threading.Thread(target=_wait_for_the_end, name="lifeline", daemon=True).start()


def _wait_for_the_end() -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_SECONDS_TO_STOP)
    os._exit(1)
