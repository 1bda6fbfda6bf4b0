"""The agent version pages: the list, the changes that restoring a version would make, and the restore action."""

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console import agent_form, calls, differences, guard, pages, rights
from chalicelib.extensions.console.calls import commit_now, query_string
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import current_request
from chalicelib.storage import Document

_AGENT = "/v3/agents/{agent_id}"
_VERSIONS = f"{_AGENT}/versions"
_VERSION = f"{_VERSIONS}/{{number}}"
_PAGE_SIZE = 50
_NO_TAG = '"none"'  # no record has this tag


@signed_in("/agents")
def list_versions(session: Session, agent_id: str) -> Response:
    """List an agent's versions, newest first, with their authors and changed members."""
    agent, _ = calls.read(_AGENT, agent_id=agent_id)
    query = {"limit": _PAGE_SIZE, "cursor": current_request.query_value("cursor")}
    page = calls.get(_VERSIONS, query, agent_id=agent_id)
    following = query_string({"cursor": page["nextCursor"]}) if page.get("nextCursor") else None
    return guard.page(
        session,
        "versions.html",
        "/agents",
        agent=agent,
        versions=page["data"],
        following=following,
    )


@signed_in("/agents")
def read_version(session: Session, agent_id: str, number: str) -> Response:
    """Show the changes that restoring a version would make to the current agent."""
    return _page(session, agent_id, number)


@signed_in("/agents")
def restore_version(session: Session, agent_id: str, number: str) -> Response:
    """Restore a version. If the agent has changed since the person compared it, show the comparison again."""
    values, tag = {"agent_id": agent_id, "number": number}, guard.form().get("tag") or _NO_TAG
    rights.require_limits(session, *_read(agent_id, number)[:2])
    try:
        commit_now(lambda: calls.send("POST", f"{_VERSION}/restore", None, tag, **values))
    except errors.PreconditionFailed:
        if _comparison(agent_id, number)["changes"]:  # no changes if the form was submitted twice
            return _page(session, agent_id, number, status=412)
    return pages.saved(session.workspace_id, f"/agents/{agent_id}", "true")


def _page(session: Session, agent_id: str, number: str, status: int = 200) -> Response:
    compared = _comparison(agent_id, number)  # compare first, because this rejects an invalid number
    return guard.page(
        session, "version.html", "/agents", status, number=int(number), is_stale=status == 412, **compared
    )


def _comparison(agent_id: str, number: str) -> Document:
    """Return the agent, its entity tag, and the changes that restoring the version would make. Raise NotFound."""
    agent, version, tag = _read(agent_id, number)
    return {"agent": agent, "tag": tag, "changes": differences.between(agent, version, agent_form.read_only())}


def _read(agent_id: str, number: str) -> tuple[Document, Document, str]:
    """Return the agent, the version, and the agent's entity tag. Raise NotFound."""
    agent, tag = calls.read(_AGENT, agent_id=agent_id)
    return agent, calls.get(_VERSION, agent_id=agent_id, number=number)["data"], tag
