"""How a hanging host affects the other deliveries in a batch, and the order in which deliveries start."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from chalicelib import errors
from chalicelib.webhooks import endpoints, functions, hosts, queue
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import webhook_body
from tests.sending.receivers import OK, Receiver, read_request
from tests.webhooks import pipeline
from tests.webhooks.conftest import SetLimits
from tests.webhooks.pipeline import Inbox, Stream, drain, fan_out, waiting

EVENTS = 12


@pytest.fixture(autouse=True)
def quick_polls(set_limits: SetLimits) -> None:
    set_limits(slow_seconds=0.2, starts=1)


@contextmanager
def hangs_first(requests: int) -> Iterator[Inbox]:
    """Run a receiver that responds to its first requests only after they count as hanging.

    Respond to later requests at once.
    """

    def serve(connection: socket.socket, where: Receiver) -> None:
        where.requests.append(read_request(connection))
        if len(where.requests) <= requests:
            threading.Event().wait(0.6)
        connection.sendall(OK)

    with pipeline.inbox(serve) as inbox:
        yield inbox


def listen(api: Api, url: str) -> str:
    webhook_id: str = api.post("/v3/webhooks", webhook_body(url, "organisation_created")).data["id"]
    return webhook_id


def happen(stream: Stream, api: Api, count: int) -> None:
    for number in range(count):
        assert api.post(f"/v2/orgs/org-{number}", {"name": "Org"}).status == 200
    fan_out(stream.read())


def is_quick(workspace: NewWorkspace, inbox: Inbox) -> bool:
    return hosts.find(endpoints.list_with_hosts(workspace.workspace_id)[1], inbox.url()).is_quick


def test_once_a_host_hangs_its_other_deliveries_move_to_the_slow_queue(stream: Stream, api: Api) -> None:
    with hangs_first(EVENTS) as slow:
        listen(api, slow.url())
        happen(stream, api, EVENTS)
        (whole,) = pipeline.take().bodies
        functions.deliver({"Records": [{"body": whole, "messageId": "1"}]}, None)
        started = {post.id for post in slow.posts}
    assert 0 < len(started) < EVENTS
    message = queue.DeliveryMessage.parse(whole)
    rest = tuple(one for one in message.event_ids if one not in started)
    assert [queue.DeliveryMessage.parse(text) for text in waiting(queue.SLOW)] == [message._replace(event_ids=rest)]


def test_a_message_that_cannot_move_is_repeated_and_nothing_is_posted_twice(
    stream: Stream, api: Api, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise errors.Unavailable

    with hangs_first(2) as slow:
        hanging = listen(api, slow.url())
        listen(api, inbox.url())
        happen(stream, api, EVENTS)
        held = pipeline.take()
        with monkeypatch.context() as patch:
            patch.setattr(queue, "send", refuse)
            answer = functions.deliver({"Records": held.records}, None)
        failed = [
            one["messageId"] for one in held.records if queue.DeliveryMessage.parse(one["body"]).webhook_id == hanging
        ]
        assert answer == {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}
        held.run()  # the host has become slow by now
        drain(queue.SLOW)
        for receiver in (slow, inbox):
            posted = [post.id for post in receiver.posts]
            assert len(posted) == len(set(posted)) == EVENTS


def test_a_batch_does_not_promote_a_host_that_it_has_seen_hang(
    stream: Stream, api: Api, workspace: NewWorkspace, slow_new_hosts: None
) -> None:
    with hangs_first(1) as inbox:
        listen(api, inbox.url())
        happen(stream, api, 10)
        assert drain(queue.SLOW) == 1
        assert len(inbox.posts) == 10
        assert not is_quick(workspace, inbox)


def test_a_hang_that_cannot_be_recorded_is_recorded_later(
    stream: Stream, api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    demote, failures = hosts.demote, [errors.Unavailable()]

    def refuse_once(workspace_id: str, host: str) -> None:
        if failures:
            raise failures.pop()
        demote(workspace_id, host)

    monkeypatch.setattr(hosts, "demote", refuse_once)
    with hangs_first(1) as inbox:
        listen(api, inbox.url())
        happen(stream, api, 1)
        drain(queue.FAST)
        assert not failures
        assert not is_quick(workspace, inbox)


def test_the_deliveries_of_a_batch_start_in_turns_by_workspace(
    stream: Stream, api: Api, other_workspace: NewWorkspace, inbox: Inbox, set_limits: SetLimits
) -> None:
    # Each delivery starts when the previous delivery ends.
    set_limits(slow_seconds=60.0, poll_seconds=60.0)
    for number in range(3):
        listen(api, inbox.url(f"noisy-{number}"))
    happen(stream, api, 4)
    quiet = Api(other_workspace.workspace_key)
    listen(quiet, inbox.url("quiet"))
    happen(stream, quiet, 2)
    assert drain(queue.FAST) == 4
    paths = [post.path for post in inbox.posts]
    assert [number for number, path in enumerate(paths) if path == "/quiet"] == [1, 3]
    noisy = [path for path in paths if path != "/quiet"]
    assert len(noisy) == 12
    assert noisy == noisy[:3] * 4  # within a workspace, messages alternate
