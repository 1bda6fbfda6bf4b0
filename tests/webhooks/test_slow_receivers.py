"""Slow receivers: when a host moves to the slow queue, and how many of a batch's deliveries start at once."""

import socket
import threading
from concurrent import futures
from itertools import count
from typing import Any

import pytest

from chalicelib.webhooks import delivery, endpoints, hosts, ledger, queue
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import stored
from tests.sending.receivers import OK, Receiver, read_request
from tests.webhooks import pipeline
from tests.webhooks.conftest import SetLimits
from tests.webhooks.deliveries import happen, listen, statuses
from tests.webhooks.pipeline import Inbox, Stream, drain, waiting

# The deliveries of a batch


def test_the_deliveries_of_a_batch_alone_start_at_once(stream: Stream, api: Api, set_limits: SetLimits) -> None:
    # The other deliveries start after all of these.
    set_limits(slow_seconds=60.0, poll_seconds=60.0, starts=5)
    all_arrived = threading.Barrier(5)

    def answer_when_all_arrived(connection: socket.socket, where: Receiver) -> None:
        read_request(connection)
        all_arrived.wait(20)
        connection.sendall(OK)

    with pipeline.inbox(answer_when_all_arrived) as receiving:
        webhook = listen(api, receiving.url())
        happen(stream, api, *(f"org-{number}" for number in range(5)))
        drain(queue.FAST)
    assert statuses(api, webhook) == ["delivered"] * 5


def test_the_batches_of_a_process_share_its_starts(
    stream: Stream, api: Api, set_limits: SetLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(slow_seconds=60.0, poll_seconds=60.0, starts=5)
    others = {1, 2, 3, 4}  # with five batches, this batch may start 20 % of the deliveries
    monkeypatch.setattr(delivery, "_starting", others)
    running: list[bool] = []
    most = [0]

    def note(connection: socket.socket, where: Receiver) -> None:
        read_request(connection)
        running.append(True)
        most[0] = max(most[0], len(running))
        threading.Event().wait(0.05)
        running.pop()
        connection.sendall(OK)

    with pipeline.inbox(note) as noting:
        webhook = listen(api, noting.url())
        happen(stream, api, *(f"org-{number}" for number in range(5)))
        drain(queue.FAST)
    assert statuses(api, webhook) == ["delivered"] * 5
    assert most == [1]
    assert others == {1, 2, 3, 4}


# Slow receivers


def state_of(workspace: NewWorkspace, inbox: Inbox) -> hosts.Host:
    _, known = endpoints.list_with_hosts(workspace.workspace_id)
    return hosts.find(known, inbox.url())


def test_a_message_to_a_slow_host_moves_to_the_slow_queue(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace
) -> None:
    webhook = listen(api, inbox.url())
    happen(stream, api)
    hosts.demote(workspace.workspace_id, inbox.host)
    drain(queue.FAST)
    assert inbox.posts == []
    assert stored()["cams-deliveries"] == []
    drain(queue.SLOW)
    assert len(inbox.posts) == 1
    assert statuses(api, webhook) == ["delivered"]


def test_a_slow_database_does_not_make_a_receiver_slow(
    stream: Stream,
    api: Api,
    inbox: Inbox,
    workspace: NewWorkspace,
    set_limits: SetLimits,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_limits(slow_seconds=0.1)
    claim = ledger.claim

    def claimed_late(row: ledger.DeliveryRow) -> bool:
        threading.Event().wait(0.6)
        return claim(row)

    monkeypatch.setattr(ledger, "claim", claimed_late)
    listen(api, inbox.url())
    happen(stream, api)
    drain(queue.FAST)
    assert len(inbox.posts) == 1
    assert state_of(workspace, inbox).is_quick


def test_a_host_that_hangs_is_demoted_once_per_batch(
    stream: Stream, api: Api, workspace: NewWorkspace, set_limits: SetLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[tuple[str, str]] = []
    polls, answer, wait = count(), threading.Event(), futures.wait

    def hangs(connection: socket.socket, where: Receiver) -> None:
        read_request(connection)
        answer.wait(10)
        connection.sendall(OK)

    def poll(*waited_for: Any) -> Any:
        if moved and next(polls) == 3:  # after the host moved, the deliveries were polled three times
            answer.set()
        return wait(*waited_for)

    set_limits(slow_seconds=0.001)
    monkeypatch.setattr(hosts, "demote", lambda *host: moved.append(host))
    monkeypatch.setattr(futures, "wait", poll)
    with pipeline.inbox(hangs) as slow:
        listen(api, slow.url())
        happen(stream, api)
        drain(queue.FAST)
    assert moved == [(workspace.workspace_id, slow.host)]


def test_a_host_is_demoted_while_it_still_hangs(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace, set_limits: SetLimits
) -> None:
    set_limits(slow_seconds=0.3)
    answer, has_arrived = threading.Event(), threading.Event()

    def hangs(connection: socket.socket, where: Receiver) -> None:
        where.requests.append(read_request(connection))
        has_arrived.set()
        answer.wait(20)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with pipeline.inbox(hangs) as slow:
        hanging = listen(api, slow.url())  # created first, so that it is first in the batch
        listen(api, inbox.url())
        happen(stream, api)
        running = threading.Thread(target=pipeline.take().run)
        running.start()
        assert has_arrived.wait(10)
        for _ in range(200):
            if not state_of(workspace, slow).is_quick:
                break
            threading.Event().wait(0.05)
        assert running.is_alive()
        assert not state_of(workspace, slow).is_quick
        assert state_of(workspace, inbox).is_quick
        # The batch's other delivery did not wait, and new events overtook the hanging batch.
        assert len(inbox.posts) == 1
        happen(stream, api, "more")
        assert len(waiting(queue.FAST)) == len(waiting(queue.SLOW)) == 1
        answer.set()
        running.join(20)
    assert statuses(api, hanging)[-1] == "delivered"
