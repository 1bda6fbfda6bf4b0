"""A program that uses the session of the OpenAI Agents SDK for OpenAI's own conversations, with only an agent key."""

import asyncio
import os
from typing import Any

import cams
from agents import OpenAIConversationsSession
from openai import AsyncOpenAI, OpenAI

from tests.generated_clients.sessions.echo_model import EchoModel
from tests.generated_clients.sessions.page import run_page

KEY, URL = os.environ["CAMS_API_KEY"], f"{os.environ['CAMS_URL']}/agents/support/openai/v1"


async def check_session(client: AsyncOpenAI) -> None:
    """Check that a session keeps all items, returns the newest, pops and clears."""
    session = OpenAIConversationsSession(openai_client=client)
    many: list[Any] = [{"role": "user", "content": f"{number}"} for number in range(45)]
    await session.add_items(many)
    assert await texts(session) == [f"{number}" for number in range(45)]
    assert await texts(session, 25) == [f"{number}" for number in range(20, 45)]
    popped: Any = await session.pop_item()
    assert popped["content"][0]["text"] == "44"
    calls: list[Any] = [
        {"type": "function_call", "call_id": "1", "name": "rooms", "arguments": "{}", "id": "__fake_id__"},
        {"type": "function_call_output", "call_id": "1", "output": "12", "id": "__fake_id__"},
    ]
    await session.add_items(calls)
    newest: list[Any] = await session.get_items(2)
    assert [item["type"] for item in newest] == ["function_call", "function_call_output"]
    await session.clear_session()


async def check_concurrency(client: AsyncOpenAI) -> None:
    """Check that concurrent writers lose and double no item."""
    conversation = (await client.conversations.create()).id

    async def write(writer: int) -> None:
        session = OpenAIConversationsSession(conversation_id=conversation, openai_client=client)
        for number in range(5):
            await session.add_items([{"role": "user", "content": f"{writer} {number}"}])

    await asyncio.gather(*(write(writer) for writer in range(8)))
    session = OpenAIConversationsSession(conversation_id=conversation, openai_client=client)
    assert sorted(await texts(session)) == [f"{writer} {number}" for writer in range(8) for number in range(5)]


async def texts(session: OpenAIConversationsSession, limit: int | None = None) -> list[str]:
    """Return the texts of the session's items."""
    items: list[Any] = await session.get_items(limit)
    return [item["content"][0]["text"] for item in items]


async def main() -> None:
    """Run all checks with the SDK's own client and with ours."""
    await check_session(AsyncOpenAI(api_key=KEY, base_url=URL))
    await check_session(cams.async_openai("support"))
    await check_concurrency(cams.async_openai("support", max_retries=10))
    assert cams.openai("support").conversations.create(metadata={"order": "1"}).metadata == {"order": "1"}
    assert [client._idempotency_header for client in (OpenAI(api_key=KEY, base_url=URL), cams.openai("support"))] == [
        None,
        "Idempotency-Key",
    ]
    values = await run_page("Agents SDK", model=EchoModel())
    assert values["result"].final_output == "1 items"


asyncio.run(main())
