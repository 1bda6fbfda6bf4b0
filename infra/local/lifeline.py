"""Stops a child process when its parent process dies, however it dies.

The parent holds the write end of the child's standard input and never writes to it. The operating system closes it
when the parent dies, even after `kill -9`, on every platform. A parent-death signal exists only on Linux.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

_SECONDS_TO_STOP = 10


def end_with_parent() -> None:
    """Send SIGTERM to this process when its parent dies, and exit with 1 if it still runs 10 seconds later."""
    threading.Thread(target=_watch_standard_input, name="lifeline", daemon=True).start()


def _watch_standard_input() -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_SECONDS_TO_STOP)
    os._exit(1)
