"""Poison: the longest invocations that one write causes, and whether each endpoint gets each event once.

The write is the largest fan-out of one request: 15,000 one-word messages in 240 KB, for 50 endpoints. A process with
14.5 % of a core, the CPU share of a function with 256 MB, runs the whole fan-out and some deliveries, in the batches
that Lambda passes. Functions that deliver have 512 MB in the cloud. Other processes run the rest of the deliveries. The
engine, the receiver and these processes have no limit.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from benchmarks import receiver
from benchmarks.fanout import process
from benchmarks.fanout.process import Sender
from benchmarks.measure.limit import limited
from benchmarks.results import Goal, Row, row
from benchmarks.run import Run
from chalicelib import queues
from chalicelib.webhooks import queue
from tests.webhooks.receivers import certificates

TITLE = "Poison: the largest fan-out of one request"
_ENDPOINTS, _EVENTS = 50, 40
_CORES, _MOST_MB, _MOST_SECONDS = 0.145, 256, 20
# The hosts of new endpoints are slow, so all messages take the slow queue. Nothing leaves it for another queue.
_STREAM, _CONTINUATION, _DELIVERY = "fan_out_conversations", "maintain", "deliver_slow"
# The largest batch of each function.
_BATCH = {_STREAM: 10, _CONTINUATION: 1, _DELIVERY: 10}
_NAMES = {_STREAM: "10 stream records", _CONTINUATION: "a continuation", _DELIVERY: "400 deliveries over TLS"}
_OTHERS = 2


class _Size(NamedTuple):
    """Messages of the write, pairs to deliver, and invocations that deliver the first of them with the limit."""

    messages: int
    pairs: int
    invocations: int


_FULL, _QUICK = _Size(15_000, 75_000, 10), _Size(1_600, 4_000, 2)

Pairs = Counter[tuple[str, str]]
"""The number of messages, POSTs or list entries for an endpoint and an event."""


class _Processes(NamedTuple):
    """The process with the limit, those without, the receiver's URL, and whether there is a limit."""

    limited: Sender
    others: list[Sender]
    host: str
    has_limit: bool


class _Found(NamedTuple):
    """The seconds of the longest invocation by function, and what became of the pairs."""

    longest: dict[str, float]
    memory: float
    messages: int
    enqueued: Pairs
    expected: Pairs
    posted: Pairs
    listed: Pairs
    statuses: Counter[str]


def measure(run: Run) -> list[Row]:
    """Return the rows: the longest invocation of each function, memory, and what became of the pairs."""
    size = _QUICK if run.quick else _FULL._replace(pairs=run.pairs or _FULL.pairs)
    with _running(run) as processes:
        found = _measure(run, processes, size)
    share = f"{_CORES * 100:g} % of a core" if processes.has_limit else "without a CPU limit"
    case = f"a write of {size.messages:,} messages for {_ENDPOINTS} endpoints, {share}"
    return [*_rows(case, found, size.messages * _ENDPOINTS)]


@contextmanager
def _running(run: Run) -> Iterator[_Processes]:
    with ExitStack() as opened:
        made = certificates(Path(opened.enter_context(tempfile.TemporaryDirectory())), "hooks.cams.test")
        port = opened.enter_context(receiver.running(process.RECEIVERS_CORE, made.leaves["good"]))
        environment = {**run.engine.address, "SSL_CERT_FILE": str(made.authority)}
        first, *others = [opened.enter_context(process.running(environment)) for _ in range(1 + _OTHERS)]
        has_limit = opened.enter_context(limited(first.pid, _CORES))
        yield _Processes(first, others, f"https://{receiver.HOSTS[0]}:{port}", has_limit)


def _measure(run: Run, processes: _Processes, size: _Size) -> _Found:
    first, other = processes.limited, processes.others[0]
    paths = [f"/endpoint-{number}" for number in range(_ENDPOINTS)]
    urls = [processes.host + path for path in paths]
    workspace_id, webhook_ids, records = other.ask("poison", "write", urls=urls, count=size.messages)
    longest = {_STREAM: max(_invoke(run, [first], _STREAM, records))}
    parts = _records(other, queues.MAINTENANCE)
    longest[_CONTINUATION] = max(_invoke(run, [first], _CONTINUATION, parts))
    messages = _records(other, queue.SLOW)
    path_of = dict(zip(webhook_ids, paths, strict=True))
    delivered = messages[: size.pairs // _EVENTS]
    limit = _BATCH[_DELIVERY] * size.invocations
    longest[_DELIVERY] = max(_invoke(run, [first], _DELIVERY, delivered[:limit]))
    memory = first.ask("invocations", "peak_memory")
    _invoke(run, processes.others, _DELIVERY, delivered[limit:])
    posts = other.ask("hanging", "ask", host=processes.host, path="posts")
    listed: Counter[tuple[str, str, str]] = Counter()
    for webhook_id, path in path_of.items():
        rows = other.ask("poison", "listed", workspace_id=workspace_id, webhook_id=webhook_id, most=size.messages)
        listed.update((path, event_id, status) for event_id, status in rows)
    return _Found(
        longest,
        memory,
        len(messages),
        _pairs(messages, path_of),
        Pairs(_pairs(delivered, path_of).keys()),
        Pairs({(path, event_id): count for path, counts in posts.items() for event_id, count in counts.items()}),
        Pairs((path, event_id) for path, event_id, _ in listed.elements()),
        Counter(status for _, _, status in listed.elements()),
    )


def _invoke(run: Run, senders: Sequence[Sender], function: str, records: Sequence[dict[str, Any]]) -> list[float]:
    """Invoke a function with all records, in each process once at a time. Returns the seconds of each invocation.

    Messages that a function reports as failed come again, as from the queue.
    """
    size = _BATCH[function]
    failed: list[dict[str, Any]] = []
    free: SimpleQueue[Sender] = SimpleQueue()
    for sender in senders:
        free.put(sender)

    def invoke(batch: Sequence[dict[str, Any]]) -> float:
        sender = free.get()
        try:
            seconds, identifiers = sender.ask("invocations", "invoke", name=function, records=batch)
        finally:
            free.put(sender)
        failed.extend(one for one in batch if one.get("messageId") in identifiers)
        return float(seconds)

    with ThreadPoolExecutor(len(senders)) as pool:
        begun = [pool.submit(invoke, records[start : start + size]) for start in range(0, len(records), size)]
        seconds = [one.result() for one in run.each(begun, f"{function}, {len(senders)} at a time")]
    return seconds + (_invoke(run, senders, function, failed) if failed else [])


def _records(sender: Sender, queue_name: str) -> list[dict[str, Any]]:
    """Take all messages from a queue, as records of an event."""
    texts = sender.ask("poison", "take", queue_name=queue_name)
    return [{"messageId": str(number), "receiptHandle": "", "body": text} for number, text in enumerate(texts)]


def _pairs(records: Sequence[dict[str, Any]], path_of: dict[str, str]) -> Pairs:
    messages = [queue.Message.parse(one["body"]) for one in records]
    return Pairs((path_of[one.webhook_id], event_id) for one in messages for event_id in one.event_ids)


def _rows(case: str, found: _Found, pairs: int) -> Iterator[Row]:
    for function, name in _NAMES.items():
        goals = [Goal("<=", _MOST_SECONDS)]
        yield row("poison", case, f"longest invocation, {name}", "s", found.longest[function], goals=goals)
    yield row("poison", case, "highest memory", "MB", found.memory, goals=[Goal("<=", _MOST_MB)])
    yield row("poison", case, "queue messages", "", found.messages, goals=[Goal("<=", pairs / _EVENTS)])
    total = found.expected.total()
    enqueued = Pairs(found.enqueued.keys())
    known = found.expected & (found.posted | found.listed)
    for metric, value, goal in (
        ("pairs enqueued", enqueued.total(), Goal(">=", pairs)),
        ("pairs enqueued again", (found.enqueued - enqueued).total(), Goal("<=", 0)),
        (f"pairs posted or listed, of {total:,}", known.total(), Goal(">=", total)),
        ("pairs posted again, or unexpectedly", (found.posted - found.expected).total(), Goal("<=", 0)),
    ):
        yield row("poison", case, metric, "", value, goals=[goal])
    yield row("poison", case, "pairs posted", "", found.posted.total())
    for status, count in found.statuses.items():
        yield row("poison", case, f"pairs listed as {status}", "", count)
