"""The wire models of transcripts."""

from chalicelib.conversations.models import ConvoMetaV3 as ConvoMetaV3


class MatchingConversation(ConvoMetaV3):
    """A conversation, with the messages that contain the text."""
