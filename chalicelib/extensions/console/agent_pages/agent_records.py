"""The pages on which operators create, copy, export and delete agents."""

import json
from itertools import islice
from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.conversations import tallies
from chalicelib.extensions.console.access import calls, guard, organisation_list, rights
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.agent_pages import agents
from chalicelib.extensions.console.inbox_pages import conversation_list, inbox
from chalicelib.extensions.console.lead_pages import lead_ranges, leads
from chalicelib.extensions.console.presentation import pages, template_filters
from chalicelib.extensions.console.presentation.rendering import Texts
from chalicelib.extensions.console.settings_pages import organisation_agents
from chalicelib.http import current_request
from chalicelib.storage import Document

_PATH = "/v3/agents/{agent_id}"
_FIELDS = (_TITLE, _LANG, _PROMPT, _TEMPLATE) = ("title", "lang", "vg_systemPrompt", "template")
_KEPT_TEMPLATE = "kept_template"
STARTERS = ("support", "leads", "bookings")
"""The names of the agents that the form for a new agent suggests. Their texts are `starter.<name>`."""
_MAX_LEADS = 1_000  # a deletion page counts at most this many leads
_ORGANISATION = "org"
_START, _REPLACE = "start", "replace"
# The member of an exported template's file that contains the template.
_EXPORTED = "agentTemplate"


@signed_in("/agents")
def read_new_agent(session: Session) -> Response:
    """Show the forms for a new agent and, with the copies extension, for an agent from a template.

    The query parameter `start` contains the name of a suggested agent, whose texts fill in the form. `org` selects an
    organisation.
    """
    rights.require_operator(session)
    starter, org_id = (current_request.query_value(name) for name in (_START, "org"))
    suggested = _suggested(guard.texts(session), starter) if starter in STARTERS else {}
    values = {_LANG: guard.language_of(session), **suggested, **({_ORGANISATION: org_id} if org_id else {})}
    return _new_page(session, values)


@signed_in("/agents")
def create_agent(session: Session) -> Response:
    """Create an agent with the submitted title and system prompt, or from the submitted template.

    If an organisation is submitted, add the agent to it. A suggestion's buttons show the form with that suggestion.
    """
    rights.require_operator(session)
    sent = guard.form()
    if starter := sent.get(_REPLACE) or sent.get(_START):
        return _new_page(session, _with_suggestion(guard.texts(session), sent, starter))
    try:
        agent = _create_in_organisation(session, sent)
    except errors.ApiError as error:
        return _new_page(session, sent, error)
    return _to_agent(session, agent, "created")


@signed_in("/agents")
def clone_agent(session: Session, agent_id: str) -> Response:
    """Copy an agent with its tools under the submitted title, and show the copy."""
    rights.require_operator(session)
    sent = guard.form()
    copy = calls.send_once(sent.get("form_id"), f"{_PATH}/clone", None, agent_id=agent_id)["data"]
    _rename(copy, sent.get("copy_title", "").strip())
    return _to_agent(session, copy, "copied")


@signed_in("/agents")
def download_template(session: Session, agent_id: str) -> Response:
    """Return an agent's template as a file, without secrets."""
    rights.require_operator(session)
    template = calls.get(f"{_PATH}/export-template", agent_id=agent_id)[_EXPORTED]
    text = json.dumps({_EXPORTED: template}, ensure_ascii=False, indent=1)
    return pages.download("agent.json", "application/json", text)


@signed_in("/agents")
def read_deletion(session: Session, agent_id: str) -> Response:
    """Show what a deletion removes, and the field for the agent's title."""
    rights.require_operator(session)
    return _deletion_page(session, calls.read(_PATH, agent_id=agent_id)[0])


@signed_in("/agents")
def delete_agent(session: Session, agent_id: str) -> Response:
    """Delete an agent if the form contains its title. A deleted agent is not an error, so a form can be sent twice."""
    rights.require_operator(session)
    typed = guard.form().get(_TITLE, "")
    try:
        agent = calls.read(_PATH, agent_id=agent_id)[0]
    except errors.NotFound:
        return _to_list(session)
    if typed.split() != template_filters.agent_title(agent).split():
        return _deletion_page(session, agent, typed, guard.form_error(session, f"{_TITLE}.deletion"))
    calls.send("DELETE", _PATH, None, agent_id=agent_id)
    return _to_list(session)


def _create_in_organisation(session: Session, sent: dict[str, str]) -> Any:
    """Create the agent and add it to the submitted organisation, if any. Raise Invalid and NotFound."""
    org_id = sent.get(_ORGANISATION)
    if not org_id:
        return _create(session, sent)
    calls.get("/v2/orgs/{org_id}", org_id=org_id)  # without this organisation, create no agent
    agent = _create(session, sent)
    organisation_agents.add_agent(org_id, agent["ID"])
    return agent


def _create(session: Session, sent: dict[str, str]) -> Any:
    """Create the agent, once per form, and return it. Raise Invalid."""
    title, form_id = sent.get(_TITLE, "").strip(), sent.get("form_id")
    if _TEMPLATE in sent:
        body = {_EXPORTED: _template(sent[_TEMPLATE]), **({"agentName": title} if title else {})}
        return calls.send_once(form_id, "/v3/agents/import-template", body)["data"]
    if not title:
        raise guard.form_error(session, _TITLE)
    prompt = sent.get(_PROMPT, "").replace("\r\n", "\n")
    filled = {_LANG: sent.get(_LANG, ""), _PROMPT: prompt if prompt.strip() else ""}
    agent = {_TITLE: title, **{name: text for name, text in filled.items() if text}}
    return calls.send_once(form_id, "/v3/agents", {"agent": agent})["data"]


def _rename(copy: Document, title: str) -> None:
    """Give a new copy this title, unless it is empty or the copy was renamed since, so a form can be sent twice."""
    agent, tag = calls.read(_PATH, agent_id=copy["ID"])
    if title and agent.get(_TITLE) == copy.get(_TITLE) != title:
        calls.commit_now(lambda: calls.send("PATCH", _PATH, {"agent": {_TITLE: title}}, tag, agent_id=copy["ID"]))


def _suggested(t: Texts, starter: str) -> dict[str, str]:
    return {_TITLE: t(f"starter.{starter}"), _PROMPT: t(f"starter.{starter}.prompt")}


def _with_suggestion(t: Texts, sent: dict[str, str], starter: str) -> dict[str, str]:
    """Return the form's fields with a suggestion's texts, which replace empty texts and other suggestions only.

    With the button that replaces the system prompt, they replace any prompt. While another suggestion than the template
    is selected, a typed template is kept in a field that creates nothing.
    """
    sent = {**sent, _START: starter, **({_PROMPT: ""} if _REPLACE in sent else {})}
    suggestions = [_suggested(t, one) for one in STARTERS]
    suggested = _suggested(t, starter) if starter in STARTERS else {_TITLE: "", _PROMPT: ""}
    replaced = {
        name: text
        for name, text in suggested.items()
        if _lines(sent.get(name, "")) in ("", *(one[name] for one in suggestions))
    }
    others = {name: text for name, text in sent.items() if name not in (_TEMPLATE, _KEPT_TEMPLATE)}
    template = sent.get(_TEMPLATE) or sent.get(_KEPT_TEMPLATE, "")
    return {**others, **replaced, _TEMPLATE if starter == _TEMPLATE else _KEPT_TEMPLATE: template}


def _keeps_prompt(t: Texts, values: dict[str, str], starter: str | None) -> bool:
    """Return whether the form has a prompt of the person's own instead of the suggestion's."""
    return starter in STARTERS and _lines(values.get(_PROMPT, "")) not in ("", _suggested(t, starter)[_PROMPT])


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _template(text: str) -> Document:
    """Return the template in a text: an exported file, or its member `agentTemplate`. Raise Invalid."""
    try:
        template = json.loads(text)
    except (ValueError, RecursionError):
        raise errors.Invalid.member(_TEMPLATE, "is not JSON") from None
    if isinstance(template, dict):
        template = template.get(_EXPORTED, template)
    if not isinstance(template, dict):
        raise errors.Invalid.member(_TEMPLATE, "must be a JSON object")
    return template


def _issues(session: Session, error: errors.ApiError | None) -> dict[str, str]:
    """Return the broken rules by field. The field of the template has all the rules for its members."""
    issues: dict[str, list[str]] = {}
    for path, rule in guard.rules(session, error):
        field = path if path in _FIELDS else _TEMPLATE
        issues.setdefault(field, []).append(rule if path == field else f"{path}: {rule}")
    return {field: "; ".join(rules) for field, rules in issues.items()}


def _likely_organisation(session: Session, organisations: list[Document]) -> str:
    """Return the id of the selected organisation or of the only one, or an empty string."""
    likely = [session.selected] if session.selected else organisations
    return likely[0]["ID"] if len(likely) == 1 else ""


def _new_page(session: Session, values: dict[str, str], error: errors.ApiError | None = None) -> Response:
    organisations, _ = organisation_list.read_all()
    starter = values.get(_START) or current_request.query_value(_START)
    return guard.form_page(
        session,
        "new_agent.html",
        "/agents",
        error,
        issues=_issues(session, error),
        values=values,
        has_template=_TEMPLATE in values,
        languages=agents.languages(session, values.get(_LANG, "")),
        starters=STARTERS,
        organisations=organisations,
        org_id=values.get(_ORGANISATION, _likely_organisation(session, organisations)),
        starter=starter,
        keeps_prompt=_keeps_prompt(guard.texts(session), values, starter),
    )


def _deletion_page(
    session: Session, agent: Document, typed: str = "", error: errors.ApiError | None = None
) -> Response:
    return guard.form_page(
        session,
        "agent_deletion.html",
        "/agents",
        error,
        agent=agent,
        typed=typed,
        counts=_deleted_counts(session, agent["ID"]),
        max_conversations=inbox.MAX_ROWS * conversation_list.MAX_PAGES,
        max_leads=leads.MAX_EXPORTED,
    )


def _deleted_counts(session: Session, agent_id: str) -> dict[str, str]:
    """Return how many conversations and leads a deletion removes, as texts.

    This costs one request, and one per MB of up to 1,001 leads.
    """
    t = guard.texts(session)
    months = tallies.list_months(session.workspace_id, agent_id)
    stored = lead_ranges.oldest_first(
        session.workspace_id, lead_ranges.EVERY_LEAD._replace(agent_id=agent_id), _MAX_LEADS + 1
    )
    counted = sum(1 for _ in islice(stored, _MAX_LEADS + 1))
    number = template_filters.number(min(counted, _MAX_LEADS), t)
    return {
        "page/convos": template_filters.number(sum(sum(days) for _, days in months), t),
        "page/leads": t("more_than", number=number) if counted > _MAX_LEADS else number,
    }


def _to_agent(session: Session, agent: Document, saved: str) -> Response:
    return pages.saved(session.workspace_id, f"/agents/{agent['ID']}", saved)


def _to_list(session: Session) -> Response:
    return pages.saved(session.workspace_id, "/agents", "deleted")
