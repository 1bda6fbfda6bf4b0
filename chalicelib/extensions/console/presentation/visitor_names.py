"""The names of visitors in the pages. The module performs no I/O."""

from collections.abc import Callable
from typing import Any

from chalicelib.extensions.console.presentation.template_filters import display_name

# In characters: longer ids are cut to their first six.
_MAX_ID, _ID_PART = 16, 6


def visitor_name(record: dict[str, Any], t: Callable[[str], str]) -> str:
    """Return the name or email of a conversation's visitor, or else its id.

    Of an id with more than 16 characters, such as those of the service, only the first six follow the word Visitor.
    """
    name, conversation_id = display_name(record, "userName", "userEmail"), display_name(record, "ID")
    short = conversation_id if len(conversation_id) <= _MAX_ID else f"{t('visitor')} {conversation_id[:_ID_PART]}"
    return name or short
