"""The local run's worker, which polls the engine's streams and queues and invokes the app's functions.

    python -m infra.local.worker --state DIR

`app.event_sources` lists the functions with their tables, queues and batch sizes; `chalice deploy` creates event source
mappings from the same list. Like Lambda, the worker invokes functions at least once, preserves stream order, and
retries after failures. This module manages threads, failures and shutdown; `pollers` reads records and messages and
invokes the functions.

The worker prints one line when it is ready. Afterwards, it logs only failures, to standard error.
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
from pathlib import Path
from typing import Protocol

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError
from chalice.app import DynamoDBEventConfig, SQSEventConfig

from app import app
from chalicelib import errors
from chalicelib.storage import client
from infra.local import data_file, lifeline
from infra.local.data_file import Watch
from infra.local.pollers import PartialFailure, Positions, QueuePoller, Sdk, StreamPoller, stream_table

# Seconds between checks of the data file.
_WATCH_INTERVAL = 0.02
_PAUSE_AFTER_FAILURE = 1.0
_PAUSE_AFTER_TRANSIENT_ERROR = 0.1
# Seconds that running deliveries have on shutdown to record their outcomes.
_SECONDS_TO_FINISH = 2.0
# Expected errors: tables and queues that a first run is still creating, and shard iterators that expired after 15
# minutes because the machine was asleep.
_TRANSIENT_ERRORS = (
    "ResourceNotFoundException",
    "QueueDoesNotExist",
    "AWS.SimpleQueueService.NonExistentQueue",
    "ExpiredIteratorException",
)

_log = logging.getLogger("worker")


class Poller(Protocol):
    """A poller for one stream or queue."""

    def step(self) -> bool:
        """Process the next batch; return False at the end of the stream or queue."""

    def seconds_to_wait(self) -> float:
        """Return how many seconds to wait at the end if the engine saves nothing new."""


def main() -> None:
    """Poll until a signal stops the process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--state", type=Path, required=True, help="directory that contains the positions")
    arguments = parser.parse_args()
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    lifeline.end_with_parent()
    logging.basicConfig(format="  worker     %(message)s")
    # urllib3 warns if there are more concurrent deliveries than pooled connections. That is expected here.
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)
    # The delivery list shows successful deliveries; the terminal shows only failures.
    logging.getLogger("chalicelib.telemetry").setLevel(logging.WARNING)
    watch = Watch(arguments.state / data_file.NAME)
    queues = start_pollers(client.sdk_client, arguments.state, watch, stopped)
    print(f"{len(app.event_sources)} functions read streams and queues", flush=True)
    sys.stdout = sys.stderr  # the parent does not read standard output after this line
    while not stopped.wait(_WATCH_INTERVAL):
        watch.look()
    # The next run retries everything that fails from this point.
    logging.disable()
    deadline = time.monotonic() + _SECONDS_TO_FINISH
    for queue in queues:
        queue.finish(deadline)
    # A normal exit would wait for threads blocked on unresponsive receivers.
    os._exit(0)


def start_pollers(sdk: Sdk, directory: Path, watch: Watch, stopped: threading.Event) -> list[QueuePoller]:
    """Start one thread per function; return the queue pollers."""
    streams = [source for source in app.event_sources if isinstance(source, DynamoDBEventConfig)]
    places = [f"{stream_table(source)}/{source.name}" for source in streams]
    positions = Positions(directory / "positions.json", places)
    queues = []
    for source in app.event_sources:
        poller: StreamPoller | QueuePoller
        if isinstance(source, DynamoDBEventConfig):
            poller = StreamPoller(source, sdk, positions)
        elif isinstance(source, SQSEventConfig):
            poller = QueuePoller(source, sdk, report)
            queues.append(poller)
        else:
            _log.warning("The local run does not invoke %s: its event source is no stream or queue.", source.name)
            continue
        arguments = (source.name, poller, watch.subscribe(*poller.news), stopped)
        threading.Thread(target=poll_until_stopped, args=arguments, name=source.name, daemon=True).start()
    return queues


def poll_until_stopped(name: str, poller: Poller, news: threading.Event, stopped: threading.Event) -> None:
    """Step until `stopped` is set, even if a step raises an exception. Report a repeated failure once.

    After the last record or message, wait for `news`, but no longer than the poller allows.
    """
    reported = ""
    while not stopped.is_set():
        news.clear()  # cleared before the step, so that news during the step triggers another step
        try:
            seconds = 0.0 if poller.step() else poller.seconds_to_wait()
        except Exception as error:
            if _is_transient(error):
                stopped.wait(_PAUSE_AFTER_TRANSIENT_ERROR)
                continue
            if describe(error) != reported:
                report(name, error)
            reported = describe(error)
            stopped.wait(_PAUSE_AFTER_FAILURE)
            continue
        reported = ""
        news.wait(seconds)


def report(name: str, error: Exception) -> None:
    """Log a failure of the function `name` in one line."""
    _log.warning("%s failed and will be retried: %s", name, describe(error))


def describe(error: Exception) -> str:
    """Return the error and its location, without any values from requests or records."""
    if isinstance(error, errors.ApiError):
        return error.message
    if isinstance(error, PartialFailure):
        return "part of a batch failed."
    if isinstance(error, ClientError):
        return f"{error.operation_name} failed with {error.response.get('Error', {}).get('Code')}."
    if isinstance(error, (ConnectionError, HTTPClientError)):
        return str(error)
    # The messages of all other errors may contain such values.
    where = traceback.extract_tb(error.__traceback__)[-1:]
    return " ".join([type(error).__name__, *(f"at {Path(one.filename).name}:{one.lineno}" for one in where)])


def _is_transient(error: Exception) -> bool:
    return isinstance(error, ClientError) and error.response.get("Error", {}).get("Code") in _TRANSIENT_ERRORS


if __name__ == "__main__":
    main()
