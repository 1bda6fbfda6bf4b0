"""Creating, changing and operating a pull endpoint."""

from typing import Any

import pytest

from chalicelib import extensions
from tests.api import Api
from tests.builders import webhook_body
from tests.extensions.feeds.conftest import PullEndpoint
from tests.webhooks import pipeline

PULL = {"kind": "pull", "events": ["agent_created"]}


def test_a_pull_endpoint_has_neither_a_url_nor_a_secret(api: Api, endpoint: PullEndpoint) -> None:
    assert endpoint.answer.data == {
        "id": endpoint.id,
        "kind": "pull",
        "events": ["agent_created"],
        "enabled": True,
        "description": None,
        "createdAt": endpoint.answer.data["createdAt"],
    }
    assert api.get(endpoint.path).data == endpoint.answer.data
    assert api.get("/v3/webhooks").data == [endpoint.answer.data]


@pytest.mark.parametrize(
    ("members", "path", "rule"),
    [
        ({**PULL, "url": "https://example.com"}, "webhook.url", "must be absent, because a pull endpoint has no URL"),
        ({**PULL, "kind": "push"}, "webhook.url", "is required"),
        ({**PULL, "kind": "other"}, "webhook.kind", "must be 'push' or 'pull'"),
        ({**PULL, "kind": None}, "webhook.kind", "must be 'push' or 'pull'"),
    ],
)
def test_a_url_and_the_kind_must_match(api: Api, members: dict[str, Any], path: str, rule: str) -> None:
    answer = api.post("/v3/webhooks", {"webhook": members})
    assert (answer.status, answer.json["issues"]) == (400, [{"path": path, "message": rule}])


def test_a_push_endpoint_may_name_its_kind(api: Api) -> None:
    made = [api.post("/v3/webhooks", webhook_body(**kind)).data for kind in ({}, {"kind": "push"})]
    assert [one["kind"] for one in made] == ["push", "push"]


def test_without_the_extension_no_pull_endpoint_can_be_created(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "service", lambda name: None)
    answer = api.post("/v3/webhooks", {"webhook": PULL})
    issue = {"path": "webhook.kind", "message": "must be push, because pull endpoints are disabled"}
    assert (answer.status, answer.json["issues"]) == (400, [issue])


def test_without_the_extension_fan_out_skips_pull_endpoints(
    api: Api, endpoint: PullEndpoint, inbox: pipeline.Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert api.post("/v3/webhooks", webhook_body(inbox.url(), "agent_created")).status == 200
    monkeypatch.setattr(extensions, "service", lambda name: None)
    assert api.post("/v2/agents/support", {}).status == 200
    endpoint.run()
    pipeline.drain()
    assert len(inbox.posts) == 1
    assert [*endpoint.read()] == []


def test_the_kind_cannot_change(api: Api, endpoint: PullEndpoint) -> None:
    push = api.post("/v3/webhooks", webhook_body()).data
    for path, kind in ((endpoint.path, "push"), (f"/v3/webhooks/{push['id']}", "pull")):
        before = api.get(path).data
        answer = api.patch(path, {"webhook": {"kind": kind}})
        assert (answer.status, answer.data) == (200, before)
        assert [one["path"] for one in answer.json["warnings"]] == ["webhook.kind"]


def test_a_pull_endpoint_can_be_sent_back_and_paused(api: Api, endpoint: PullEndpoint) -> None:
    changed = {**endpoint.answer.data, "enabled": False}
    assert api.patch(endpoint.path, {"webhook": changed}).data == changed
    assert api.post("/v2/agents/paused", {}).status == 200
    endpoint.run()
    assert [*endpoint.read()] == []


def test_a_pull_endpoint_cannot_get_a_url(api: Api, endpoint: PullEndpoint) -> None:
    answer = api.patch(endpoint.path, {"webhook": {"url": "https://example.com"}})
    issue = {"path": "webhook.url", "message": "must be absent, because a pull endpoint has no URL"}
    assert (answer.status, answer.json["issues"]) == (400, [issue])


@pytest.mark.parametrize("action", ["rotate", "test"])
def test_nothing_can_be_sent_to_or_signed_for_a_pull_endpoint(api: Api, endpoint: PullEndpoint, action: str) -> None:
    answer = api.post(f"{endpoint.path}/{action}")
    assert (answer.status, answer.json["code"]) == (409, "PULL_ENDPOINT")


def test_a_pull_endpoint_has_no_deliveries(api: Api, endpoint: PullEndpoint) -> None:
    assert api.post("/v2/agents/support", {}).status == 200
    endpoint.run()
    (event,) = endpoint.read()
    assert api.get(f"{endpoint.path}/deliveries").data == []
    assert api.post(f"{endpoint.path}/deliveries/{event['id']}/redeliver").status == 404


def test_a_push_endpoint_has_no_feed(api: Api) -> None:
    push = api.post("/v3/webhooks", webhook_body()).data
    answer = api.get(f"/v3/webhooks/{push['id']}/events")
    assert (answer.status, answer.json["code"]) == (409, "PUSH_ENDPOINT")


def test_a_deleted_endpoint_has_no_feed(api: Api, endpoint: PullEndpoint) -> None:
    assert api.post("/v2/agents/support", {}).status == 200
    endpoint.run()
    assert api.delete(endpoint.path).status == 200
    assert endpoint.page().status == 404


@pytest.mark.parametrize("scopes, status", [(["webhooks:read"], 200), (["agents:read"], 403)])
def test_an_access_token_needs_the_scope_of_webhooks(
    api: Api, endpoint: PullEndpoint, scopes: list[str], status: int
) -> None:
    token = api.post("/v3/tokens", {"token": {"name": "consumer", "scopes": scopes}}).data["token"]
    assert Api(token).get(f"{endpoint.path}/events").status == status


def test_a_token_learns_that_its_pull_endpoint_outlives_it(api: Api) -> None:
    token = api.post("/v3/tokens", {"token": {"name": "consumer"}}).data["token"]
    answer = Api(token).post("/v3/webhooks", {"webhook": PULL})
    assert [one["path"] for one in answer.json["warnings"]] == ["webhook"]
