"""Sessions of Strands Agents. An added message is a message of the user."""

from typing import Any

import cams
from cams.sessions.strands_agents import CamsSessionRepository
from strands import Agent
from strands.models import Model
from strands.session.file_session_manager import FileSessionManager
from strands.session.repository_session_manager import RepositorySessionManager


class NoModel(Model):
    """A model that is never called."""

    def update_config(self, **model_config: Any) -> None:
        """Change nothing."""

    def get_config(self) -> Any:
        """Return no settings."""
        return {}

    def structured_output(self, *arguments: Any, **options: Any) -> Any:
        """Return nothing."""
        raise NotImplementedError

    def stream(self, *arguments: Any, **options: Any) -> Any:
        """Return nothing."""
        raise NotImplementedError


class Files:
    """The framework's own manager, which stores a file per message. All writers need one file system.

    A manager numbers its messages from those that it has read when it was opened. So each message opens a manager, as
    a host does for each request: the store loses fewer messages that way.
    """

    def __init__(self, directory: str, conversation: str) -> None:
        self._directory, self._conversation = directory, conversation
        self._opened()

    def add(self, text: str) -> None:
        """Open the session and add a message."""
        manager, agent = self._opened()
        manager.append_message({"role": "user", "content": [{"text": text}]}, agent)

    def texts(self) -> list[str]:
        """Return the texts of an agent that continues the session."""
        messages: list[Any] = self._opened()[1].messages
        return [message["content"][0]["text"] for message in messages]

    def _opened(self) -> tuple[RepositorySessionManager, Agent]:
        manager = self._manager()
        return manager, Agent(NoModel(), session_manager=manager, callback_handler=None)

    def _manager(self) -> RepositorySessionManager:
        return FileSessionManager(self._conversation, storage_dir=self._directory)


class Cams(Files):
    """The repository of the Python client, with the same manager."""

    def __init__(self, directory: str, conversation: str) -> None:
        self._repository = CamsSessionRepository(cams.Client(), "support")
        super().__init__(directory, conversation)

    def _manager(self) -> RepositorySessionManager:
        return RepositorySessionManager(self._conversation, self._repository)
