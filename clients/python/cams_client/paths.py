"""The variables of a path."""

from urllib.parse import quote


def segment(value: str) -> str:
    """The value as one segment of a path.

    Raises ValueError for `.` and `..`: HTTP removes them from a path, so the request would be for another record, such
    as the agent instead of its conversation.
    """
    if value in (".", ".."):
        raise ValueError("An id in a path cannot be '.' or '..'.")
    return quote(value, safe="")
