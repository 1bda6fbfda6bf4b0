"""The wire models of conversations, which core defines."""

from chalicelib.conversations.models import ConversationChange as ConversationChange
from chalicelib.conversations.models import ConvoMetaV3 as ConvoMetaV3
