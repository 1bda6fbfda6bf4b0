"""The console's stream follower, which sends a message when a conversation requests a person."""

from chalicelib.extensions.console.notifications import handoff_notices
from chalicelib.queues.stream_batches import Follower

FOLLOWER = Follower(handoff_notices.read, handoff_notices.send)
