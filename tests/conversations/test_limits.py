"""An agent's limits on interactions and messages apply whichever route writes the messages."""

from typing import Any

import pytest

from chalicelib.conversations import new_messages, store
from tests.api import Api
from tests.conversations.turns import STATE, items, message, turns


@pytest.mark.guarantee("limits")
def test_a_limit_answers_429_and_writes_nothing(api: Api) -> None:
    api.patch("/v3/agents/support", {"agent": {"limits": {"maxInteractionsPerUserId": 1}}})
    api.post(STATE, {"turns": turns(message("a"))})
    before = items()
    answer = api.post(STATE, {"turns": turns(message("a"), message("b"))})
    assert (answer.status, answer.json["code"], answer.json["platformName"]) == (429, "LIMIT_REACHED", "vg")
    assert items() == before


@pytest.mark.guarantee("limits")
def test_the_initial_message_count_of_a_new_conversation_does_not_lift_a_limit(api: Api) -> None:
    api.patch("/v3/agents/support", {"agent": {"messagesLimit": 2}})
    created = api.post("/v3/agents/support/convos", {"conversation": {"messagesNum": 1000}}).data["id"]
    three = turns(message("a"), message("b"), message("c"))
    assert api.post(f"/agents/support/interact/{created}/state", {"turns": three}).status == 429


def test_only_the_last_removed_messages_are_remembered(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_messages, "_MAX_DIGESTS", 20)
    brought: list[list[str]] = []
    stage = store._stage_received

    def recording(row: Any, before: Any, state: Any, name: Any) -> None:
        brought.append([one["mid"] for one in state.new_messages])
        stage(row, before, state, name)

    monkeypatch.setattr(store, "_stage_received", recording)

    def send(*numbers: int) -> None:
        api.post(STATE, {"turns": turns(*(message(str(number)) for number in numbers))})

    send(*range(25))
    send(*range(25), 25)
    send(26)
    send(*range(27))
    # 26 messages were removed, and the conversation no longer remembers the first six. A message that is still stored
    # never counts as new.
    assert brought == [[str(number) for number in range(25)], ["25"], ["26"], [str(number) for number in range(6)]]


@pytest.mark.guarantee("limits")
@pytest.mark.parametrize(
    ("limit", "sender"),
    [({"limits": {"maxInteractionsPerUserId": 2}}, "human"), ({"messagesLimit": 2}, "bot")],
    ids=["maxInteractionsPerUserId", "messagesLimit"],
)
def test_a_limit_counts_the_messages_that_a_later_write_replaced(api: Api, limit: Any, sender: str) -> None:
    """Each write replaces all turns with the newest message."""
    api.patch("/v3/agents/support", {"agent": limit})
    statuses = []
    for number in range(5):
        sent = {"turns": turns({**message(f"m{number}"), "from": sender})}
        before = items()
        statuses.append(api.post(STATE, sent).status)
        assert statuses[-1] == 200 or items() == before
    assert statuses == [200] * 2 + [429] * 3


@pytest.mark.guarantee("limits")
@pytest.mark.parametrize("prefix", ["human ", "u", "o"])
def test_no_id_of_a_bot_s_message_hides_a_message_of_the_user(api: Api, prefix: str) -> None:
    api.patch("/v3/agents/support", {"agent": {"limits": {"maxInteractionsPerUserId": 1}}})
    bots = [{**message(f"{prefix}{number}"), "from": "bot"} for number in range(5)]
    assert api.post(STATE, {"turns": turns(*bots)}).status == 200
    assert api.post(STATE, {"turns": []}).status == 200
    statuses = [api.post(STATE, {"turns": turns(message(str(number)))}).status for number in range(5)]
    assert statuses == [200] + [429] * 4


@pytest.mark.guarantee("limits")
def test_a_launch_counts_for_the_messages_only(api: Api) -> None:
    api.patch("/v3/agents/support", {"agent": {"messagesLimit": 4, "limits": {"maxInteractionsPerUserId": 1}}})
    launches = [{**message(f"l{number}"), "type": "launch", "item": {}} for number in range(4)]
    assert api.post(STATE, {"turns": turns(*launches[:3], message("a"))}).status == 200
    answer = api.post(STATE, {"turns": turns(*launches, message("a"))})
    assert (answer.status, answer.json["limit"]["name"], answer.json["limit"]["used"]) == (429, "messagesLimit", 4)


@pytest.mark.guarantee("limits")
@pytest.mark.parametrize(
    "item", [{"text": "Hello"}, {"message": "", "text": "Hello"}, {"payload": {"content": "Hello"}}]
)
def test_a_visitor_does_not_avoid_the_limit_by_the_type_of_a_text(item: Any, api: Api) -> None:
    api.patch("/v3/agents/support", {"agent": {"limits": {"maxInteractionsPerUserId": 1}}})
    path = "/agents/support/interact/user-1"
    visitor = Api(api.post(f"{path}/visitor-tokens", {"token": {}}).data["token"])
    launch = {"messages": [{"type": "launch", "item": item}]}
    assert [visitor.post(f"{path}/messages", launch).status for _ in range(2)] == [200, 429]


@pytest.mark.guarantee("limits")
def test_a_limit_counts_a_message_once(api: Api) -> None:
    """The message is deleted, sent again, or replaced under its id."""
    api.patch("/v3/agents/support", {"agent": {"messagesLimit": 3, "limits": {"maxInteractionsPerUserId": 2}}})
    human, bot = message("a"), {**message("b"), "from": "bot"}

    def send(*messages: Any, **change: Any) -> int:
        return api.post(STATE, {"turns": turns(*messages), **change}).status

    assert send(human, bot) == 200
    assert api.post(STATE, {"delete": {"mids": ["a"]}}).status == 200
    assert (
        send(human, bot) == send() == send(bot) == send(human) == send(human, {**bot, "item": {"text": "new"}}) == 200
    )
    # A bot message that becomes a user message counts as an interaction, but not as another message.
    assert send(human, {**bot, "from": "human"}) == 200
    assert send(human, bot, {**message("c"), "from": "human"}) == 429
    assert send(human, bot, {**message("c"), "from": "human"}, delete={"mids": ["c"]}) == 200
    assert send(human, bot, {**message("c"), "from": "bot"}) == 200
    assert send({**message("d"), "from": "bot"}) == 429
    assert api.post(STATE, {"metadata": {"userName": "Ann"}}).status == 200
