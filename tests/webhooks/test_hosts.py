"""A host counts as slow until it proves quick: promotion, demotion, and where the host's state is stored."""

import socket
import threading
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest

from chalicelib import clock, storage
from chalicelib.webhooks import endpoints, hosts, queue
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import stored
from tests.builders import webhook_body
from tests.capacity import metered
from tests.sending.receivers import OK, Receiver, read_request
from tests.webhooks import pipeline
from tests.webhooks.conftest import SetLimits
from tests.webhooks.pipeline import Inbox, Stream, drain, fan_out, waiting

URL = "https://receiver.example.com/hook"
HOST = "receiver.example.com:443"
MINUTE, DAY = 60, 24 * 60 * 60


pytestmark = pytest.mark.usefixtures("slow_new_hosts")


@pytest.fixture
def hangs(set_limits: SetLimits) -> Iterator[Inbox]:
    """Run a receiver that responds only after the delivery counts as hanging."""
    set_limits(slow_seconds=0.2)
    answer = threading.Event()

    def late(connection: socket.socket, where: Receiver) -> None:
        where.requests.append(read_request(connection))
        answer.wait(0.4)
        connection.sendall(OK)

    with pipeline.inbox(late) as inbox:
        yield inbox
        answer.set()


def listen(api: Api, url: str) -> str:
    webhook_id: str = api.post("/v3/webhooks", webhook_body(url, "organisation_created")).data["id"]
    return webhook_id


def happen(stream: Stream, api: Api, *names: str) -> None:
    for name in names:
        assert api.post(f"/v2/orgs/{name}", {"name": name}).status == 200
    fan_out(stream.read())


def state(workspace: NewWorkspace, url: str = URL) -> hosts.Host:
    return hosts.find(endpoints.list_with_hosts(workspace.workspace_id)[1], url)


# The rules


def test_a_host_is_its_name_and_port() -> None:
    assert hosts.name("https://Receiver.example.com/a?b=c") == hosts.name(URL) == HOST
    assert hosts.name("https://receiver.example.com:8443/") == "receiver.example.com:8443"
    assert hosts.name("https://[2001:0db8::1]/") == "2001:db8::1:443"


def test_a_new_host_is_slow_and_a_quick_answer_promotes_it_for_a_day(
    workspace: NewWorkspace, later: Callable[[int], None]
) -> None:
    assert not state(workspace).is_quick
    hosts.promote(workspace.workspace_id, HOST)
    assert state(workspace).is_quick
    later(DAY - MINUTE)
    assert state(workspace).is_quick
    later(2 * MINUTE)
    assert not state(workspace).is_quick


def test_each_hang_after_a_promotion_demotes_a_host_for_longer_up_to_a_day(
    workspace: NewWorkspace, later: Callable[[int], None]
) -> None:
    lasted = []
    for _ in range(10):
        hosts.promote(workspace.workspace_id, HOST)
        assert state(workspace).is_quick
        hosts.demote(workspace.workspace_id, HOST)
        hosts.promote(workspace.workspace_id, HOST)  # a quick response does not end the penalty
        assert not state(workspace).is_quick
        lasted.append(state(workspace).slow_until - clock.seconds())
        later(lasted[-1])
    minutes = [round(seconds / MINUTE) for seconds in lasted]
    assert minutes == [10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440]


def test_a_host_that_stays_quick_for_half_a_day_starts_afresh(
    workspace: NewWorkspace, later: Callable[[int], None]
) -> None:
    hosts.promote(workspace.workspace_id, HOST)
    hosts.demote(workspace.workspace_id, HOST)
    later(10 * MINUTE)
    hosts.promote(workspace.workspace_id, HOST)
    later(DAY // 2 + MINUTE)
    hosts.promote(workspace.workspace_id, HOST)
    hosts.demote(workspace.workspace_id, HOST)
    assert state(workspace).slow_until - clock.seconds() == pytest.approx(10 * MINUTE, abs=2)


def test_only_a_change_is_written(workspace: NewWorkspace) -> None:
    with metered() as meter:
        hosts.demote(workspace.workspace_id, HOST)  # a new host is already slow
        hosts.promote(workspace.workspace_id, HOST)
        hosts.promote(workspace.workspace_id, HOST)
    assert meter.requests == {"GetItem": 3, "PutItem": 1}


def test_a_workspace_remembers_the_fifty_hosts_that_changed_last(workspace: NewWorkspace) -> None:
    for number in range(60):
        hosts.promote(workspace.workspace_id, f"{number}.example.com:443")
    assert not state(workspace, "https://9.example.com/").is_quick
    assert state(workspace, "https://10.example.com/").is_quick
    assert len([row for row in stored()["cams-webhooks"] if row["webhook_id"]["S"] == hosts.SORT_KEY]) == 1


def test_other_hosts_do_not_make_a_workspace_forget_a_penalty(
    workspace: NewWorkspace, later: Callable[[int], None]
) -> None:
    for minutes in (10, 20, 40):
        hosts.promote(workspace.workspace_id, HOST)
        hosts.demote(workspace.workspace_id, HOST)
        for number in range(60):
            hosts.promote(workspace.workspace_id, f"{minutes}-{number}.example.com:443")
        assert state(workspace).slow_until - clock.seconds() == pytest.approx(minutes * MINUTE, abs=5)
        later(minutes * MINUTE + 5)


def test_a_new_host_is_remembered_though_all_others_have_a_penalty(workspace: NewWorkspace) -> None:
    for number in range(51):
        hosts.promote(workspace.workspace_id, f"{number}.example.com:443")
        hosts.demote(workspace.workspace_id, f"{number}.example.com:443")
    hosts.promote(workspace.workspace_id, HOST)
    assert state(workspace).is_quick


def test_a_host_that_is_quick_for_one_workspace_is_new_for_another(
    workspace: NewWorkspace, other_workspace: NewWorkspace
) -> None:
    hosts.promote(other_workspace.workspace_id, HOST)
    assert not state(workspace).is_quick


def test_concurrent_changes_of_two_hosts_are_both_kept(
    workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, first = storage.find, [True]

    def overtaken(*arguments: object) -> object:
        found = find(*arguments)  # type: ignore[call-overload]
        if first.pop() if first else False:
            hosts.promote(workspace.workspace_id, "other.example.com:443")
        return found

    monkeypatch.setattr(storage, "find", overtaken)
    hosts.promote(workspace.workspace_id, HOST)
    assert state(workspace).is_quick
    assert state(workspace, "https://other.example.com/").is_quick


# Deliveries


def test_a_new_host_starts_in_the_slow_queue_and_uses_the_fast_one_after_its_first_answer(
    stream: Stream, api: Api, inbox: Inbox
) -> None:
    listen(api, inbox.url())
    happen(stream, api, "one")
    assert drain(queue.FAST) == 0
    assert drain(queue.SLOW) == 1
    happen(stream, api, "two")
    assert drain(queue.FAST) == 1
    assert len(inbox.posts) == 2


def test_a_refusal_is_an_answer_but_an_unreachable_receiver_proves_nothing(
    stream: Stream, api: Api, workspace: NewWorkspace
) -> None:
    def refuses(connection: socket.socket, where: Receiver) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n")

    with pipeline.inbox(refuses) as refusing:
        listen(api, refusing.url())
        listen(api, "http://127.0.0.1:9/")
        happen(stream, api, "one")
        assert drain(queue.SLOW) == 2
        assert state(workspace, refusing.url()).is_quick
    assert not state(workspace, "http://127.0.0.1:9/").is_quick


def test_a_requested_delivery_to_a_new_host_is_posted_from_the_slow_queue(
    stream: Stream, api: Api, inbox: Inbox
) -> None:
    webhook_id = listen(api, inbox.url())
    assert api.post(f"/v3/webhooks/{webhook_id}/test").status == 200
    assert drain(queue.FAST) == 1
    assert inbox.posts == []
    assert drain(queue.SLOW) == 1
    assert len(inbox.posts) == 1


def test_a_burst_to_a_new_host_is_promoted_once(stream: Stream, api: Api, inbox: Inbox) -> None:
    listen(api, inbox.url())
    happen(stream, api, *(f"org-{number}" for number in range(30)))
    messages = pipeline.take(queue.SLOW)
    with metered() as meter:
        messages.run()
    assert len(inbox.posts) == 30
    # Promoting the host costs one read and one write.
    assert meter.requests == {"BatchGetItem": 1, "PutItem": 30 + 1, "UpdateItem": 30, "GetItem": 1}
    happen(stream, api, "more")
    messages = pipeline.take(queue.FAST)
    with metered() as meter:
        messages.run()
    assert meter.requests == {"BatchGetItem": 1, "PutItem": 1, "UpdateItem": 1}


def test_a_new_endpoint_of_a_slow_host_is_slow(stream: Stream, api: Api, workspace: NewWorkspace, hangs: Inbox) -> None:
    hosts.promote(workspace.workspace_id, hangs.host)
    listen(api, hangs.url("one"))
    happen(stream, api, "one")
    assert drain(queue.FAST) == 1  # the host hangs and is demoted
    listen(api, hangs.url("two"))
    happen(stream, api, "two")
    assert waiting(queue.FAST) == []
    assert len(waiting(queue.SLOW)) == 2


def test_endpoints_that_hang_and_are_created_again_never_use_the_fast_queue(
    stream: Stream, api: Api, workspace: NewWorkspace, hangs: Inbox
) -> None:
    for round_ in range(3):
        webhook_ids = [listen(api, hangs.url(str(number))) for number in range(5)]
        happen(stream, api, f"org-{round_}")
        assert waiting(queue.FAST) == []
        assert drain(queue.SLOW) == 5
        for webhook_id in webhook_ids:
            assert api.delete(f"/v3/webhooks/{webhook_id}").status == 200
    assert len(hangs.posts) == 15
    assert not state(workspace, hangs.url()).is_quick


def test_hosts_are_not_listed_and_do_not_count_as_endpoints(api: Api, workspace: NewWorkspace) -> None:
    hosts.promote(workspace.workspace_id, HOST)
    webhook_ids = [listen(api, URL) for _ in range(endpoints.MAX_ENDPOINTS)]
    assert [one["id"] for one in api.get("/v3/webhooks").data] == webhook_ids
    assert api.post("/v3/webhooks", webhook_body(URL)).status == 429
    for path in (hosts.SORT_KEY, quote(hosts.SORT_KEY)):
        assert api.call("GET", f"/v3/webhooks/{path}").status in (400, 404)
        assert api.call("DELETE", f"/v3/webhooks/{path}").status in (400, 404)


def test_unreadable_hosts_are_slow_until_they_answer(
    stream: Stream, api: Api, workspace: NewWorkspace, inbox: Inbox
) -> None:
    hosts.promote(workspace.workspace_id, inbox.host)
    row = storage.find(hosts.HostsRow, workspace.workspace_id, hosts.SORT_KEY)
    assert row is not None
    row.document += b"damaged"
    with storage.unit_of_work():
        storage.put(row)
    listen(api, inbox.url())
    happen(stream, api, "one")
    assert drain(queue.SLOW) == 1
    assert len(inbox.posts) == 1
    assert state(workspace, inbox.url()).is_quick
