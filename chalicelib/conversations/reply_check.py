"""Decides whether an author may reply: only to the newest message, and not while a person is chatting (`inReplyTo`)."""

from chalicelib import errors
from chalicelib.conversations import store, transcript
from chalicelib.conversations.rendering import render_status
from chalicelib.conversations.state import State
from chalicelib.storage import Document


class ReplyRejected(errors.Conflict):
    """The conversation does not allow the reply. `conversation` saves the author another read.

    It is `{state, chatAssignedTo, newest: {mid, from, ts}}`. An unknown `from` is absent, and other values are None.
    """

    def __init__(self, conversation: Document) -> None:
        super().__init__()
        self.conversation = conversation

    def envelope(self) -> dict[str, object]:
        """Return the body of the error response, with the conversation."""
        return {**super().envelope(), "conversation": self.conversation}


class Outdated(ReplyRejected):
    """`inReplyTo` is not the conversation's newest message."""

    code = "OUTDATED"
    sentence = "inReplyTo is not the newest message; read the new messages before you reply."


class HumanChatting(ReplyRejected):
    """A person is chatting, so the reply is rejected."""

    code = "HUMAN_CHATTING"
    sentence = "A person is chatting in this conversation; do not reply until its state changes."


ERRORS = (Outdated, HumanChatting)


def require_turn(in_reply_to: str | None, row: store.ConversationRow | None, state: State) -> None:
    """Raise HumanChatting or Outdated unless an author who last saw the message `in_reply_to` may reply.

    `state` is the row's state. The commit requires the same version of the row, so the decision still holds when the
    reply is stored. This costs a request only for each chunk, beyond the end of the state, that the search for the
    newest message reads.
    """
    if in_reply_to is None:
        return
    newest = next(transcript.newest_messages(row, state), None) if row else None
    shown = newest and {name: newest[name] for name in ("mid", "from", "ts") if name in newest}
    conversation = {**render_status(state.metadata), "newest": shown}
    if conversation["state"] == store.WITH_PERSON:
        raise HumanChatting(conversation)
    if newest is None or newest["mid"] != in_reply_to:
        raise Outdated(conversation)
