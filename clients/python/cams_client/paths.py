"""Path parameters."""

from urllib.parse import quote


def segment(value: str) -> str:
    """Return the value as a percent-encoded path segment.

    Raise ValueError for `.` and `..`. HTTP clients remove these segments, so the request would reach another record,
    such as the agent instead of its conversation.
    """
    if value in (".", ".."):
        raise ValueError("An id in a path cannot be '.' or '..'.")
    return quote(value, safe="")
