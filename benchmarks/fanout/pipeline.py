"""A complete delivery from the queue to the receiver, on the local engine: one read and two writes each.

The workers act as in the cloud: each takes up to ten messages, runs the function and takes the next ten afterwards. In
the cloud each has its own process. Here all are threads of one process, which is harder.
"""

import json
import math
import random
import statistics
import threading
import time
from concurrent import futures

from benchmarks.fanout import hanging as hanging_receivers
from benchmarks.fanout import senders
from benchmarks.fanout.rates import Rate
from chalicelib import ids, storage
from chalicelib.webhooks import endpoints, events, ledger, queue
from chalicelib.webhooks import hosts as quick_hosts
from chalicelib.workspaces import store as workspaces
from infra import tables
from tests.webhooks.pipeline import Held
from tests.webhooks.test_slow_queue import SLOW_WORKERS, LocalQueues

_BATCH = 10  # messages of one invocation


def rate(urls: list[str], invocations: int, count: int) -> Rate:
    """Return deliveries per second and CPU per delivery, with concurrent invocations of ten messages each."""
    messages = _messages(urls, count)
    with futures.ThreadPoolExecutor(invocations) as pool:
        start, cpu = time.monotonic(), time.process_time()
        list(pool.map(_invoke, (messages[n : n + _BATCH] for n in range(0, count, _BATCH))))
        return Rate(count / (time.monotonic() - start), (time.process_time() - cpu) / count * 1000)


def wait(hosts: list[str], hanging: int, workers: int, count: int, a_second: int) -> float:
    """Return the 99th percentile of seconds from the queue to a healthy receiver; `hanging` percent never answer.

    The thresholds are the product's: a receiver is slow after 2 s. The run ends before the timeout of 30 s.
    """
    urls = [f"{hosts[number % len(hosts)]}/{'hangs' if number < hanging else 0}" for number in range(100)]
    messages = _messages(urls, count)
    random.Random(3).shuffle(messages)
    healthy = {message.event_ids[0] for message in messages if message.type == _HEALTHY}
    queues = LocalQueues()
    with queues.in_place():
        working = {queue.FAST: _working(queues, queue.FAST, workers)}
        working[queue.SLOW] = _working(queues, queue.SLOW, SLOW_WORKERS)
        start = time.monotonic()
        for number, message in enumerate(messages):
            time.sleep(max(0.0, start + number / a_second - time.monotonic()))
            queue.send(message.workspace_id, [message], queue.FAST)
        while not healthy <= (arrived := hanging_receivers.ask(hosts[0], "arrivals")).keys():
            time.sleep(0.1)
        for name in working:
            queues.queues[name].queue.clear()
            for _ in working[name]:
                queues.queues[name].put(None)
        while any(one.is_alive() for each in working.values() for one in each):
            hanging_receivers.ask(hosts[0], "forget")
            time.sleep(0.1)
    return statistics.quantiles([arrived[one] - queues.enqueued[one] for one in healthy], n=100)[98]


# Hanging receivers subscribe to another type, which identifies their messages.
_HEALTHY, _HANGING = "message_received", "agent_updated"


def _messages(urls: list[str], count: int) -> list[queue.Message]:
    """Create an endpoint for each URL, store events, and return their messages in turn."""
    tables.create_missing(storage.sdk_client)
    needed = math.ceil(len(urls) / endpoints.MAX_ENDPOINTS)
    rooms = [workspaces.create(str(number)).workspace_id for number in range(needed)]
    made = []
    for number, url in enumerate(urls):
        type_ = _HANGING if url.endswith("/hangs") else _HEALTHY
        with storage.unit_of_work():
            row, _ = endpoints.create(rooms[number % len(rooms)], {"url": url, "events": [type_], "enabled": True})
        quick_hosts.promote(row.workspace, quick_hosts.name(url))  # otherwise all of them take the slow queue
        made.append((row, type_))
    messages = []
    for number in range(count):
        row, type_ = made[number % len(made)]
        id_ = ids.new_id()
        messages.append(queue.Message(row.workspace, row.webhook_id, type_, (id_,)))
    ledger.save_events(events.Event(one.event_ids[0], one.workspace_id, one.type, senders.PAYLOAD) for one in messages)
    return messages


def _invoke(messages: list[queue.Message]) -> None:
    texts = [{"Body": json.dumps(message), "MessageId": "", "ReceiptHandle": ""} for message in messages]
    Held(queue.FAST, texts).run()


def _working(queues: LocalQueues, name: str, count: int) -> list[threading.Thread]:
    threads = [threading.Thread(target=queues.work, args=(name,)) for _ in range(count)]
    for one in threads:
        one.start()
    return threads
