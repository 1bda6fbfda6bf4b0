"""The header `cams-message-id` of `message_received`: the message's `mid`, whatever characters it contains."""

from typing import Any
from urllib.parse import unquote

import pytest

from chalicelib.webhooks import ledger, signature
from tests.api import Api
from tests.builders import webhook_body
from tests.webhooks.deliveries import deliveries
from tests.webhooks.pipeline import Inbox, Posted, Stream, drain, fan_out

MESSAGES = "/agents/support/interact/ann/messages"
HEADER = signature.MESSAGE_ID


@pytest.fixture
def webhook(stream: Stream, api: Api, agent_id: str, inbox: Inbox) -> Any:
    """Subscribe an endpoint to received messages."""
    stream.read()
    return api.post("/v3/webhooks", webhook_body(inbox.url(), "message_received", "agent_updated")).data


def receive(api: Api, stream: Stream, inbox: Inbox, mid: str) -> Posted:
    """Store a message from the user; return its delivery."""
    assert api.post(MESSAGES, {"messages": [{"mid": mid, "from": "human", "item": {"text": "Hi"}}]}).status == 200
    fan_out(stream.read())
    drain()
    return inbox.posts[-1]


@pytest.mark.parametrize(
    ("mid", "header"),
    [
        ("06fgz0x9w52n6p1x4c9r3k7thb", "06fgz0x9w52n6p1x4c9r3k7thb"),
        ("b-_5.~", "b-_5.~"),
        ("a b/c%", "a%20b%2Fc%25"),
        ("m\r\nwebhook-id: forged", "m%0D%0Awebhook-id%3A%20forged"),
        ("\x00\x7f", "%00%7F"),
        ("é\N{GRINNING FACE}", "%C3%A9%F0%9F%98%80"),
        ("x" * 999, "x" * 999),
    ],
)
@pytest.mark.usefixtures("webhook")
def test_the_header_contains_the_percent_encoded_mid(
    mid: str, header: str, api: Api, stream: Stream, inbox: Inbox
) -> None:
    post = receive(api, stream, inbox, mid)
    assert (post.headers[HEADER], unquote(post.headers[HEADER])) == (header, mid)
    assert "forged" not in post.id
    assert not {"mid", "messageId"} & {*post.body, *post.body["payload"]}


@pytest.mark.parametrize("mid", ["x" * 1_000, "x" * 2_000, " " * 334, "\N{GRINNING FACE}" * 84])
@pytest.mark.usefixtures("webhook")
def test_a_long_mid_is_omitted(mid: str, api: Api, stream: Stream, inbox: Inbox) -> None:
    assert HEADER not in receive(api, stream, inbox, mid).headers


def test_a_redelivery_has_the_same_header(webhook: Any, api: Api, stream: Stream, inbox: Inbox) -> None:
    receive(api, stream, inbox, "a b")
    (listed,) = deliveries(api, webhook)
    assert api.post(f"/v3/webhooks/{webhook['id']}/deliveries/{listed['id']}/redeliver").status == 200
    drain()
    first, again = inbox.posts
    assert first.headers[HEADER] == again.headers[HEADER] == "a%20b"
    assert "messageId" not in api.get(f"/v3/webhooks/{webhook['id']}/deliveries/{listed['id']}").text


@pytest.mark.usefixtures("webhook")
def test_other_events_and_events_of_earlier_releases_have_no_header(
    api: Api, stream: Stream, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert api.patch("/v3/agents/support", {"agent": {"title": "Other"}}).status == 200
    save = ledger.save_events
    monkeypatch.setattr(ledger, "save_events", lambda new: save([one._replace(message_id=None) for one in new]))
    receive(api, stream, inbox, "m1")
    assert sorted((post.body["type"], HEADER in post.headers) for post in inbox.posts) == [
        ("agent_updated", False),
        ("message_received", False),
    ]
