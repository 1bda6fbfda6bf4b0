"""A repository for sessions of Strands Agents (`pip install cams-client[strands-agents]`)."""

from typing import Any, cast

from strands.session.session_repository import SessionRepository
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage

from .. import Client, models
from .._sync.transcript import Transcript
from .messages import author_of, is_of_adapter, message

_KIND, _STATE = "strands-agents", "strands-agents-state"
_DEFAULT_AGENT = "default"


class CamsSessionRepository(SessionRepository):
    """Each Strands agent of a session is a conversation. The session's id is that of the agent `default`.

    Each message is a message. The session and the agent's state are messages, too, because they change with it.
    """

    def __init__(self, client: Client, agent_id: str) -> None:
        """Create the repository for the sessions in a CAMS agent's conversations. The CAMS agent's key suffices."""
        self._client, self._agent_id = client, agent_id

    def create_session(self, session: Session, **kwargs: Any) -> Session:
        """Store a session."""
        self._transcript(session.session_id).put(message("system", _STATE, session.to_dict(), "session"))
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:
        """Return a session, or None if it is not stored."""
        stored = self._state(session_id, _DEFAULT_AGENT, "session")
        return Session.from_dict(stored) if stored else None

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Store an agent's state."""
        state = message("system", _STATE, session_agent.to_dict(), "agent")
        self._transcript(session_id, session_agent.agent_id).put(state)

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        """Return an agent's state, or None if it is not stored."""
        stored = self._state(session_id, agent_id, "agent")
        return SessionAgent.from_dict(stored) if stored else None

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Replace an agent's state. Raise SessionException if it is not stored."""
        before = self.read_agent(session_id, session_agent.agent_id)
        if before is None:
            raise SessionException(f"Agent {session_agent.agent_id} in session {session_id} does not exist")
        session_agent.created_at = before.created_at
        self.create_agent(session_id, session_agent)

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Add a message. Concurrent processes may give the same number to several messages, and all are stored."""
        self._transcript(session_id, agent_id).append([_message(session_message)])

    def read_message(self, session_id: str, agent_id: str, message_id: int, **kwargs: Any) -> SessionMessage | None:
        """Return the newest message with this number, or None."""
        messages = self.list_messages(session_id, agent_id)
        return next((each for each in reversed(messages) if each.message_id == message_id), None)

    def update_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Replace the message with this number and time. Raise SessionException if it is not stored."""
        transcript, changed = self._transcript(session_id, agent_id), _message(session_message)
        if changed["mid"] not in {each.mid for each in transcript.read()[0]}:
            raise SessionException(f"Message {session_message.message_id} does not exist")
        transcript.put(changed)

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **kwargs: Any
    ) -> list[SessionMessage]:
        """Return an agent's messages in the order in which they were stored."""
        stored = [each for each in self._transcript(session_id, agent_id).read()[0] if is_of_adapter(each, _KIND)]
        end = None if limit is None else offset + limit
        return [SessionMessage.from_dict(each.item) for each in stored[offset:end]]

    def _state(self, session_id: str, agent_id: str, mid: str) -> dict[str, Any] | None:
        stored: list[models.Message] = self._transcript(session_id, agent_id).read()[0]
        return next((each.item for each in stored if each.mid == mid and is_of_adapter(each, _STATE)), None)

    def _transcript(self, session_id: str, agent_id: str = _DEFAULT_AGENT) -> Transcript:
        conversation_id = session_id if agent_id == _DEFAULT_AGENT else f"{session_id}:{agent_id}"
        return Transcript(self._client, self._agent_id, conversation_id)


def _message(stored: SessionMessage) -> dict[str, Any]:
    item = stored.to_dict()
    content = cast(dict[str, Any], item["message"])
    author = author_of(content["role"], content["content"])
    return message(author, _KIND, item, f"{stored.message_id}-{stored.created_at}")
