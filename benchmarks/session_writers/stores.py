"""The stores of the sessions question. Each is a class in a module of this package."""

from typing import NamedTuple, Protocol


class Session(Protocol):
    """A session of a framework, opened by one process with the arguments `directory` and `conversation`."""

    def add(self, text: str) -> None:
        """Add a message of the user. The message is stored when the function returns."""

    def texts(self) -> list[str]:
        """Return the texts of all stored messages in the store's order."""


class Store(NamedTuple):
    """A store: its class of sessions, the environment of its framework, and whether it is a server."""

    session: str
    environment: str = ".venv-frameworks"
    is_server: bool = True


STORES = {
    "CAMS: OpenAI Agents SDK": Store("openai_agents:Cams"),
    "CAMS: `OpenAIConversationsSession`, `cams.async_openai`": Store("openai_agents:ConversationsWithKeys"),
    "CAMS: Strands Agents": Store("strands_agents:Cams"),
    "CAMS: Claude Agent SDK": Store("claude_agent_sdk:Cams"),
    "CAMS: Pydantic AI": Store("pydantic_ai:Cams"),
    "`OpenAIConversationsSession` without idempotency keys": Store("openai_agents:Conversations"),
    "LangChain `DynamoDBChatMessageHistory`": Store("langchain:History", ".venv-bench"),
    "LangGraph `DynamoDBSaver`": Store("langchain:Checkpointer", ".venv-bench"),
    "Strands `FileSessionManager`": Store("strands_agents:Files", is_server=False),
    "OpenAI Agents SDK `SQLiteSession`": Store("openai_agents:SQLite", is_server=False),
}
