"""The Python client's writes and credentials: retries, keys and conditions. It calls the service without a network."""

import asyncio
import sys
from itertools import cycle
from typing import Any

import httpx
import pytest

from chalicelib import extensions
from chalicelib.workspaces.store import NewWorkspace
from tests.generated_clients.in_process import HTML, Connect, Service

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="NOT TESTED: the Python client needs Python 3.11.")

EVERY_FIFTH = (None, None, None, None, "lost")


def stale() -> httpx.Response:
    return httpx.Response(409, json={"success": False, "code": "STALE", "message": "The record has changed."})


def test_appends_whose_fifth_responses_are_lost_are_stored_once_and_in_order(connect: Connect, agent: Any) -> None:
    service = Service(cycle(EVERY_FIFTH))
    conversation = connect(service).conversations(agent.id, "ann")

    sent = [conversation.messages.add(f"message {number}")[0] for number in range(40)]

    stored = list(conversation.messages.list())[::-1]
    assert [message.item["text"] for message in stored] == [f"message {number}" for number in range(40)]
    assert [message.mid for message in stored] == [message.mid for message in sent]
    assert len(service.requests) > 45
    assert set(service.keys) == {None}


def test_a_stale_append_is_sent_again_with_the_same_mids(connect: Connect, agent: Any) -> None:
    service = Service([stale(), stale()])

    connect(service).conversations(agent.id, "ann").messages.add("Hello", {"from": "bot", "mid": "m-2"})

    assert len(service.requests) == 3
    assert len({request.content for request in service.requests}) == 1


def test_a_reply_to_an_outdated_message_is_rejected_with_the_newest(cams: Any, agent: Any, client: Any) -> None:
    messages = client.conversations(agent.id, "ann").messages
    first, second = messages.add("Hello", "Are you there?")
    with pytest.raises(cams.errors.Outdated) as caught:
        messages.add("Yes.", from_="bot", in_reply_to=first.mid)
    assert caught.value.conversation.newest.mid == second.mid
    assert messages.add("Yes.", from_="bot", in_reply_to=second.mid)[0].from_ == "bot"


def test_a_message_grows_under_one_mid(client: Any, agent: Any) -> None:
    messages = client.conversations(agent.id, "ann").messages
    for text in ("He", "Hello"):
        messages.add({"mid": "m-1", "from": "bot", "item": {"text": text}}, replace=True)
    assert [message.item for message in messages.list()] == [{"text": "Hello"}]


def test_a_person_takes_over_with_a_message(client: Any, agent: Any) -> None:
    client.clients.save("cas", name="Cas")
    conversation = client.conversations(agent.id, "ann")
    conversation.messages.add("Can I help you?", from_="agent", assign_to_user_id="cas")
    taken = conversation.retrieve()
    assert (taken.chat_assigned_to, taken.state) == ("cas", "human-chatting")
    conversation.messages.add("Goodbye.", from_="agent", state="ended_chat")
    assert conversation.retrieve().state == "ended_chat"


def test_an_append_can_require_a_new_conversation(cams: Any, client: Any, agent: Any) -> None:
    messages = client.conversations(agent.id, "ann").messages
    messages.add("Hello", if_none_match="*")
    with pytest.raises(cams.errors.PreconditionFailed):
        messages.add("Hello", if_none_match="*")


@pytest.mark.parametrize("options", [{}, {"in_reply_to": "m-1"}, {"if_match": None}])
def test_an_append_with_a_condition_takes_effect_once_if_its_response_is_lost(
    options: dict[str, Any], connect: Connect, client: Any, agent: Any
) -> None:
    conversation = client.conversations(agent.id, "ann")
    conversation.messages.add({"mid": "m-1", "from": "human", "item": {"text": "Hello"}})
    if "if_match" in options:
        options = {"if_match": conversation.retrieve().etag}
    connect(Service(["lost"])).conversations(agent.id, "ann").messages.add("Yes.", from_="bot", **options)
    assert len(list(conversation.messages.list())) == 2


def test_a_session_pauses_before_it_repeats_a_conflicting_change(
    cams: Any, connect: Connect, agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cams._sync.transcript import Transcript

    pauses: list[float] = []
    monkeypatch.setattr(cams._sync.transport.time, "sleep", pauses.append)
    monkeypatch.setattr(cams._http.random, "uniform", lambda shortest, longest: longest)
    monkeypatch.setattr(cams._http, "_LONGEST", 8.0)
    changed = httpx.Response(412, json={"success": False, "code": "PRECONDITION_FAILED", "message": "It has changed."})
    service = Service([None, None, changed, None, changed])
    client = connect(service)
    client.conversations(agent.id, "ann").messages.add("Hello")

    popped = Transcript(client, agent.id, "ann").pop()

    assert (popped.item, pauses) == ({"text": "Hello"}, [0.5, 1.0])
    assert len(service.requests) == 1 + 2 * 3


def test_a_write_that_returns_messages_is_sent_immediately(client: Any, agent: Any) -> None:
    conversation = client.conversations(agent.id, "ann")
    conversation.messages.add("Hello")
    turns = [{"messages": [{"from": "human", "item": {"text": "Bye"}}]}]
    replaced = conversation.messages.replace(turns=turns)
    assert [message.item for message in conversation.messages.list()] == [{"text": "Bye"}]
    assert [message.item for message in replaced] == [{"text": "Bye"}]


def test_a_stale_state_is_not_sent_again(cams: Any, connect: Connect, agent: Any) -> None:
    service = Service([stale()])
    with pytest.raises(cams.errors.Stale):
        connect(service).conversations(agent.id, "ann").state(turns=[])
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("has_key", "call"),
    [
        (True, lambda client, agent: client.agents.create(title="Sales")),
        (True, lambda client, agent: client.tools.create(agent.id, name="hotels")),
        (True, lambda client, agent: client.agents.update(agent.id, title="Sales", if_match=agent.etag)),
        (True, lambda client, agent: client.conversations(agent.id, "ann").state(turns=[])),
        (False, lambda client, agent: client.agents.update(agent.id, title="Sales")),
        (False, lambda client, agent: client.organisations.save("acme", name="Acme")),
        (False, lambda client, agent: client.conversations(agent.id, "ann").state()),
        (True, lambda client, agent: client.conversations(agent.id, "ann").messages.add("Hello", if_match="*")),
        (True, lambda client, agent: client.conversations(agent.id, "eve").messages.add("Hi", if_none_match="*")),
        (False, lambda client, agent: client.conversations(agent.id, "ann").messages.add("Hello", replace=True)),
    ],
)
def test_a_lost_write_has_a_key_only_if_a_repeat_would_take_effect(
    has_key: bool, call: Any, connect: Connect, agent: Any
) -> None:
    connect(Service()).conversations(agent.id, "ann").messages.add("Hi")
    service = Service(["lost"])

    call(connect(service), agent)

    assert len(service.requests) == 2
    assert len(set(service.keys)) == 1
    assert (service.keys[0] is not None) == has_key


def test_a_creation_whose_response_is_lost_creates_one_record(connect: Connect, agent: Any, client: Any) -> None:
    connect(Service(["lost", HTML, "lost"])).tools.create(agent.id, name="hotels")
    assert [tool.name for tool in client.tools.list(agent.id)] == ["hotels"]


def test_a_visitor_sends_no_key(connect: Connect, agent: Any, client: Any) -> None:
    client.conversations(agent.id, "ann").messages.add("Hello")
    token = client.conversations(agent.id, "ann").issue_visitor_token().token
    service = Service(["lost"])
    connect(service, api_key=token).conversations(agent.id, "ann").state(metadata={"userName": "Ann"}, if_match="*")
    assert service.keys == [None, None]


def test_agent_keys_use_the_edge_and_access_tokens_v3(connect: Connect, agent: Any, client: Any) -> None:
    created = client.conversations.create(agent.id, title="Ann")
    token = client.tokens.issue(name="Bot").token
    for key, start in ((token, "/v3/agents/"), (agent.secret_api_key, "/agents/")):
        service = Service()
        conversation = connect(service, api_key=key).conversations(agent.id, created.id)
        conversation.messages.add("Hello")
        assert conversation.issue_visitor_token(expires_in_seconds=60).token
        assert [request.url.path.startswith(start) for request in service.requests] == [True, True]


@pytest.mark.skipif(not extensions.has("adapters"), reason="the extension adapters is off")
def test_an_agent_key_and_an_access_token_store_a_session(
    connect: Connect, agent: Any, client: Any, workspace: NewWorkspace
) -> None:
    service = Service()
    session = connect(service, api_key=agent.secret_api_key).conversations(agent.id, "ann")
    session.messages.add(*map(str, range(25)))
    whole = [*session.messages.list(order="asc")]
    assert ([message.item["text"] for message in whole], len(service.requests)) == ([*map(str, range(25))], 2)
    session.messages.delete(whole[-1].mid)
    (newest,) = session.messages.list(limit=1).first_page().data
    assert newest.mid == whole[-2].mid
    assert session.messages.list(after="").first_page().body["reset"] is True
    session.delete()
    token = connect(service, api_key=workspace.access_token).conversations(agent.id, "ann")
    assert token.save(title="Order").messages_num == 0
    assert token.save(title="Another").title == client.conversations(agent.id, "ann").retrieve().title


def test_the_asynchronous_client_does_the_same(cams: Any, workspace: NewWorkspace, connect: Connect) -> None:
    service = Service(cycle(EVERY_FIFTH))

    async def story() -> list[str]:
        http = httpx.AsyncClient(transport=service)
        async with cams.AsyncClient(
            api_key=workspace.workspace_key, url="https://cams.test", http_client=http
        ) as client:
            agent = await client.agents.create(title="Support")
            messages = client.conversations(agent.id, "ann").messages
            for number in range(10):
                await messages.add(str(number))
            return [message.item["text"] async for message in messages.list(limit=4)]

    assert asyncio.run(story()) == [*map(str, reversed(range(10)))]
