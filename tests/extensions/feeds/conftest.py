"""A pull endpoint with its fan-out and its feed, on simulated streams and queues."""

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.extensions.feeds import functions
from chalicelib.extensions.feeds.extension import QUEUE
from tests.api import Answer, Api
from tests.webhooks import pipeline
from tests.webhooks.conftest import inbox as inbox
from tests.webhooks.conftest import later as later
from tests.webhooks.conftest import stream as stream


class PullEndpoint:
    """A pull endpoint, and the functions that fill its feed."""

    def __init__(self, api: Api, stream: pipeline.Stream, *events: str) -> None:
        self._api, self._stream = api, stream
        self.answer = api.post("/v3/webhooks", {"webhook": {"kind": "pull", "events": events or ["agent_created"]}})
        self.id = self.answer.data["id"]
        self.path = f"/v3/webhooks/{self.id}"

    def run(self) -> None:
        """Run fan-out for all changes, and append the events to the feed."""
        pipeline.fan_out(self._stream.read())
        append()

    def page(self, after: str = "", limit: int = 20) -> Answer:
        return self._api.get(f"{self.path}/events?after={after}&limit={limit}")

    def read(self, after: str = "", limit: int = 20) -> Iterator[dict[str, Any]]:
        """Yield all events after a position."""
        has_more = True
        while has_more:
            page = self.page(after, limit)
            assert page.status == 200, page.text
            yield from page.data
            after, has_more = page.json["after"], page.json["hasMore"]


def append() -> None:
    """Process all messages in the queue of the feeds."""
    while (held := pipeline.take(QUEUE)).messages:
        assert functions.append_events({"Records": held.records}, None) == {"batchItemFailures": []}
        held.delete()


@pytest.fixture
def endpoint(api: Api, stream: pipeline.Stream) -> PullEndpoint:
    return PullEndpoint(api, stream)
