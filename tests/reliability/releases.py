"""Runs two releases of the service on one local engine, each in a separate process.

`python -m tests.reliability.releases COMMIT` archives a release in `tests/releases/last.zip`: the deployed code and the
commands that deploy it.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from infra import lambda_events
from infra.local import children
from infra.local.children import Engine
from tests.api import Answer, Api
from tests.reliability.engine_fixture import client

LAST = Path(__file__).parents[1] / "releases" / "last.zip"
_DEPLOYABLE = re.compile(r"app\.py|chalice_guard\.py|\.chalice|chalicelib|infra|requirements[\w.-]*")
_PROCESS = Path(__file__).parent / "release_process.py"


class Source(NamedTuple):
    """A function, and the table or queue whose records it receives."""

    handler: str
    table: str = ""
    queue: str = ""


class Release(Api):
    """An API client for a running release, which also invokes the release's functions."""

    def __init__(self, process: "subprocess.Popen[str]", token: str, did: "Counter[str]") -> None:
        super().__init__(token)
        self._process, self._did = process, did

    def call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """Send a request to the release's API."""
        event = self.event(method, path, body, headers)
        event["body"] = event["body"] and event["body"].decode()
        response = self._ask({"handler": "app.app", "event": event})["returned"]
        self._did["requests"] += 1
        text = response["body"]
        return Answer(response["statusCode"], json.loads(text) if text else None, response["headers"], text)

    def invoke(self, handler: str, event: Any) -> Any:
        """Invoke a function; return its result or the name of the exception that it raises."""
        answered = self._ask({"handler": handler, "event": event})
        return answered.get("raised") or answered["returned"]

    @cached_property
    def sources(self) -> list[Source]:
        """Return the release's functions that are invoked by streams and queues."""
        return [Source(*one) for one in self._ask({"sources": True})["returned"]]

    def pass_time(self, seconds: int) -> None:
        """Advance the release's clock."""
        self._ask({"seconds": seconds})

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answered: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answered


def readable(code: Path) -> set[int]:
    """Return the layouts that a release can read."""
    command = [sys.executable, "-c", "from chalicelib.storage.layouts import READABLE; print(*READABLE)"]
    done = subprocess.run(command, cwd=code, capture_output=True, text=True, check=True)
    return set(map(int, done.stdout.split()))


@contextmanager
def running(code: Path, token: str, did: "Counter[str]", environment: dict[str, str], layout: int) -> Iterator[Release]:
    """Run the release in a directory inside the block. The release writes records in this layout."""
    settings = {"PYTHONPATH": str(code), "CAMS_STORED_LAYOUT": str(layout), "CAMS_WEBHOOK_ALLOW_PRIVATE": "1"}
    process = subprocess.Popen(
        [sys.executable, _PROCESS],
        env={**environment, **settings},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield Release(process, token, did)
    finally:
        process.kill()
        process.communicate()


class EventSources:
    """A reader of an engine's streams and queues that invokes the releases' functions."""

    def __init__(self, engine: Engine, did: "Counter[str]") -> None:
        self._sdk: Callable[[str], Any] = partial(client, engine)
        self._did = did
        self._places: dict[str, str] = {}

    def run(self, of_streams: Release, of_queues: Release) -> None:
        """Process all changes with one release's functions, and all messages with another's. Fail if a function fails.

        If the second release lacks a queue, the first release's function receives the queue's messages.
        """
        known = {source.queue for source in of_queues.sources}
        pairs = [(of_streams, source) for source in of_streams.sources if source.table or source.queue not in known]
        pairs += [(of_queues, source) for source in of_queues.sources if source.queue]
        while any(self._run(release, source) for release, source in pairs):
            pass

    def create_queues(self, release: Release) -> None:
        """Create those of a release's queues that do not exist in the engine."""
        existing = {url.rpartition("/")[2] for url in self._sdk("sqs").list_queues()["QueueUrls"]}
        for queue in {source.queue for source in release.sources} - existing - {""}:
            self._sdk("sqs").create_queue(QueueName=queue)

    def records(self, source: Source) -> Any:
        """Return an event with the records since the last call, or None if there are no new records."""
        arn = self._sdk("dynamodb").describe_table(TableName=f"cams-{source.table}")["Table"]["LatestStreamArn"]
        streams = self._sdk("dynamodbstreams")
        if source.handler not in self._places:
            (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
            where = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            self._places[source.handler] = streams.get_shard_iterator(**where)["ShardIterator"]
        answer = streams.get_records(ShardIterator=self._places[source.handler])
        self._places[source.handler] = answer["NextShardIterator"]
        self._did["stream records"] += len(answer["Records"])
        return lambda_events.from_records(answer["Records"], arn) if answer["Records"] else None

    def dead_letters(self) -> int:
        """Return the number of messages in all dead-letter queues."""
        urls = [url for url in self._sdk("sqs").list_queues()["QueueUrls"] if url.endswith("-dead")]
        assert urls
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = [self._sdk("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names) for url in urls]
        return sum(int(value) for one in found for value in one["Attributes"].values())

    def _run(self, release: Release, source: Source) -> bool:
        event = self.records(source) if source.table else self._messages(source)
        if event:
            returned = release.invoke(source.handler, event)
            assert returned in (None, {"batchItemFailures": []}), (source.handler, returned)
        return event is not None

    def _messages(self, source: Source) -> Any:
        sqs = self._sdk("sqs")
        url = sqs.get_queue_url(QueueName=source.queue)["QueueUrl"]
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=1).get("Messages", [])
        for message in messages:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        self._did["queue messages"] += len(messages)
        return lambda_events.from_messages(messages, f"arn:aws:sqs:eu-west-1:0:{source.queue}") if messages else None


def main() -> None:
    """Archive a commit as the last release."""
    commit = sys.argv[1]
    listed = subprocess.run(
        ["git", "ls-tree", "--name-only", commit], cwd=children.ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    names = filter(_DEPLOYABLE.fullmatch, listed.stdout.split())
    archive = ["git", "archive", "--format=zip", f"--output={LAST}", commit, *names]
    subprocess.run(archive, cwd=children.ROOT, check=True)


if __name__ == "__main__":
    main()
