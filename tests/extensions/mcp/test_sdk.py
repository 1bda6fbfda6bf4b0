"""A round trip with the official Python SDK over a socket, in both eras of the protocol."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.extensions.mcp import tool_list
from tests.extensions.mcp.assistant import serving


async def round_trip(address: str, token: str, mode: Any) -> str:
    """Create, read, change and delete an agent, and return the negotiated version."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client,
    ):
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert listed == {tool.name for tool in tool_list.TOOLS} or not extensions.are_all_on()
        assert "list_agents" in listed

        async def call(name: str, **arguments: Any) -> Any:
            result = await client.call_tool(name, arguments)
            text: Any = json.loads(result.content[0].text)  # type: ignore[union-attr]
            assert result.is_error is (text.get("success") is False)
            return text

        made = await call("create_agent", agent={"title": "Support"})
        assert await call("create_agent", agent={"title": "Support"}) == made
        agent = made["data"]["id"]
        assert [one["id"] for one in (await call("list_agents"))["agents"]] == [agent]
        read = await call("read_agent", agent_id=agent)
        changed = await call("change_agent", agent_id=agent, etag=read["etag"], agent={"title": "Sales"})
        assert changed["data"]["title"] == "Sales"
        stale = await call("change_agent", agent_id=agent, etag=read["etag"], agent={"title": "Other"})
        assert stale["code"] == "PRECONDITION_FAILED"
        wrong = await call("delete_agent", agent_id=agent, etag=changed["etag"], confirm="Support")
        assert wrong["issues"][0]["path"] == "confirm"
        assert (
            "deleted" in (await call("delete_agent", agent_id=agent, etag=changed["etag"], confirm="Sales"))["message"]
        )
        assert (await call("read_agent", agent_id=agent))["code"] == "NOT_FOUND"
        with pytest.raises(MCPError):
            await client.call_tool("unknown", {})
        return str(client.protocol_version)


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_sdk_manages_an_agent(workspace: NewWorkspace, mode: str, version: str) -> None:
    with serving() as address:
        assert asyncio.run(round_trip(address, workspace.access_token, mode)) == version
