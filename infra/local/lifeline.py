"""Stop a child process when its parent process dies for any reason.

The parent holds the write end of the child's standard input. On every platform, the operating system closes the pipe
when the parent dies, even after `kill -9`. A parent-death signal exists only on Linux. If a child must also stop when
its parent hangs (SIGSTOP), it sets a maximum silence, and the parent writes at regular intervals.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time

_SECONDS_TO_STOP = 10


def end_with_parent(silence: float | None = None) -> None:
    """Send SIGTERM to this process when its parent dies, and exit with status 1 if it still runs after 10 s.

    If `silence` is set, also stop when the parent has written nothing for `silence` seconds.
    """
    threading.Thread(target=_watch_standard_input, args=(silence,), name="lifeline", daemon=True).start()


def _watch_standard_input(silence: float | None) -> None:
    lifeline = sys.stdin.fileno()
    while select.select([lifeline], [], [], silence)[0] and os.read(lifeline, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_SECONDS_TO_STOP)
    os._exit(1)
