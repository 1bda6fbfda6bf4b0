"""Finds the visitors of an agent's site among its conversations. Trials and sample data are none."""

from typing import Any

from chalicelib.extensions.console.access import calls
from chalicelib.extensions.console.agent_pages import sample_data
from chalicelib.extensions.console.presentation import trial_marks
from chalicelib.storage import Document

_MAX_EXAMINED = 20


def read_newest(agent_id: str) -> Document | None:
    """Return the conversation of a visitor that changed last, or None without one among the agent's newest 20.

    This costs two requests.
    """
    page = calls.get("/v3/agents/{agent_id}/convos", {"limit": _MAX_EXAMINED}, agent_id=agent_id)
    return newest(page["data"])


def newest(conversations: list[Any]) -> Document | None:
    """Return the first of these conversations in which a visitor wrote, or None."""
    others = (trial_marks.PREFIX, sample_data.PREFIX)
    return next((one for one in conversations if one.get("interactionsNum") and not one["ID"].startswith(others)), None)
