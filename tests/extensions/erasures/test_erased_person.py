"""A canary test: after an erasure, none of the workspace's tables and queues contain the person's data."""

import base64
import json
import random
import socket
from datetime import datetime
from typing import Any

import pytest

from chalicelib.extensions.erasures.kinds import by_name
from chalicelib.webhooks import events
from chalicelib.workspaces.store import NewWorkspace
from tests import decrypted_items, moto_tables
from tests.api import Api
from tests.builders import lead_body, message, state_body, webhook_body
from tests.conftest import PassTime
from tests.extensions.erasures.person_erasure import erase
from tests.selection import whole
from tests.sending.receivers import status
from tests.webhooks import pipeline
from tests.webhooks.conftest import inbox as inbox
from tests.webhooks.conftest import stream as stream

USER, EMAIL, PHONE = "canary-user-7c1e", "Canary.7c1e@example.com", "+49 30 7c1e555"
WORDS = "quixotic-zephyr-7c1e"
PERSON = {"userID": USER, "email": EMAIL.lower(), "phone": PHONE}
DAY = 24 * 60 * 60
NOISE = base64.b64encode(random.Random(1).randbytes(300_000)).decode()
MARKS = (USER, EMAIL.casefold(), PHONE, WORDS)


def marked(text: str) -> bool:
    """Return whether a text contains the person's data."""
    return any(mark in text.casefold() for mark in MARKS)


def kinds() -> set[str]:
    """Return the kinds of items that contain the person's data: tables, with sort-key prefixes for conversations."""
    found = [one for one in decrypted_items.items() if marked(one.text)]
    return {
        " ".join([one.table, *one.keys[1:]][: 1 + (one.table == "conversations")]).partition("#")[0] for one in found
    }


def with_key(api: Api, path: str, body: Any, key: str, method: str = "POST") -> None:
    headers = {**api._headers, "Content-Type": "application/json", "Idempotency-Key": key.replace(" ", "-")}
    assert api.call(method, path, body, headers).status == 200


def plant(api: Api, user: str, email: str, phone: str, words: str) -> None:
    """Store all the data that a workspace with two agents can contain about a person."""
    for agent in ("support", "sales"):
        assert api.post(f"/v2/agents/{agent}", {"title": agent}).status == 200
    # A long conversation whose id is the person's. It is stored in chunks, with separate items for received messages.
    long = [{"from": "human", "messages": [message(f"{words} {number} {NOISE[number * 500 : number * 500 + 500]}")]}
            for number in range(600)]  # fmt: skip
    with_key(api, f"/agents/support/interact/{user}/state", {"turns": long}, f"long {user}")
    # The first appended message writes the message index, whose item keys contain the conversation id.
    added = {"messages": [{**message(words), "from": "human"}]}
    with_key(api, f"/agents/support/interact/{user}/messages", added, f"added {user}")
    with_key(api, f"/v3/agents/support/convos/{user}/messages", added, f"added v3 {user}")
    with_key(api, f"/agents/support/interact/{user}/visitor-tokens", {"token": {}}, f"visitor {user}")
    # A visitor token is issued before the conversation exists. The conversation then waits for a person in the inbox.
    other = f"visitor-of-{words[-4:]}"
    issued = api.post(f"/agents/sales/interact/{other}/visitor-tokens", {"token": {}}).data["token"]
    visitor = Api(issued)
    assert visitor.post(f"/agents/sales/interact/{other}/messages", added).status == 200
    named = {"metadata": {"userName": words, "userEmail": email, "userPhone": phone}}
    assert visitor.post(f"/agents/sales/interact/{other}/state", named).status == 200
    waiting = {"conversation": {"title": words, "state": "requested_chat", "tags": [words]}}
    with_key(api, f"/v3/agents/sales/convos/{other}", waiting, f"title {user}", "PATCH")
    said = {"messages": [{**message(words), "mid": f"m-{words}"}]}
    with_key(api, f"/v3/agents/sales/convos/{other}/messages", said, f"said {user}")
    edited = {"message": {"item": {"text": f"edited {words}"}}}
    with_key(api, f"/v3/agents/sales/convos/{other}/messages/m-{words}", edited, f"edited {user}", "PATCH")
    assigned = {"assignToUserId": None, "state": "human-chatting"}
    with_key(api, f"/v3/agents/sales/convos/{other}/assign", assigned, f"assigned {user}")
    named = {"conversation": {"userPhone": phone, "title": words}}
    with_key(api, "/v3/agents/sales/convos", named, f"created {user}")
    # Conversations with other ids. Each contains the person's data in a different metadata member.
    for name, value in (("userID", user), ("userEmail", email), ("userPhone", phone)):
        body = {**state_body(words), "metadata": {name: value}}
        with_key(api, f"/agents/sales/interact/{name}-of-{words[-4:]}-{len(value)}/state", body, f"{name} {user}")
    # The metadata is too long for the index.
    large = {**state_body(words), "metadata": {"userEmail": email.upper(), "userName": NOISE[:5_000]}}
    assert api.post(f"/agents/sales/interact/large-{words[-4:]}/state", large).status == 200
    for number, members in enumerate(({"email": email.upper()}, {"phone": phone}, {"name": words, "email": email})):
        with_key(api, "/v3/leads", lead_body("sales", **members), f"lead {number} {user}")
    for path, record in (
        (f"support/analytics/{user}", {"record": "load", "browser": words}),
        (f"sales/analytics/userEmail-of-{words[-4:]}-{len(email)}", {"record": "convo", "browser": words}),
        (f"sales/analytics/elsewhere-{words[-4:]}", {"record": "load", "userID": user}),
    ):
        assert api.post(f"/v2/agents/{path}", record).status == 200


def plant_neighbour(api: Api) -> None:
    plant(api, "neighbour", "neighbour@example.org", "+1 555", "plain-words-0000")


def items_of(workspace: NewWorkspace) -> list[str]:
    """Return a workspace's items, except credential rows that record their last use."""
    return sorted(
        repr(item)
        for items in moto_tables.items().values()
        for item in items
        if workspace.workspace_id in repr(item) and "last_used_at" not in item
    )


def refuse(connection: socket.socket, where: Any) -> None:
    status(500)(connection, where)


@pytest.fixture
def planted(api: Api, other_workspace: NewWorkspace, stream: pipeline.Stream, inbox: pipeline.Inbox) -> None:
    """Store the person in two workspaces and a neighbour in one, and webhooks that were delivered, failed or queued."""
    with pipeline.inbox(refuse) as failing:
        for one in (inbox, failing):
            assert api.post("/v3/webhooks", webhook_body(one.url(), *events.TYPES)).status == 200
        plant_neighbour(api)
        plant(api, USER, EMAIL, PHONE, WORDS)
        pipeline.fan_out(stream.read())
        held = pipeline.take()
        held.run()  # delivers at most ten messages of at most 40 events; the rest stay in the queue
        held.delete()
    moto_tables.drop_history()
    plant(Api(other_workspace.workspace_key), USER, EMAIL, PHONE, WORDS)


def of_neighbour() -> list[str]:
    return [one.text for one in decrypted_items.items() if "neighbour" in one.text or "plain-words" in one.text]


@whole
def test_the_streams_keep_a_person_until_the_receipt_says(
    api: Api, other_workspace: NewWorkspace, stream: pipeline.Stream, pass_time: PassTime
) -> None:
    """Stream records cannot be deleted. DynamoDB drops each record 24 hours after its change."""
    plant(api, USER, EMAIL, PHONE, WORDS)
    receipt = erase(api, pass_time, **PERSON)["receipt"]
    times = [time for _, time, text in decrypted_items.stream_records() if marked(text)]
    until = datetime.fromisoformat(receipt["streamsUntil"].replace("Z", "+00:00")).timestamp()
    assert len(times) > 20
    assert max(times) + DAY <= until
    # The streams also contain the deletions, which cause no events.
    records = stream.read()
    removals = [one for one in records if one["eventName"] == "REMOVE"]
    assert len(removals) > 10
    assert pipeline.events_of(removals) == []


@whole
def test_a_person_is_found_nowhere_after_their_erasure(
    api: Api, other_workspace: NewWorkspace, planted: None, inbox: pipeline.Inbox, pass_time: PassTime
) -> None:
    others, neighbour = items_of(other_workspace), of_neighbour()
    conversations = {f"conversations {one}" for one in ("conversation", "turns", "received", "mid")}
    assert kinds() == conversations | {"leads", "analytics", "events", "idempotency"}
    erasure = erase(api, pass_time, **PERSON)
    left = [
        one
        for one in decrypted_items.items()
        if marked(one.text) and not one.keys[0].startswith(other_workspace.workspace_id)
    ]
    assert [(one.table, one.keys, one.text[:300]) for one in left] == []
    assert [one for one in decrypted_items.messages() if marked(one[1])] == []
    assert not marked(json.dumps(erasure))
    # The person's data in the other workspace is kept, and so is the other person's data in this workspace.
    assert items_of(other_workspace) == others
    assert of_neighbour() == neighbour
    counts = erasure["receipt"]["counts"]
    assert counts == {
        **dict.fromkeys(by_name(), 0),
        "conversations": 7,
        "analytics": 3,
        "leads": 3,
        "events": counts["events"],
        "answers": 15,
    }
    assert counts["events"] > 600
    # The events of queued deliveries no longer exist, so these deliveries post nothing about the person.
    posted = len(inbox.posts)
    assert pipeline.drain() > 0
    assert not any(marked(one.text.decode()) for one in inbox.posts[posted:])
    assert [one for one in decrypted_items.items() if marked(one.text) and one.table in ("events", "deliveries")] == []
