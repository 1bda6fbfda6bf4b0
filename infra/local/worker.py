"""The triggers of a cloud, for the local run: reads the engine's streams and queues, and calls the app's functions.

    python -m infra.local.worker --state DIR

Which functions, for which tables and queues, in batches of which size: the app says (`app.event_sources`, what
`chalice deploy` makes triggers of). Like the cloud it calls at least once, in the order of a stream, and again
after a failure. Responsible for threads, for failures and for the end; reading and calling is `triggers`.

It prints one line when it has begun; after that only what goes wrong, on standard error.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError
from chalice.app import DynamoDBEventConfig, SQSEventConfig

from app import app
from chalicelib import errors
from chalicelib.storage import client
from infra.local import lifeline
from infra.local.triggers import News, Positions, Queue, Stream

# How often news is looked for. What comes without any (a message after its delay, one that failed) waits for longer.
_PAUSE = 0.02
_PAUSE_WITHOUT_NEWS = 1.0
_PAUSE_AFTER_FAILURE = 1.0
# For what is being sent when the run ends: nobody would know its outcome otherwise.
_SECONDS_TO_FINISH = 2.0
# In the first moments of a first run its tables and queues are still being made; and a machine that has slept for a
# quarter of an hour wakes up with iterators that have ended.
_NO_FAILURE = (
    "ResourceNotFoundException",
    "QueueDoesNotExist",
    "AWS.SimpleQueueService.NonExistentQueue",
    "ExpiredIteratorException",
)

_log = logging.getLogger("worker")


def main() -> None:
    """Reads until the process is told to end."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--state", type=Path, required=True, help="directory of the positions")
    arguments = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    lifeline.end_with_parent()
    logging.basicConfig(format="  worker     %(message)s")
    # More deliveries at once than the SDK keeps connections for are no news to anybody.
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)
    # What was delivered is in the list of deliveries; a person at a terminal wants to see what goes wrong.
    logging.getLogger("chalicelib.telemetry").setLevel(logging.WARNING)
    queues = _begin(arguments.state, ended)
    print(f"{len(app.event_sources)} functions read streams and queues", flush=True)
    sys.stdout = sys.stderr  # nobody reads the other one from here on
    ended.wait()
    # What fails from here on is done by the next run.
    logging.disable()
    deadline = time.monotonic() + _SECONDS_TO_FINISH
    for queue in queues:
        queue.finish(deadline)
    # An ordinary end would wait for every receiver that hangs.
    os._exit(0)


def _begin(directory: Path, ended: threading.Event) -> list[Queue]:
    positions, journal = Positions(directory / "positions.json"), directory / "engine.journal"
    queues = []
    for source in app.event_sources:
        trigger: Stream | Queue
        if isinstance(source, DynamoDBEventConfig):
            trigger = Stream(source, client.sdk_client, positions)
        elif isinstance(source, SQSEventConfig):
            trigger = Queue(source, client.sdk_client, report)
            queues.append(trigger)
        else:
            _log.warning("%s is not called in the local run: it has no stream and no queue.", source.name)
            continue
        arguments = (source.name, trigger.step, News(journal, trigger.named), ended)
        threading.Thread(target=again_and_again, args=arguments, name=source.name, daemon=True).start()
    return queues


def again_and_again(name: str, step: Callable[[], bool], news: Callable[[], bool], ended: threading.Event) -> None:
    """Takes the step until the end, whatever it raises; a failure that goes on is reported once."""
    known = ""
    while not ended.is_set():
        try:
            busy, failure = step(), None
        except Exception as error:
            busy, failure = False, error
        if failure is None:
            known = ""
        elif not _passes(failure):
            if describe(failure) != known:
                report(name, failure)
            known = describe(failure)
            ended.wait(_PAUSE_AFTER_FAILURE)
            continue
        if not busy:
            latest = time.monotonic() + (_PAUSE if failure else _PAUSE_WITHOUT_NEWS)
            while not ended.wait(_PAUSE) and not news() and time.monotonic() < latest:
                pass


def report(name: str, error: Exception) -> None:
    """One line for the person at the terminal."""
    _log.warning("%s failed and is repeated: %s", name, describe(error))


def describe(error: Exception) -> str:
    """What went wrong, and where, without a value that somebody has sent or stored."""
    if isinstance(error, errors.ApiError):
        return error.message
    if isinstance(error, ClientError):
        return f"{error.operation_name} was refused with {error.response.get('Error', {}).get('Code')}."
    if isinstance(error, (ConnectionError, HTTPClientError)):
        return str(error)
    # The sentence of any other error may repeat what it was about.
    where = traceback.extract_tb(error.__traceback__)[-1:]
    return " ".join([type(error).__name__, *(f"at {Path(one.filename).name}:{one.lineno}" for one in where)])


def _passes(error: Exception) -> bool:
    return isinstance(error, ClientError) and error.response.get("Error", {}).get("Code") in _NO_FAILURE


if __name__ == "__main__":
    main()
