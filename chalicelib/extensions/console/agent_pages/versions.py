"""The version pages of agents and tools: the list, a version's changes, and the restore action."""

from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import quote

from chalice.app import Response

from chalicelib import errors, extensions, ids
from chalicelib.extensions.console.access import calls, guard, rights
from chalicelib.extensions.console.access.calls import commit_now, query_string
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.agent_pages import (
    agent_facts,
    agent_form,
    record_differences,
    tool_page,
    version_excerpts,
)
from chalicelib.extensions.console.conversation_pages import stored_replies
from chalicelib.extensions.console.presentation import pages
from chalicelib.extensions.console.presentation.differences import Differences
from chalicelib.extensions.console.presentation.template_filters import display_name
from chalicelib.extensions.console.settings_pages import change_authors
from chalicelib.http import current_request
from chalicelib.storage import Document

_RESTORED: Any = extensions.service("restored_members")
_DIFFERING: Any = extensions.service("members_that_differ")
_AGENT, _TOOL = "/v3/agents/{agent_id}", "/v3/tools/{tool_id}"
_PAGE_SIZE, _PROMPT = 100, "vg_systemPrompt"
_NO_TAG = '"none"'  # no record has this tag
_CREATION = {"createdAt", "createdAtUNIX"}  # the members that only a creation sets


class VersionedRecord(NamedTuple):
    """An agent or tool that has versions.

    `path` is the path of its API operations, and `ids` contains the values in this path. `base` is the path of its
    version pages without `/versions`. After a restore, the browser opens `page`. `tool` is the tool's name, or empty.
    """

    path: str
    ids: dict[str, str]
    base: str
    page: str
    agent: Document
    tool: str
    record: Document
    tag: str

    def read(self, number: str) -> Document:
        """Return a version. Raise NotFound, and Invalid for a malformed number."""
        version: Document = calls.get(f"{self.path}/versions/{{number}}", None, number=number, **self.ids)["data"]
        return version

    @property
    def kind(self) -> str:
        """The kind of record, as the history names it."""
        return "tools" if self.tool else "agents"

    @property
    def record_id(self) -> str:
        """The record's id."""
        return next(iter(self.ids.values()))

    @property
    def current(self) -> int:
        """The number of the record's current version, which may not be in the list for a few seconds."""
        return ids.timestamp_of(self.tag.strip('"').partition(".")[0])


class Neighbours(NamedTuple):
    """The numbers of the versions before and after a version, or None."""

    older: int | None
    newer: int | None


class ListedVersions(NamedTuple):
    """A page of versions, newest first, and the cursor of the next page.

    Each version has a `position`. The oldest has 1. It is None if the page does not contain all versions. `is_creation`
    is true for the version that created the record. `source` is the version that it restored, or None.
    """

    versions: list[Document]
    next_cursor: str | None

    def entry(self, number: int) -> Document | None:
        """Return the entry of a version, or None if the page does not contain the version."""
        return next((one for one in self.versions if one["number"] == number), None)

    def neighbours(self, number: int) -> Neighbours:
        """Return the numbers of the versions before and after a version."""
        numbers = [one["number"] for one in self.versions]
        if number not in numbers:
            return Neighbours(None, None)
        place = numbers.index(number)
        return Neighbours(next(iter(numbers[place + 1 :]), None), numbers[place - 1] if place else None)


@signed_in("/agents")
def list_versions(session: Session, agent_id: str) -> Response:
    """List an agent's versions, newest first, with their authors and changed members."""
    return _list(session, _agent(agent_id))


@signed_in("/agents")
def read_version(session: Session, agent_id: str, number: str) -> Response:
    """Show a version's changes, and the changes that restoring it would make to the current agent."""
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
    """Show a version's changes, and the changes that restoring it would make to the current tool."""
    return _page(session, _tool(session, agent_id, tool_id), number)


@signed_in("/agents")
def restore_tool_version(session: Session, agent_id: str, tool_id: str, number: str) -> Response:
    """Restore a version of a tool. If the tool has changed since the comparison, show the comparison again."""
    return _restore(session, _tool(session, agent_id, tool_id), number)


def _agent(agent_id: str) -> VersionedRecord:
    agent, tag = calls.read(_AGENT, agent_id=agent_id)
    page = f"/agents/{quote(agent_id)}"
    return VersionedRecord(_AGENT, {"agent_id": agent_id}, page, page, agent, "", agent, tag)


def _tool(session: Session, agent_id: str, tool_id: str) -> VersionedRecord:
    """Return an agent's tool. Raise Forbidden for people who are not operators, and NotFound for other tools."""
    rights.require_operator(session)
    tool, tag = tool_page.read(agent_id, tool_id)
    agent, _ = calls.read(_AGENT, agent_id=agent_id)  # for the breadcrumbs
    page, name = f"/agents/{quote(agent_id)}", display_name(tool, "name") or tool_id
    base = f"{page}/tools/{quote(tool_id)}"
    values = {"tool_id": tool_id}
    return VersionedRecord(_TOOL, values, base, f"{page}#tools", agent, name, tool, tag)


def _versions(session: Session, subject: VersionedRecord, cursor: str | None = None) -> ListedVersions:
    page = calls.get(f"{subject.path}/versions", {"limit": _PAGE_SIZE, "cursor": cursor}, **subject.ids)
    versions, following = change_authors.with_names(session, page["data"]), page.get("nextCursor")
    is_complete = not cursor and not following
    numbered = [
        {**one, "position": len(versions) - place if is_complete else None, "is_creation": False}
        for place, one in enumerate(versions)
    ]
    if is_complete and numbered:
        numbered[-1]["is_creation"] = bool(_CREATION & {*numbered[-1]["changed"]})
    positions = {one["number"]: one["position"] for one in numbered}
    for version in numbered:
        version["changed"] = [path for path in version["changed"] if path not in agent_form.TECHNICAL]
        source = version.get("restoredFrom")
        version["source"] = source and {"number": source, "position": positions.get(source)}
    return ListedVersions(numbered, following)


def _list(session: Session, subject: VersionedRecord) -> Response:
    page = _versions(session, subject, current_request.query_value("cursor"))
    changed, t = {one["number"]: one["changed"] for one in page.versions}, guard.texts(session)
    return guard.page(
        session,
        "versions.html",
        "/agents",
        subject=subject,
        facts=None if subject.tool else agent_facts.read(session, [subject.record_id]),
        versions=page.versions,
        excerpts=version_excerpts.read(subject.kind, subject.record_id, changed, t),
        following=query_string({"cursor": page.next_cursor}) if page.next_cursor else None,
    )


def _restore(session: Session, subject: VersionedRecord, number: str) -> Response:
    """Restore a version. The saved replies belong to the team, so they are restored only if the person chooses this."""
    sent, path = guard.form(), f"{subject.path}/versions/{{number}}/restore"
    tag, kept = sent.get("tag") or _NO_TAG, set() if sent.get(stored_replies.MEMBER) else {stored_replies.MEMBER}
    try:
        commit_now(lambda: calls.post_with_query(path, {"keep": [*kept]}, tag, number=number, **subject.ids))
    except errors.PreconditionFailed:
        # Without differences, the version has been restored already: the form was submitted twice.
        if any(one.path not in kept for one in _restored(session, subject, number, subject.read(number))):
            return _page(session, subject, number, status=412)
    return pages.saved(session.workspace_id, subject.page, "restored", version=sent.get("position", ""))


def _page(session: Session, subject: VersionedRecord, number: str, status: int = 200) -> Response:
    """Show what a version changed, or its differences from the version in the query's `with`."""
    document = subject.read(number)  # read first, because this rejects an invalid number
    listed, other = _versions(session, subject), current_request.query_value("with") or ""
    restoring = _restored(session, subject, number, document)
    replies = next((one for one in restoring if one.path == stored_replies.MEMBER), None)
    if other:
        changes: Differences | None = _changes_since(session, subject, other, number, document)
    else:
        changes = _own_changes(session, subject, listed, int(number), document)
    return guard.page(
        session,
        "version.html",
        "/agents",
        status,
        subject=subject,
        number=int(number),
        version=listed.entry(int(number)),
        neighbours=listed.neighbours(int(number)),
        versions=listed.versions,
        compared=(listed.entry(int(other)) or {"number": int(other), "position": None}) if other else None,
        changes=changes,
        restoring=restoring.without(stored_replies.MEMBER),
        replies=replies,
        empties_prompt=bool(subject.record.get(_PROMPT) and not document.get(_PROMPT)),
        is_stale=status == 412,
    )


def _changes_since(
    session: Session, subject: VersionedRecord, other: str, number: str, document: Document
) -> Differences:
    """Return the differences of two versions, including members whose values the page does not show."""
    changes = _compare(session, subject, subject.read(other), document)
    paths = _DIFFERING(subject.kind, subject.record_id, number, other)
    return record_differences.with_hidden(subject.kind, changes, paths, guard.texts(session))


def _own_changes(
    session: Session, subject: VersionedRecord, listed: ListedVersions, number: int, document: Document
) -> Differences | None:
    """Return what a version changed, or None if the version before it is unknown."""
    version, before = listed.entry(number), _before(subject, listed, number)
    if before is None:
        return None
    paths = [] if version is None or version["is_creation"] else version["changed"]
    changes = _compare(session, subject, before, document)
    return record_differences.with_hidden(subject.kind, changes, paths, guard.texts(session))


def _restored(session: Session, subject: VersionedRecord, number: str, document: Document) -> Differences:
    """Return what restoring a version would change, including members whose values the page does not show."""
    changes = _compare(session, subject, subject.record, document)
    operations = _RESTORED(subject.kind, subject.record_id, number)
    return record_differences.with_hidden(subject.kind, changes, operations, guard.texts(session), operations)


def _before(subject: VersionedRecord, listed: ListedVersions, number: int) -> Document | None:
    """Return the version before a version, or None if it is unknown. The version before a creation is empty."""
    version, older = listed.entry(number), listed.neighbours(number).older
    if older is not None:
        with suppress(errors.NotFound):
            return subject.read(str(older))
    return {} if version and version["is_creation"] else None


def _compare(session: Session, subject: VersionedRecord, before: Document, after: Document) -> Differences:
    return record_differences.between(subject.kind, before, after, guard.texts(session))
