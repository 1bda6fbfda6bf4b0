"""The page on which an operator selects the organisation whose records all lists and figures show."""

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.access import guard, operator_selection, organisation_list, rights, session_store
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.inbox_pages import inbox
from chalicelib.extensions.console.presentation import pages
from chalicelib.http import current_request
from chalicelib.ids import IDENTIFIER

_PATH = "/organisation"
_MAX_ORGANISATIONS = 100
_FILTERED = ("/overview", "/convos", "/analytics", "/leads", "/agents")


@signed_in("/overview")
def read_choice(session: Session) -> Response:
    """List up to 100 organisations whose name or id contains `q`, by name. `next` is the page to return to.

    This searches 1,000 organisations, and costs one request per 100, and those of the inbox: one per 100 entries.
    """
    rights.require_operator(session)
    following, text = (current_request.query_value(name) or "" for name in ("next", "q"))
    organisations = organisation_list.search(organisation_list.read_all()[0], text)
    waiting = inbox.waiting_by_agent(session)
    return guard.page(
        session,
        "selected_organisation.html",
        _PATH,
        following=following if following in _FILTERED else _FILTERED[0],
        organisations=organisations[:_MAX_ORGANISATIONS],
        has_more=len(organisations) > _MAX_ORGANISATIONS,
        waiting={one["ID"]: waiting.text(organisation_list.agent_ids(one)) for one in organisations},
        all_waiting=waiting.text(waiting.by_agent),
        text=text,
    )


@signed_in("/overview")
def choose(session: Session) -> Response:
    """Set the cookie for the organisation in the form, or delete it without one. Raise Forbidden and NotFound."""
    rights.require_operator(session)
    sent = guard.form()
    org_id, following = sent.get("org", ""), sent.get("next", "")
    if org_id and not _exists(session, org_id):
        raise errors.NotFound.of("organisation")
    token = session_store.selection_token(session.token, operator_selection.ORGANISATION, org_id) if org_id else ""
    seconds = session_store.LIFETIME if org_id else 0
    cookie = pages.cookie(operator_selection.ORGANISATION_COOKIE, session.workspace_id, token, seconds)
    return pages.redirect(f"/{session.workspace_id}{following if following in _FILTERED else _FILTERED[0]}", cookie)


def _exists(session: Session, org_id: str) -> bool:
    is_id = IDENTIFIER.fullmatch(org_id) is not None
    return is_id and bool(session_store.organisation_of(session.workspace_id, {"orgId": org_id}))
