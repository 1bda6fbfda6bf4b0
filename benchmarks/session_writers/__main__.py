"""Concurrent writers of one conversation: a process that forks them, and that reads the conversation at the end.

    python -m benchmarks.session_writers JSON

JSON contains the store's name, a directory, the conversation's id, the number of writers, the number of messages of
each writer, and the writers to kill. The process imports the framework once. Each writer opens the session, waits for
the common start, and adds its messages one after the other without a pause. Before and after each call, it reports to
this process, so that the reports of a killed writer are complete.

The process prints `ready` and `written`, and waits for a line of input after each. Finally, it prints its outcome.
"""

import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.session_writers import stores
from benchmarks.transcripts import transcript

# The longest life of a process in seconds, so that none remains if another has failed.
_LIFE = 900


class Pipes(NamedTuple):
    """The ends of the pipes that the writers use: to report, to wait for the start, and to report that they wait."""

    reports: int
    start: int
    waiting: int


def main(store: str, directory: str, conversation: str, writers: int, each: int, victims: list[int]) -> None:
    """Run the writers and print what they reported and what the store contains.

    A report contains the writer, the number of its message, the time, and `begun`, `returned`, or the call's error.
    """
    signal.alarm(_LIFE)
    opened = _opener(store, directory, conversation)
    if _wait(_fork(opened)):  # creates the conversation, so that the writers do not race for its creation
        raise RuntimeError("the session cannot be opened")
    reports, start, waiting = os.pipe(), os.pipe(), os.pipe()
    pipes = Pipes(reports[1], start[0], waiting[1])
    pids = {}
    for writer in range(writers):
        # The parts of a call after which the writers are killed differ.
        part = (victims.index(writer) + 0.5) / len(victims) if writer in victims else None
        pids[writer] = _fork(lambda writer=writer, part=part: _write(opened, writer, each, part, pipes))
    os.close(pipes.reports)
    os.close(pipes.waiting)
    for _ in range(writers):
        if not os.read(waiting[0], 1):
            raise RuntimeError("a writer cannot open the session")
    _pause("ready")
    began = time.monotonic()
    os.write(start[1], b"." * writers)
    with os.fdopen(reports[0], encoding="utf-8") as lines:
        reported = [json.loads(line) for line in lines]  # ends with the last writer
    for writer, pid in pids.items():
        if _wait(pid) != (-signal.SIGKILL if writer in victims else 0):
            raise RuntimeError(f"writer {writer} failed")
    _pause("written")
    seconds = max(moment for *_, moment in reported) - began
    print(json.dumps({"reports": reported, "seconds": seconds, "stored": [*map(_id, opened().texts())]}))


def _opener(store: str, directory: str, conversation: str) -> Callable[[], stores.Session]:
    module, _, name = stores.STORES[store].session.partition(":")
    opened = getattr(importlib.import_module(f"benchmarks.session_writers.{module}"), name)
    return lambda: opened(directory, conversation)


def _write(opened: Callable[[], stores.Session], writer: int, each: int, part: float | None, pipes: Pipes) -> None:
    """Open the session, wait for the start, and add the messages of one writer.

    With `part`, another process kills this one after that part of the shortest earlier call, in the call in the middle.
    """
    store = opened()
    texts = [message["text"] for message in transcript(each)]

    def report(number: int, event: str) -> float:
        moment = time.monotonic()
        os.write(pipes.reports, json.dumps([writer, number, event, moment]).encode() + b"\n")
        return moment

    os.write(pipes.waiting, b".")
    os.read(pipes.start, 1)
    shortest = float(_LIFE)
    for number, text in enumerate(texts):
        begun = report(number, "begun")
        if part is not None and number == each // 2:
            _kill_later(part * shortest)
        try:
            store.add(f"{writer} {number} {text}")
        except Exception as error:  # the application would see any error
            report(number, type(error).__name__)
        else:
            shortest = min(shortest, report(number, "returned") - begun)
    if part is not None:
        signal.pause()


def _kill_later(seconds: float) -> None:
    """Start a process that kills this process. A thread would wait for the interpreter's lock."""
    victim = os.getpid()

    def kill() -> None:
        time.sleep(seconds)
        os.kill(victim, signal.SIGKILL)

    _fork(kill)


def _id(text: str) -> tuple[int, int]:
    """Return the writer and the number of a stored message."""
    writer, number, _ = text.split(" ", 2)
    return int(writer), int(number)


def _fork(act: Callable[[], Any]) -> int:
    """Run a function in a child process, which ends without the parent's clean-up. Return the child's id."""
    pid = os.fork()
    if pid:
        return pid
    signal.alarm(_LIFE)
    try:
        act()
    except BaseException as error:
        sys.stderr.write(f"a writer failed: {error!r}\n")
        os._exit(1)
    os._exit(0)


def _wait(pid: int) -> int:
    """Wait for a child, and return its exit code, or the negative number of the signal that has ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _pause(reached: str) -> None:
    print(reached, flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
