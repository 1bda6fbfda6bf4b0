"""The audit log, which lists the changes to records with their authors and changed members, and its search."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import quote

from chalice.app import Response

from chalicelib import ids
from chalicelib.extensions.console.access import acts, calls, guard, organisation_list, rights, session_store
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.agent_pages import version_excerpts
from chalicelib.extensions.console.presentation import filtered_lists, pages, periods
from chalicelib.extensions.console.presentation.member_names import member_name
from chalicelib.extensions.console.presentation.rendering import Texts
from chalicelib.extensions.console.settings_pages import (
    audit_file,
    change_authors,
    change_groups,
    changed_organisations,
    changed_rights,
    record_names,
)
from chalicelib.http import current_request, files
from chalicelib.storage import Document

_FIELDS = ("q", "org", "kind", "id", "by", "from", "to")
_KINDS = ("agents", "tools", "clients", "orgs", "webhooks", "tokens", "keys", *acts.KINDS)
_PAGE_SIZE = 50
# A file, a search or the filter for an organisation examines up to 10 pages of 100 changes.
_LARGE_PAGE_SIZE, _MAX_PAGES = 100, 10
_UPDATE = "update"


@signed_in("/settings")
def list_changes(session: Session) -> Response:
    """List the changes that match the filters and the search, newest first, with old and new values.

    The values cost at most 10 requests, unless an agent's or tool's versions exceed 1 MB together. The organisations
    cost one request per 100.
    """
    rights.require_operator(session)
    query = filtered_lists.query_from_request(_FIELDS)
    organisations, limit = _organisations(query["org"]), _MAX_PAGES * _LARGE_PAGE_SIZE
    read = partial(_with_excerpts, session, query, organisations)
    values = {"kinds": _KINDS, "most_changes": limit, "organisations": organisations}
    return filtered_lists.page(session, "audit.html", "/settings", query, read, **values)


@signed_in("/settings")
def download(session: Session) -> Response:
    """Return up to 1,000 changes that match the filters as a file, newest first. Raise InvalidPeriod."""
    rights.require_operator(session)
    matches = _pages(session, filtered_lists.query_from_request(_FIELDS), None, _LARGE_PAGE_SIZE)
    text, organisations = files.heading(files.CSV, audit_file.COLUMNS), _organisations("")
    for page in matches:
        text += audit_file.lines(page["data"], _details(session, page["data"], organisations), guard.texts(session))
    return pages.download("audit-log.csv", files.MEDIA[files.CSV], text)


def _with_excerpts(session: Session, query: dict[str, str], organisations: list[Document]) -> Document:
    """Return a page of changes by day, with excerpts of their values and their organisations. Raise InvalidPeriod."""
    page, t = _first_matches(session, query), guard.texts(session)
    return {**page, **_details(session, page["data"], organisations), "days": change_groups.by_day(page["data"], t)}


def _details(session: Session, changes: list[Document], organisations: list[Document]) -> Document:
    """Return the organisations, the granted rights and the excerpts of the values of changes."""
    t = guard.texts(session)
    changed: defaultdict[str, dict[int, list[str]]] = defaultdict(dict)
    for change in changes:
        if change["operation"] == _UPDATE and "number" in change:
            changed[change["resource"]][change["number"]] = change["changed"]
    return {
        "outcomes": {change["id"]: changed_rights.of_change(change, t) for change in changes},
        "organisation_names": changed_organisations.names_by_change(changes, organisations),
        "excerpts": version_excerpts.of_changes(changed, t),
    }


def _first_matches(session: Session, query: dict[str, str]) -> Document:
    """Return the first page of changes or, in a search or for an organisation, about 50 of up to 1,000 changes.

    Raise InvalidPeriod.
    """
    is_search = bool(query["q"] or query["org"])
    size, cursor = _LARGE_PAGE_SIZE if is_search else _PAGE_SIZE, current_request.query_value("cursor")
    matches: list[Document] = []
    for page in _pages(session, query, cursor, size):
        matches, cursor = matches + page["data"], page.get("nextCursor")
        if not is_search or len(matches) >= _PAGE_SIZE:
            break
    return {"data": matches, "nextCursor": cursor}


def _pages(session: Session, query: dict[str, str], cursor: str | None, limit: int) -> Iterator[Document]:
    """Yield up to 10 pages of matching changes, with the names of their records and authors. Raise InvalidPeriod.

    `author` is `by` with the name of a person who used the console. Its `known_as` is the text that the filter finds.
    """
    text, t = query["q"].strip().casefold(), guard.texts(session)
    is_of_organisation = _organisation_filter(session.workspace_id, query["org"])
    for _ in range(_MAX_PAGES):
        page = _read(query, cursor, limit)
        names = record_names.read(session.workspace_id, (one["resource"] for one in page["data"]))
        names |= record_names.read_deleted(page["data"], names)
        named = change_authors.with_names(session, page["data"])
        changes = [
            {
                **one,
                "act": acts.operation(one),
                "record": names.get(one["resource"]),
                "author": _author(one["by"], by["by"]),
            }
            for one, by in zip(page["data"], named, strict=True)
        ]
        yield {
            **page,
            "data": [one for one in filter(is_of_organisation, changes) if not text or _contains(one, text, t)],
        }
        cursor = page.get("nextCursor")
        if cursor is None:
            return


def _organisations(org_id: str) -> list[Document]:
    """Return the organisations to choose from, with the id of a selected one that is not among them."""
    organisations, _ = organisation_list.read_all()
    is_listed = not org_id or any(one["ID"] == org_id for one in organisations)
    return organisations if is_listed else [*organisations, {"ID": org_id}]


def _organisation_filter(workspace_id: str, org_id: str) -> Callable[[Document], bool]:
    """Return the condition for changes to an organisation, its people, its agents, or their tools and keys.

    Without an organisation, every change matches. Deleted people, tools and keys belong to no organisation, and a
    deleted organisation has no agents.
    """
    if not org_id:
        return lambda _: True
    agent_ids = organisation_list.agent_ids(session_store.organisation_of(workspace_id, {"orgId": org_id}))
    resources = {f"orgs/{org_id}", *(f"agents/{one}" for one in agent_ids)}
    paths = (f"/settings/orgs/{quote(org_id)}/", *(f"/agents/{quote(one)}/" for one in agent_ids))

    def matches(change: Document) -> bool:
        path = change["record"].path.partition("#")[0] if change["record"] else ""
        return change["resource"] in resources or f"{path}/".startswith(paths)

    return matches


def _author(by: Document | None, named: Document | None) -> Document | None:
    return {**named, "known_as": by["name"]} if by and named else None


def _contains(change: Document, text: str, t: Texts) -> bool:
    """Return whether a record's name or id, an author, or a changed member's name contains a case-folded text."""
    names = (change["record"].name if change["record"] else "", (change["author"] or {}).get("name") or "")
    labels = [member_name(path, t).label for path in change["changed"]]
    return any(text in one.casefold() for one in (*names, change["resource"], *change["changed"], *labels))


def _read(query: dict[str, str], cursor: str | None, limit: int) -> Document:
    """Return the API's list of changes. Raise InvalidPeriod.

    The API has no list of the changes to one kind of record, so such a page contains the matching part of the list.
    """
    since, until = periods.bounds(query["from"], query["to"])
    sent = {"resource": _resource(query), "by": query["by"], "from": since, "to": until, "limit": limit}
    answer: Document = calls.get("/v3/history", {**sent, "cursor": cursor})
    prefix = f"{query['kind']}/" if query["kind"] else ""
    return {**answer, "data": [one for one in answer["data"] if one["resource"].startswith(prefix)]}


def _resource(query: dict[str, str]) -> str:
    """Return the record that the filters select, such as `agents/support`, or an empty string for several records.

    Raise InvalidPeriod for an unknown kind, an invalid id, or an id without kind.
    """
    kind, record_id = query["kind"], query["id"]
    if kind in ("", *_KINDS) and (not record_id or (kind and ids.IDENTIFIER.fullmatch(record_id))):
        return f"{kind}/{record_id}" if record_id else ""
    raise periods.InvalidPeriod("id")
