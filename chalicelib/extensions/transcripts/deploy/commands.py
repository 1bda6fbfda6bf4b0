"""The operator command of the transcripts extension."""

from chalicelib.extensions.transcripts.deploy.conversations_command import conversations

COMMANDS = (conversations,)
