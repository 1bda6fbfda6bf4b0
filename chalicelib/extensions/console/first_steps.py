"""The first steps that the overview shows an operator while the workspace is almost empty."""

from typing import Any, NamedTuple
from urllib.parse import quote

from chalicelib.extensions.console import calls, operator_selection, sample_data, site_visitors
from chalicelib.extensions.console.sessions import Session

# With more agents or conversations, the workspace is in use, and the overview shows no steps.
_FEW_AGENTS, _FEW_CONVERSATIONS = 3, 10


class FirstStep(NamedTuple):
    """A step: its name, its page, and whether it is done. The page is empty if another step comes first."""

    name: str
    page: str
    is_done: bool


def read(session: Session, titles: dict[str, str], report: Any) -> list[FirstStep]:
    """Return the four steps for an operator, or none if all are done or the workspace is in use.

    There are also none for a selected organisation, and for an operator who hid them, once the workspace has an agent.
    This costs up to three API operations, which read conversations, a client and an organisation.
    """
    is_used = report is not None and report["totals"]["conversations"] >= _FEW_CONVERSATIONS
    if session.client_id is not None or session.selected or len(titles) > _FEW_AGENTS or is_used:
        return []
    if titles and session.client.get(operator_selection.FIRST_STEPS) == operator_selection.HIDDEN:
        return []
    first = next(iter(titles), None)
    conversations = _conversations(first) if first else []
    if len(conversations) >= _FEW_CONVERSATIONS:
        return []
    page = f"/agents/{quote(first, safe='')}" if first else ""
    ids = [each["ID"] for each in conversations if not each["ID"].startswith(sample_data.PREFIX)]
    steps = [
        FirstStep("agent", page or "/new-agent", bool(first)),
        FirstStep("try", page and f"{page}/try", bool(ids)),
        FirstStep("site", page and f"{page}/site", site_visitors.newest(conversations) is not None),
        _colleague(),
    ]
    return [] if all(step.is_done for step in steps) else steps


def _conversations(agent_id: str) -> list[Any]:
    page = calls.get("/v3/agents/{agent_id}/convos", {"limit": _FEW_CONVERSATIONS}, agent_id=agent_id)
    return list(page["data"])


def _colleague() -> FirstStep:
    """Return the last step. People belong to an organisation, so the first organisation comes before them.

    The form for it knows from `for` that its person is a colleague.
    """
    if calls.get("/v3/clients", {"limit": 1})["data"]:
        return FirstStep("colleague", "/settings", is_done=True)
    organisations = calls.get("/v3/orgs", {"pageSize": 1})["data"]
    organisation = f"orgs/{quote(organisations[0]['ID'], safe='')}/new-client" if organisations else ""
    return FirstStep("colleague", f"/settings/{organisation or 'new-org?for=colleague'}", is_done=False)
