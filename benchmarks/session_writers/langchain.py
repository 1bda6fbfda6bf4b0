"""Histories of LangChain and checkpoints of LangGraph on DynamoDB, with the settings of the state question."""

from benchmarks.peers.conversation_stores import LangChainHistory, LangGraphCheckpointer
from benchmarks.transcripts import Message


class History:
    """LangChain's history, which reads the list of messages and writes it with the new message."""

    def __init__(self, directory: str, conversation: str) -> None:
        self._store: LangChainHistory | LangGraphCheckpointer = self._open()
        self._conversation = conversation

    def _open(self) -> LangChainHistory | LangGraphCheckpointer:
        return LangChainHistory()

    def add(self, text: str) -> None:
        """Append a message. Its id is its text."""
        message: Message = {"mid": text, "from": "human", "type": "text", "text": text, "ts": 1_790_000_000}
        self._store.append(self._conversation, message)

    def texts(self) -> list[str]:
        """Return all texts."""
        return [message["text"] for message in self._store.read(self._conversation)]


class Checkpointer(History):
    """LangGraph's checkpoints, which store the state of a graph with the new message."""

    def _open(self) -> LangChainHistory | LangGraphCheckpointer:
        return LangGraphCheckpointer()
