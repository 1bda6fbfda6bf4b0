"""Ids by which child records, such as an agent's tools, can be found without the parent's id.

A child's id and its partition key share an eleven-character prefix derived from the parent's id. Therefore, one
strongly consistent request can find a child by its id, or list a parent's children.
"""

import hashlib
from functools import lru_cache

from chalicelib import ids
from chalicelib.storage import rows

_PREFIX = 11


def new_id(parent_id: str) -> str:
    """Return a new id for a child: the prefix and a ULID. A parent's child ids sort by creation time."""
    return id_at(parent_id, ids.new_id())


def id_at(parent_id: str, ulid: str) -> str:
    """Return the child id for this ULID."""
    return _prefix(parent_id) + ulid


def ulid_of(child_id: str) -> str:
    """Return the ULID in a child id."""
    return child_id[_PREFIX:]


def partition(workspace_id: str, parent_id: str) -> str:
    """Return the partition key of the parent's children."""
    return rows.join_key(workspace_id, _prefix(parent_id))


def partition_of(workspace_id: str, child_id: str) -> str:
    """Return the partition key of the child with this id."""
    return rows.join_key(workspace_id, child_id[:_PREFIX])


@lru_cache(1_024)
def _prefix(parent_id: str) -> str:
    """Return 55 bits of a hash. Collisions between a workspace's parents are extremely unlikely."""
    digest = int.from_bytes(hashlib.sha256(parent_id.encode()).digest()[:8], "big")
    return "".join(ids.CROCKFORD[(digest >> 5 * place) & 31] for place in range(_PREFIX))
