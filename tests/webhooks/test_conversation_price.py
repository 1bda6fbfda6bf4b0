"""The price of a conversation in docs/operate.md: 20 messages, and everything that runs behind the streams.

Requests, invocations, units and queue requests are counted while twenty conversations run at the same time.
Durations are assumptions, which the page states. `CAMS_UPDATE_DOCS=1` writes the table.
"""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from benchmarks.transcripts import transcript, wire_message
from chalicelib import extensions, followers, maintenance, queues
from chalicelib.extensions.reports import functions
from infra.deploy.functions import declared_functions
from infra.operator import prices
from tests import generated_docs
from tests.api import Api
from tests.builders import webhook_body
from tests.capacity import Meter, metered
from tests.deletion.cascades import as_record
from tests.extensions import are_all_on
from tests.selection import whole
from tests.webhooks.pipeline import Inbox, Stream, fan_out, take

pytestmark = [whole, pytest.mark.skipif(not are_all_on(), reason="The page describes all extensions.")]

PAGE, PART = "docs/operate.md", "conversation price"
CONVERSATIONS, MESSAGES = 10, 20
# Seconds of each invocation. A delivery waits for its receiver.
SECONDS = {"api_handler": 0.05, "fan_out_conversations": 0.05, "deliver": 0.2}
MEMORY_GB = {function.name: function.memory_mb / 1024 for function in declared_functions()}
"""Function -> memory in GB."""


class Price(NamedTuple):
    """Dollars for a million conversations."""

    gateway: float = 0
    database: float = 0
    functions: float = 0
    logs: float = 0
    queues: float = 0

    def per_million(self) -> "Price":
        """Return the price of a million conversations, if this is the price of `CONVERSATIONS`."""
        return Price(*(dollars * 1e6 / CONVERSATIONS for dollars in self))

    def plus(self, *others: "Price") -> "Price":
        """Return the sum."""
        return Price(*map(sum, zip(self, *others, strict=True)))


def invocations(function: str, number: float) -> Price:
    """Return the price of a function's invocations, each with a log line."""
    compute = prices.CALL + SECONDS.get(function, 0) * MEMORY_GB[function] * prices.GB_SECOND
    return Price(functions=number * compute, logs=number * prices.LOG_GB * prices.REQUEST_LOG_GB)


def units(meter: Meter) -> Price:
    """Return the price of the counted units."""
    return Price(database=prices.units(meter.reads, meter.writes))


def append(api: Api, name: str, first: int, count: int) -> Price:
    """Append `count` messages to each conversation in one request, starting with message `first`."""
    messages = [{**wire_message(message), "mid": None} for message in transcript(MESSAGES)[first : first + count]]
    api.get("/v2/clients")  # caches the credential
    with metered() as meter:
        for conversation in range(CONVERSATIONS):
            path = f"/agents/support/interact/{name}-{conversation}/messages"
            assert api.post(path, {"messages": messages}).status == 200
    return units(meter).plus(Price(gateway=CONVERSATIONS * prices.GATEWAY), invocations("api_handler", CONVERSATIONS))


def deliver(stream: Stream) -> Price:
    """Fan out the new changes, one per invocation, and deliver their events, one per invocation."""
    received = [record for record in stream.read("conversations") if "received" in record["dynamodb"]["NewImage"]]
    events = 0
    with metered() as meter:
        for record in received:
            fan_out([record])
        while (held := take()).messages:
            held.run()
            held.delete()
            events += len(held.messages)
    total = invocations("fan_out_conversations", len(received)).plus(invocations("deliver", events))
    # Each queue message is sent, received and deleted.
    return total.plus(units(meter), Price(queues=3 * events * prices.QUEUE))


def follow(stream: Stream) -> Price:
    """Pass all new changes to their followers in one batch per table, and run the tasks that these send."""
    tasks: dict[str, dict[str, None]] = {}

    def capture(queue: str, texts: Sequence[str], group: str, delay_seconds: int = 0) -> None:
        tasks.setdefault(queue, {}).update(dict.fromkeys(texts))

    with pytest.MonkeyPatch.context() as patch, metered() as meter:
        patch.setattr(queues, "send", capture)
        for table in ("conversations", "deliveries"):
            records = stream.read(table)
            if records:
                getattr(followers, f"follow_{table}")({"Records": records}, None)
        for queue, function in (("maintenance", maintenance.maintain), ("counts", functions.count_hours)):
            for text in tasks.pop(queue, {}):
                assert function({"Records": [as_record(text)]}, None) == {"batchItemFailures": []}
    assert not tasks
    return units(meter)


def price(stream: Stream, api: Api, name: str, per_request: int = 1) -> Price:
    """Return the price of a million conversations whose visitors have this name, with everything behind the streams."""
    changes, total = Stream("conversations", "deliveries"), Price()
    for first in range(0, MESSAGES, per_request):
        total = total.plus(append(api, name, first, per_request), deliver(stream))
    return total.plus(follow(changes)).per_million()


def test_the_page_has_the_price_of_a_conversation(
    stream: Stream, api: Api, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert api.post("/v2/agents/support", {"title": "Support"}).status == 200
    priced = {"all extensions": price(stream, api, "a")}
    with monkeypatch.context() as patch:
        patch.setattr(extensions, "followers", lambda table: ())
        priced["core"] = price(stream, api, "b")
        assert api.post("/v3/webhooks", webhook_body(inbox.url(), "message_received")).status == 200
        priced["core and a webhook"] = price(stream, api, "c")
    every = priced["all extensions and a webhook"] = price(stream, api, "d")
    priced["the same, with two messages per request"] = price(stream, api, "e", 2)
    rows = [(name, *(f"{dollars:.0f}" for dollars in (*one, sum(one)))) for name, one in priced.items()]
    rows.append(("share of the highest price", *(f"{dollars / sum(every):.0%}" for dollars in every), ""))
    columns = ("Conversations with", "Gateway", "Database", "Lambda", "Logs", "SQS", "All")
    if generated_docs.is_update():
        generated_docs.write(PAGE, PART, generated_docs.table(columns, rows))
    # Ids and times are part of the compressed texts, so a price varies by a fraction of a dollar.
    listed = {name: [*map(number, cells)] for name, *cells in generated_docs.rows(PAGE, PART)}
    assert listed == {name: pytest.approx([*map(number, cells)], abs=1) for name, *cells in rows}


def number(cell: str) -> float:
    """Return the number in a cell of the table, or 0 if it is empty."""
    return float(cell.rstrip("%") or 0)
