"""The version pages of agents and tools: the list, the effects of restoring a version, and the restore action."""

from typing import NamedTuple
from urllib.parse import quote

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console import agent_form, calls, differences, guard, pages, rights, tool_form
from chalicelib.extensions.console.calls import commit_now, query_string
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.extensions.console.template_filters import agent_title, display_name
from chalicelib.http import current_request
from chalicelib.storage import Document

_AGENT, _TOOL = "/v3/agents/{agent_id}", "/v3/tools/{tool_id}"
_PAGE_SIZE = 50
_NO_TAG = '"none"'  # no record has this tag


class VersionedRecord(NamedTuple):
    """An agent or tool that has versions.

    `path` is the path of its API operations, and `ids` contains the values in this path. `base` is the path of its
    version pages without `/versions`. After a restore, the browser opens `page`.
    """

    path: str
    ids: dict[str, str]
    base: str
    page: str
    title: str
    record: Document
    tag: str
    read_only: frozenset[str]

    def read(self, number: str) -> Document:
        """Return a version. Raise NotFound, and Invalid for a malformed number."""
        version: Document = calls.get(f"{self.path}/versions/{{number}}", None, number=number, **self.ids)["data"]
        return version


@signed_in("/agents")
def list_versions(session: Session, agent_id: str) -> Response:
    """List an agent's versions, newest first, with their authors and changed members."""
    return _list(session, _agent(agent_id))


@signed_in("/agents")
def read_version(session: Session, agent_id: str, number: str) -> Response:
    """Show the changes that restoring a version would make to the current agent."""
    return _page(session, _agent(agent_id), number)


@signed_in("/agents")
def restore_version(session: Session, agent_id: str, number: str) -> Response:
    """Restore a version. If the agent has changed since the person compared it, show the comparison again."""
    subject = _agent(agent_id)
    rights.require_limits(session, subject.record, subject.read(number))
    return _restore(session, subject, number)


@signed_in("/agents")
def list_tool_versions(session: Session, agent_id: str, tool_id: str) -> Response:
    """List a tool's versions, newest first."""
    return _list(session, _tool(session, agent_id, tool_id))


@signed_in("/agents")
def read_tool_version(session: Session, agent_id: str, tool_id: str, number: str) -> Response:
    """Show the changes that restoring a version would make to the current tool."""
    return _page(session, _tool(session, agent_id, tool_id), number)


@signed_in("/agents")
def restore_tool_version(session: Session, agent_id: str, tool_id: str, number: str) -> Response:
    """Restore a version of a tool. If the tool has changed since the comparison, show the comparison again."""
    return _restore(session, _tool(session, agent_id, tool_id), number)


def _agent(agent_id: str) -> VersionedRecord:
    agent, tag = calls.read(_AGENT, agent_id=agent_id)
    page = f"/agents/{quote(agent_id)}"
    ids, title = {"agent_id": agent_id}, agent_title(agent)
    return VersionedRecord(_AGENT, ids, page, page, title, agent, tag, agent_form.read_only())


def _tool(session: Session, agent_id: str, tool_id: str) -> VersionedRecord:
    """Return an agent's tool. Raise Forbidden for people who are not operators, and NotFound for other tools."""
    rights.require_operator(session)
    tool, tag = tool_form.read(agent_id, tool_id)
    page, title = f"/agents/{quote(agent_id)}", display_name(tool, "name") or tool_id
    base = f"{page}/tools/{quote(tool_id)}"
    return VersionedRecord(_TOOL, {"tool_id": tool_id}, base, f"{page}#tools", title, tool, tag, tool_form.read_only())


def _list(session: Session, subject: VersionedRecord) -> Response:
    query = {"limit": _PAGE_SIZE, "cursor": current_request.query_value("cursor")}
    page = calls.get(f"{subject.path}/versions", query, **subject.ids)
    following = query_string({"cursor": page["nextCursor"]}) if page.get("nextCursor") else None
    return guard.page(session, "versions.html", "/agents", subject=subject, versions=page["data"], following=following)


def _restore(session: Session, subject: VersionedRecord, number: str) -> Response:
    tag, path = guard.form().get("tag") or _NO_TAG, f"{subject.path}/versions/{{number}}/restore"
    try:
        commit_now(lambda: calls.send("POST", path, None, tag, number=number, **subject.ids))
    except errors.PreconditionFailed:
        if _changes(subject, number):  # no changes if the form was submitted twice
            return _page(session, subject, number, status=412)
    return pages.saved(session.workspace_id, subject.page, "true")


def _page(session: Session, subject: VersionedRecord, number: str, status: int = 200) -> Response:
    changes = _changes(subject, number)  # compare first, because this rejects an invalid number
    return guard.page(
        session,
        "version.html",
        "/agents",
        status,
        subject=subject,
        number=int(number),
        changes=changes,
        is_stale=status == 412,
    )


def _changes(subject: VersionedRecord, number: str) -> differences.Differences:
    return differences.between(subject.record, subject.read(number), subject.read_only)
