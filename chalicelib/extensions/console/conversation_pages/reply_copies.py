"""The form that copies an agent's saved replies to other agents of the same organisation."""

from typing import Any, NamedTuple

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.access import calls, guard, organisation_list, visible_agents
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.agent_pages import agent_facts
from chalicelib.extensions.console.conversation_pages import stored_replies
from chalicelib.extensions.console.conversation_pages.stored_replies import MEMBER, SavedReply, StoredReplies

_PATH = "/v3/agents/{agent_id}"
_MAX_AGENTS = 20  # in one commit
_TO, _REPLY = "to.", "copy."  # the prefixes of the form's check boxes


class CopyResult(NamedTuple):
    """The result for an agent: its title, and the numbers of copied and skipped replies. None were copied if too many.

    An agent keeps its replies if the copies do not fit on its page, or if the console does not show its replies.
    """

    title: str
    copied: int
    skipped: int
    fits: bool


def page(
    session: Session, agent_id: str, results: list[CopyResult] | None = None, error: errors.ApiError | None = None
) -> Response:
    """Show the form, with the results of copying."""
    agent, _ = calls.read(_PATH, agent_id=agent_id)
    stored = stored_replies.read(session, agent_id)
    return guard.form_page(
        session,
        "reply_copies.html",
        "/agents",
        error,
        agent=agent,
        facts=agent_facts.read(session, [agent_id]),
        replies=stored.replies or [],
        tag=stored.tag,
        titles=_titles(session, agent_id),
        results=results or [],
    )


def copy(session: Session, agent_id: str, sent: dict[str, str]) -> Response:
    """Copy the checked replies to the checked agents in one commit. Replies that an agent has already are skipped."""
    titles = _titles(session, agent_id)
    chosen = [one for name, one in sent.items() if name.startswith(_TO)]
    if not {*chosen} <= titles.keys():
        raise errors.NotFound.of("agent")
    try:
        replies = _chosen_replies(session, agent_id, sent)
        if not replies or not 1 <= len(chosen) <= _MAX_AGENTS:
            raise guard.form_error(session, "copies", most=_MAX_AGENTS)
        results = calls.commit_now(lambda: _copy(session, replies, {one: titles[one] for one in chosen}))
    except (errors.Invalid, errors.TooLarge) as error:
        return page(session, agent_id, error=error)
    return page(session, agent_id, results)


def _chosen_replies(session: Session, agent_id: str, sent: dict[str, str]) -> list[SavedReply]:
    """Return the checked replies. Raise Invalid if the agent has other replies than the form showed."""
    stored = stored_replies.read(session, agent_id)
    if sent.get("tag") != stored.tag:
        raise guard.form_error(session, MEMBER)
    return [reply for number, reply in enumerate(stored.replies or []) if f"{_REPLY}{number}" in sent]


def _copy(session: Session, replies: list[SavedReply], titles: dict[str, str]) -> list[CopyResult]:
    stored = stored_replies.read_many(session, [*titles])
    return [_copy_to(one, title, stored[one], replies) for one, title in titles.items()]


def _copy_to(agent_id: str, title: str, stored: StoredReplies, replies: list[SavedReply]) -> CopyResult:
    """Stage an agent with the replies that it does not have: with other names, or without a name with other texts."""
    known = {reply.name or reply.text for reply in stored.replies or []}
    added = [reply for reply in replies if (reply.name or reply.text) not in known]
    merged = [*(stored.replies or []), *added]
    if stored.replies is None or not stored_replies.fit(merged):
        return CopyResult(title, 0, 0, fits=False)
    if added:
        agent: dict[str, Any] = {MEMBER: [reply.value for reply in merged]}
        calls.patch_as_sent(_PATH, {"agent": agent}, stored.agent_tag, agent_id=agent_id)
    return CopyResult(title, len(added), len(replies) - len(added), fits=True)


def _titles(session: Session, agent_id: str) -> dict[str, str]:
    """Return the titles of the first other agents of the agent's organisations that the person sees, at most 50.

    For an operator, this costs one request per 100 organisations. The titles cost one per 20 agents.
    """
    if session.agent_ids is None or session.client_id is None:
        (organisations,) = organisation_list.by_agent(organisation_list.read_all()[0], [agent_id]).values()
        ids = [one for organisation in organisations for one in organisation_list.agent_ids(organisation)]
    else:
        ids = [*session.agent_ids]
    others = [*dict.fromkeys(one for one in ids if one != agent_id)]
    return visible_agents.titles_of(session.workspace_id, others[: visible_agents.MAX_AGENTS])
