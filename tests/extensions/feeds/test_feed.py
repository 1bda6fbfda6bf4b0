"""Reading a pull endpoint's events."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from chalicelib import clock, errors, ids, storage
from chalicelib.extensions.feeds import feed
from chalicelib.webhooks import ledger
from chalicelib.webhooks.events import Event
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import state_body, webhook_body
from tests.extensions.feeds.conftest import PullEndpoint, append
from tests.webhooks import pipeline

DAY = 24 * 60 * 60


def _create(api: Api, *names: str) -> None:
    for name in names:
        assert api.post(f"/v2/agents/{name}", {}).status == 200


def _agents(events: list[dict[str, Any]]) -> list[str]:
    return [event["payload"]["agentId"] for event in events]


def test_each_event_is_listed_once_in_order(api: Api, endpoint: PullEndpoint) -> None:
    _create(api, "a", "b", "c")
    endpoint.run()
    first = endpoint.page(limit=2)
    assert (_agents(first.data), first.json["hasMore"], first.json["eventsExpired"]) == (["a", "b"], True, False)
    second = endpoint.page(first.json["after"])
    assert (_agents(second.data), second.json["hasMore"]) == (["c"], False)
    last = endpoint.page(second.json["after"])
    assert (last.data, last.json["after"]) == ([], second.json["after"])
    _create(api, "d")
    endpoint.run()
    assert _agents(endpoint.page(last.json["after"]).data) == ["d"]


def test_an_empty_feed_has_the_position_of_its_beginning(endpoint: PullEndpoint) -> None:
    page = endpoint.page()
    assert (page.data, page.json["after"], page.json["hasMore"]) == ([], "", False)


def test_an_event_has_the_id_and_body_of_a_webhook(api: Api, stream: pipeline.Stream, inbox: pipeline.Inbox) -> None:
    endpoint = PullEndpoint(api, stream, "message_received")
    assert api.post("/v3/webhooks", webhook_body(inbox.url(), "message_received")).status == 200
    _create(api, "support")
    assert api.post("/agents/support/interact/ann/state", state_body("Hello", mid="m/1 ä")).status == 200
    endpoint.run()
    pipeline.drain()
    (post,), (event,) = inbox.posts, endpoint.read()
    payload = {name: value for name, value in post.body["payload"].items() if name != "workspaceSecret"}
    assert (event["id"], event["type"], event["payload"]) == (post.id, post.body["type"], payload)
    assert (event["mid"], post.headers["cams-message-id"]) == ("m/1 ä", quote("m/1 ä", safe=""))


def test_each_event_has_its_position(api: Api, endpoint: PullEndpoint) -> None:
    _create(api, "a", "b", "c")
    endpoint.run()
    first, *rest = endpoint.read()
    assert [*endpoint.read(first["after"])] == rest


def test_a_late_event_gets_the_next_number(api: Api, stream: pipeline.Stream) -> None:
    """Process an older record after a newer one, as if the older record's shard were late."""
    endpoint = PullEndpoint(api, stream, "agent_created", "client_created")
    _create(api, "late")
    late = stream.read("agents")
    assert api.post("/v2/clients/ann", {"name": "Ann"}).status == 200
    endpoint.run()
    page = endpoint.page()
    assert [event["type"] for event in page.data] == ["client_created"]
    pipeline.fan_out(late)
    append()
    (event,) = endpoint.page(page.json["after"]).data
    assert (event["type"], event["id"] < page.data[0]["id"]) == ("agent_created", True)


def test_a_repeated_batch_adds_nothing(api: Api, endpoint: PullEndpoint, stream: pipeline.Stream) -> None:
    _create(api, "a", "b")
    records = stream.read("agents")
    for batch in (records, records[1:], records[:1]):
        pipeline.fan_out(batch)
        append()
    assert _agents([*endpoint.read()]) == ["a", "b"]


def test_events_are_listed_for_thirty_days(api: Api, endpoint: PullEndpoint, later: Callable[[int], None]) -> None:
    _create(api, "old")
    endpoint.run()
    after = endpoint.page().json["after"]
    later(DAY)
    _create(api, "expiring")
    endpoint.run()
    later(29 * DAY)
    _create(api, "new")
    endpoint.run()
    assert _agents(endpoint.page().data) == ["expiring", "new"]
    page = endpoint.page(after)
    assert (_agents(page.data), page.json["eventsExpired"]) == (["expiring", "new"], False)


@pytest.mark.parametrize("is_deleted", [False, True], ids=["still stored", "deleted by TTL"])
def test_an_old_position_continues_with_the_oldest_event(
    workspace: NewWorkspace, api: Api, endpoint: PullEndpoint, later: Callable[[int], None], is_deleted: bool
) -> None:
    _create(api, "read", "missed")
    endpoint.run()
    first, missed = endpoint.read()
    later(40 * DAY)
    _create(api, "new", "newer")
    endpoint.run()
    if is_deleted:
        rows = feed.list_all(workspace.workspace_id, endpoint.id)
        storage.delete_many([row for row in rows if isinstance(row, feed.FeedRow) and row.number < 3])
        ledger.delete_events(workspace.workspace_id, [first["id"], missed["id"]])
    page = endpoint.page(first["after"])
    assert (_agents(page.data), page.json["eventsExpired"]) == (["new", "newer"], True)
    assert endpoint.page(page.json["after"]).json["eventsExpired"] is False
    page = endpoint.page(missed["after"])
    assert (_agents(page.data), page.json["eventsExpired"]) == (["new", "newer"], False)
    page = endpoint.page()
    assert (_agents(page.data), page.json["eventsExpired"]) == (["new", "newer"], False)


def test_an_erased_event_is_left_out(workspace: NewWorkspace, api: Api, endpoint: PullEndpoint) -> None:
    _create(api, "a", "b", "c")
    endpoint.run()
    events = [*endpoint.read()]
    ledger.delete_events(workspace.workspace_id, [events[1]["id"], events[2]["id"]])
    page = endpoint.page()
    assert (_agents(page.data), page.json["eventsExpired"]) == (["a"], False)
    assert page.json["after"] == events[2]["after"]


def test_an_event_that_cannot_be_decrypted_is_listed_as_unreadable(
    workspace: NewWorkspace, api: Api, endpoint: PullEndpoint
) -> None:
    _create(api, "a", "b", "c")
    endpoint.run()
    first, second, third = endpoint.read()
    (row,) = storage.find_many([ledger.event_key(workspace.workspace_id, second["id"])])
    row.document = row.document[:-1] + bytes([row.document[-1] ^ 1])
    storage.save_many([row])
    page = endpoint.page()
    unreadable = {"id": second["id"], "unreadable": True, "after": second["after"]}
    assert (page.data, page.json["eventsExpired"]) == ([first, unreadable, third], False)
    assert endpoint.page(second["after"]).data == [third]


def test_a_page_ends_before_an_event_that_is_being_written(
    api: Api, endpoint: PullEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hide a row from queries, as while DynamoDB applies its transaction. Transactional reads find the row."""
    _create(api, "a", "b", "c")
    endpoint.run()
    query = storage.query

    def hide(number: int) -> None:
        def visible(*arguments: Any, **options: Any) -> list[Any]:
            return [row for row in query(*arguments, **options) if row.number != number]

        monkeypatch.setattr(storage, "query", visible)

    hide(2)
    page = endpoint.page()
    assert (_agents(page.data), page.json["hasMore"], page.json["eventsExpired"]) == (["a"], True, False)
    hide(1)
    first = endpoint.page()
    assert (first.data, first.json["after"], first.json["hasMore"]) == ([], "", True)
    monkeypatch.setattr(storage, "query", query)
    assert _agents(endpoint.page(page.json["after"]).data) == ["b", "c"]


def test_a_page_fits_in_a_response(workspace: NewWorkspace, api: Api, endpoint: PullEndpoint) -> None:
    new = [ids.new_id() for _ in range(60)]
    events = [
        Event(one, workspace.workspace_id, "message_received", {"messageContent": "ä" * 100_000, "createdAt": 1})
        for one in new
    ]
    ledger.save_events(events)
    feed.append(workspace.workspace_id, endpoint.id, new)
    page = endpoint.page(limit=100)
    assert page.json["hasMore"] is True
    assert 0 < len(page.data) < 60
    assert [event["id"] for event in endpoint.read(limit=100)] == new


@pytest.mark.parametrize("after", ["0-", "1-x", f"0-{ids.id_at(1, 1)}", "nonsense", "1"])
def test_a_malformed_position_is_refused(endpoint: PullEndpoint, after: str) -> None:
    answer = endpoint.page(after)
    issue = {"path": "after", "message": "must be empty, or the value in an earlier response"}
    assert (answer.status, answer.json["issues"]) == (400, [issue])


def test_a_position_of_another_feed_is_refused(api: Api, endpoint: PullEndpoint, stream: pipeline.Stream) -> None:
    other = PullEndpoint(api, stream, "client_created")
    _create(api, "a", "b")
    assert api.post("/v2/clients/ann", {}).status == 200
    endpoint.run()
    for reader, after in ((other, endpoint.page().json["after"]), (endpoint, other.page().json["after"])):
        answer = reader.page(after)
        assert (answer.status, answer.json["issues"][0]["path"]) == (400, "after")


def test_a_feed_without_events_for_400_days_begins_again(workspace: NewWorkspace, later: Callable[[int], None]) -> None:
    old, older, new = (ids.new_id() for _ in range(3))
    feed.append(workspace.workspace_id, "hook", [old, older])
    later(401 * DAY)
    rows = [*feed.list_all(workspace.workspace_id, "hook")]
    assert all(row.expires_at < clock.to_datetime(clock.seconds()) for row in rows)
    storage.delete_many(rows)
    feed.append(workspace.workspace_id, "hook", [new])
    with pytest.raises(errors.Invalid):
        feed.read(workspace.workspace_id, "hook", feed.Position(2, older), 20)
    with pytest.raises(errors.Invalid):
        feed.read(workspace.workspace_id, "hook", feed.Position(1, old), 20)
    (entry,) = feed.read(workspace.workspace_id, "hook", None, 20).entries
    assert entry.position == (1, new)


def test_the_newest_number_outlives_its_event(
    workspace: NewWorkspace, api: Api, endpoint: PullEndpoint, later: Callable[[int], None]
) -> None:
    """A feed that is silent for longer than its events are stored continues its numbers."""
    _create(api, "a", "b")
    endpoint.run()
    after = endpoint.page().json["after"]
    later(100 * DAY)
    rows = [
        row
        for row in feed.list_all(workspace.workspace_id, endpoint.id)
        if row.expires_at < clock.to_datetime(clock.seconds())
    ]
    storage.delete_many(rows)
    _create(api, "c")
    endpoint.run()
    assert _agents(endpoint.page(after).data) == ["c"]
