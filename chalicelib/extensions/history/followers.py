"""The history's stream follower, for each table whose changes it keeps.

A deletion is committed together with its history row (`rows`), so the follower reads only insertions and updates.
"""

from chalicelib.extensions.history import changes, store
from chalicelib.queues.stream_batches import Follower

FOLLOWER = Follower(changes.from_record, store.save)
