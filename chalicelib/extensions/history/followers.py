"""The follower of the history, for each table whose changes it keeps.

A deletion is committed with its row (`rows`), so the follower reads only insertions and changes.
"""

from chalicelib.extensions.history import changes, store
from chalicelib.queues.stream_batches import Follower

FOLLOWER = Follower(changes.from_record, store.save)
