"""The first steps that the overview shows an operator while the workspace is almost empty."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from chalicelib.extensions.console.access import calls, operator_selection
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.agent_pages import sample_data, site_visitors, trial_bots
from chalicelib.extensions.console.presentation.trial_marks import PREFIX as TRIAL
from chalicelib.extensions.console.settings_pages import new_organisation
from chalicelib.storage import Document

# With more agents or conversations, the workspace is in use, and the overview shows no steps.
_FEW_AGENTS, _FEW_CONVERSATIONS = 3, 10
# The numbers of organisations and people that are compared with each other.
_FEW_RECORDS = 50


class FirstStep(NamedTuple):
    """A step: its name, its page, and whether it is done. The page is empty if another step comes first."""

    name: str
    page: str
    is_done: bool


class FirstSteps(NamedTuple):
    """The four steps, those after them, whether to offer sample data, and a bot's webhook that fails.

    Without steps, everything is empty.
    """

    steps: Sequence[FirstStep] = ()
    further: Sequence[FirstStep] = ()
    offers_samples: bool = False
    failing_bot: Document | None = None


def read(session: Session, titles: dict[str, str], report: Any) -> FirstSteps:
    """Return the steps for an operator, or none if all are done or the workspace is in use.

    There are also none for a selected organisation, and for an operator who hid them, once the workspace has an agent.
    This costs two API operations, which read organisations and clients, one for the conversations of each of up to
    three agents, and those of `trial_bots`.
    """
    count = report["totals"]["conversations"] if report is not None else 0
    if session.client_id is not None or session.selected or len(titles) > _FEW_AGENTS or count >= _FEW_CONVERSATIONS:
        return FirstSteps()
    if titles and session.client.get(operator_selection.FIRST_STEPS) == operator_selection.HIDDEN:
        return FirstSteps()
    conversations = [one for agent_id in titles for one in _conversations(agent_id)]
    if len(conversations) >= _FEW_CONVERSATIONS:
        return FirstSteps()
    organisations = calls.get("/v3/orgs", {"pageSize": _FEW_RECORDS})["data"]
    agent_id = _agent_in_use(conversations) or next(iter(titles), None)
    steps = [*_of_agent(agent_id, conversations), _colleague([one["ID"] for one in organisations])]
    has_customer = any(not one["ID"].startswith(new_organisation.OWN) for one in organisations)
    is_empty = not count and all(one["ID"].startswith(TRIAL) for one in conversations)
    return FirstSteps() if all(step.is_done for step in steps) else _with_bots(steps, has_customer, is_empty)


def _with_bots(steps: list[FirstStep], has_customer: bool, is_empty: bool) -> FirstSteps:
    """Return the steps, with those that follow them. A bot that fails is named instead of being ticked."""
    bots = trial_bots.read()
    connect = FirstStep("bot", "/settings/new-webhook?event=message_received", bots.has_bot)
    customer = FirstStep("customer", "/settings/new-org", has_customer)
    failing = next((hook for hook in bots.hooks if hook["id"] == bots.failing_bot), None)
    further = [customer] if failing else [connect, customer]
    return FirstSteps(steps, [] if all(one.is_done for one in further) else further, is_empty, failing)


def _of_agent(agent_id: str | None, conversations: list[Any]) -> list[FirstStep]:
    page = f"/agents/{quote(agent_id, safe='')}" if agent_id else ""
    ids = [one["ID"] for one in conversations if not one["ID"].startswith(sample_data.PREFIX)]
    return [
        FirstStep("agent", page or "/new-agent", bool(agent_id)),
        FirstStep("try", page and f"{page}/try", bool(ids)),
        FirstStep("site", page and f"{page}/site", site_visitors.newest(conversations) is not None),
    ]


def _agent_in_use(conversations: list[Any]) -> str | None:
    """Return the id of the agent to which a visitor wrote or, without one, that was tried last."""
    trials = (one for one in conversations if one["ID"].startswith(TRIAL))
    latest = max(trials, key=_id_of, default=None)  # the ids of trials are in the order of time
    used: Document | None = site_visitors.newest(conversations) or latest
    return used["agentId"] if used else None


def _id_of(conversation: Document) -> str:
    return str(conversation["ID"])


def _conversations(agent_id: str) -> list[Any]:
    page = calls.get("/v3/agents/{agent_id}/convos", {"limit": _FEW_CONVERSATIONS}, agent_id=agent_id)
    return list(page["data"])


def _colleague(organisation_ids: list[str]) -> FirstStep:
    """Return the last step, which a customer's person does not complete.

    People belong to an organisation, so the operator's own organisation comes before them. The form for it knows from
    `for` that its person is a colleague.
    """
    own = [one for one in organisation_ids if one.startswith(new_organisation.OWN)]
    people = calls.get("/v3/clients", {"limit": _FEW_RECORDS})["data"] if own else []
    if any(one.get("orgId") in own for one in people):
        return FirstStep("colleague", f"/settings/orgs/{quote(own[0], safe='')}", is_done=True)
    page = f"orgs/{quote(own[0], safe='')}/new-client" if own else "new-org?for=colleague"
    return FirstStep("colleague", f"/settings/{page}", is_done=False)
