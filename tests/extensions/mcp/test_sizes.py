"""Answers have at most 40,000 characters: lists return smaller pages, and records list their omitted members."""

import json
from typing import Any

import pytest

from chalicelib.extensions.mcp import calls
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Api
from tests.builders import message
from tests.extensions.mcp.assistant import Assistant

MOST_CHARACTERS = 40_000
PROMPT = "".join(f'{number} "ünïcödé" \n' for number in range(4_000))


@pytest.fixture
def assistant(workspace: NewWorkspace) -> Assistant:
    """Return a client with an access token."""
    return Assistant(workspace.access_token)


def text_of(result: Any) -> str:
    """Return a result's texts, which are short enough."""
    text = "".join(content["text"] for content in result["content"])
    assert len(text) <= MOST_CHARACTERS
    return text


def test_a_long_member_is_omitted_and_read_in_pieces(assistant: Assistant, api: Api) -> None:
    agent = api.post("/v3/agents", {"agent": {"title": "Support", "vg_systemPrompt": PROMPT}}).data["id"]
    text_of(assistant.result("read_agent", agent_id=agent))
    read = assistant.call("read_agent", agent_id=agent)
    assert read["omitted"] == [{"member": "vg_systemPrompt", "characters": len(json.dumps(PROMPT, ensure_ascii=False))}]
    assert "vg_systemPrompt" not in read["data"]
    pieces, offset = "", 0
    while offset is not None:
        answer = assistant.result("read_agent", agent_id=agent, members=["vg_systemPrompt"], offset=offset)
        piece = json.loads(text_of(answer))
        pieces, offset = pieces + piece["piece"], piece.get("nextOffset")
    assert pieces == PROMPT
    together = assistant.fail("read_agent", agent_id=agent, members=["title", "vg_systemPrompt"])
    assert together["issues"][0]["path"] == "members"
    short = assistant.call("read_agent", agent_id=agent, members=["title"])
    assert short == {"members": {"title": "Support"}}


def test_a_change_of_another_member_keeps_the_omitted_member(assistant: Assistant, api: Api) -> None:
    agent = api.post("/v3/agents", {"agent": {"title": "Support", "vg_systemPrompt": PROMPT}}).data["id"]
    read = assistant.call("read_agent", agent_id=agent)
    text_of(assistant.result("change_agent", agent_id=agent, etag=read["etag"], agent={**read["data"], "title": "S"}))
    assert api.get(f"/v3/agents/{agent}").data["vg_systemPrompt"] == PROMPT


def test_all_pages_together_contain_every_message_once(assistant: Assistant, api: Api, agent_id: str) -> None:
    texts = [f"{number} {'x' * (20 * number)}" for number in range(200)]
    for start in range(0, 200, 50):
        body = {"messages": [message(text) for text in texts[start : start + 50]]}
        assert api.post(f"/agents/{agent_id}/interact/ann/messages", body).status == 200
    received: list[str] = []
    more: dict[str, Any] = {}
    ids = {"agent_id": agent_id, "convo_id": "ann"}
    while True:
        page = json.loads(text_of(assistant.result("list_messages", **ids, limit=100, **more)))
        assert "omitted" not in page
        received += [one["item"]["text"] for one in page["data"]]
        if "nextCursor" not in page:
            break
        more = {"cursor": page["nextCursor"]}
    assert sorted(received) == sorted(texts)


def test_a_long_message_is_omitted_and_read_in_pieces(assistant: Assistant, api: Api, agent_id: str) -> None:
    body = {"messages": [message("short"), message(PROMPT), message("short")]}
    assert api.post(f"/agents/{agent_id}/interact/ann/messages", body).status == 200
    ids = {"agent_id": agent_id, "convo_id": "ann"}
    first = json.loads(text_of(assistant.result("list_messages", **ids)))
    second = json.loads(text_of(assistant.result("list_messages", **ids, limit=5, cursor=first["nextCursor"])))
    assert [len(page["data"]) for page in (first, second)] == [1, 1]
    assert [one["member"] for one in second["omitted"]] == ["0.item"]
    arguments = {**ids, "limit": 1, "cursor": first["nextCursor"], "members": ["0.item.text"]}
    assert PROMPT.startswith(json.loads(text_of(assistant.result("list_messages", **arguments)))["piece"])


@pytest.mark.skipif(not extensions.are_all_on(), reason="Some tools belong to other extensions.")
@pytest.mark.parametrize("tool", ["search_conversations", "export_conversations", "read_conversation", "export_agent"])
def test_other_answers_are_short_enough(assistant: Assistant, api: Api, tool: str) -> None:
    agent = api.post("/v3/agents", {"agent": {"vg_systemPrompt": PROMPT}}).data["id"]
    for convo in ("ann", "bob", "cy"):
        body = {"messages": [message(f"Hello {'x' * 5_000}") for _ in range(50)]}
        assert api.post(f"/agents/{agent}/interact/{convo}/messages", body).status == 200
    arguments = {"search_conversations": {"q": "hello"}, "read_conversation": {"convo_id": "ann"}}.get(tool, {})
    result = assistant.result(tool, agent_id=agent, **arguments)
    assert result["isError"] is False
    text_of(result)


def test_a_message_with_long_member_names_is_omitted_as_a_whole(assistant: Assistant, api: Api, agent_id: str) -> None:
    """A visitor chooses the names of a message's members."""
    long = {**message("Hello"), **{f"{number}{'x' * 3_000}": number for number in range(20)}}
    body = {"messages": [message("short"), long]}
    assert api.post(f"/agents/{agent_id}/interact/ann/messages", body).status == 200
    ids: dict[str, Any] = {"agent_id": agent_id, "convo_id": "ann", "limit": 1}
    page = json.loads(text_of(assistant.result("list_messages", **ids)))
    assert [one["member"] for one in page["omitted"]] == [""]
    assert "data" not in page and page["nextCursor"]
    piece = json.loads(text_of(assistant.result("list_messages", **ids, members=[""])))
    assert "Hello" in piece["piece"] and piece["nextOffset"]


def test_one_long_message_among_short_messages_costs_few_requests(
    assistant: Assistant, api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for texts in ([""] * 50, [""] * 49 + ["x" * 38_000]):
        body = {"messages": [message(text) for text in texts]}
        assert api.post(f"/agents/{agent_id}/interact/ann/messages", body).status == 200
    limits = list[int]()
    send = calls._send
    monkeypatch.setattr(calls, "_send", lambda *call: (limits.append(call[2]["limit"]), send(*call))[1])
    text_of(assistant.result("list_messages", agent_id=agent_id, convo_id="ann", limit=100))
    assert len(limits) <= 7
