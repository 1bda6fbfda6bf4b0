"""Ids of what belongs to something else and is also found by its id alone, such as the tools of an agent.

Such an id begins with eleven characters that are derived from its parent's, and so does its partition:
one strongly consistent request finds it by its id, and one lists all of its parent's.
"""

import hashlib

from chalicelib import ids
from chalicelib.storage import rows

_PREFIX = 11
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(parent_id: str) -> str:
    """A new id for something of this parent; ids of one parent sort by time of creation."""
    return _prefix(parent_id) + ids.new_id()


def partition(workspace_id: str, parent_id: str) -> str:
    """The partition of everything of this parent."""
    return rows.key(workspace_id, _prefix(parent_id))


def partition_of(workspace_id: str, child_id: str) -> str:
    """The partition that something with this id is in."""
    return rows.key(workspace_id, child_id[:_PREFIX])


def _prefix(parent_id: str) -> str:
    """55 bits of a hash: enough to tell the parents of one workspace apart."""
    digest = int.from_bytes(hashlib.sha256(parent_id.encode()).digest()[:8], "big")
    return "".join(_DIGITS[(digest >> 5 * place) & 31] for place in range(_PREFIX))
