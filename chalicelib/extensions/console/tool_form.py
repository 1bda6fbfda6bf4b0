"""The form in which operators create, change and delete a tool: its request and its parameters."""

import re
from functools import partial
from typing import Any, NamedTuple

from chalice.app import Response

from chalicelib import errors, extensions
from chalicelib.extensions.console import (
    calls,
    fields,
    guard,
    pages,
    rights,
    settings,
    template_filters,
    tool_rules,
    tool_trials,
)
from chalicelib.extensions.console.calls import commit_now
from chalicelib.extensions.console.fields import FLAG, LONG, TEXT, Field
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import current_request, projections, wire
from chalicelib.storage import Document
from chalicelib.tools import models

_PATH, _OF_AGENT = "/v3/tools/{tool_id}", "/v3/agents/{agent_id}/tools"
_FIELDS = (
    Field("name", TEXT), Field("description", LONG), Field("method", TEXT), Field("serverUrl", TEXT),
    Field("disabled", FLAG),
)  # fmt: skip
PATHS = ("name", "description", "method", "serverUrl", "fields", "disabled")
"""The members with fields, in the order of the page."""
TYPES = ("", "text", "number", "boolean")
# The members of a parameter that the form shows, after its id.
_PARAMETER = ("key", "type", "in", "description", "required")
# The fields for a secret, which the form replaces or removes but never shows.
_VALUE, _NO_VALUE = "value", "no_value"
_SECRET, _NO_SECRET = "serverUrlSecret", "no_serverUrlSecret"
_KEY = re.compile(r"fields\.([0-9]{1,3})\.key")
# The maximum size of the tool's members and of its parameters as HTML, in bytes, and the bytes of a parameter's tags.
_MAX_BYTES, _MAX_PARAMETER_BYTES, _PARAMETER_BYTES = 60_000, 80_000, 2_400
_DELETE, _ADD, _REMOVE, _TEST = "delete", "add", "remove", "test"


class ToolPage(NamedTuple):
    """A tool of an agent, its entity tag, the members that fit on the page, and whether its parameters fit.

    `secrets` contains the ids of the parameters that have a fixed value, and `serverUrlSecret` if the tool has one.
    """

    agent_id: str
    tool: Document
    tag: str
    members: fields.FieldsThatFit
    has_parameters: bool
    secrets: frozenset[str]


@signed_in("/agents")
def read_new_tool(session: Session, agent_id: str) -> Response:
    """Show the form for a new tool."""
    rights.require_operator(session)
    page = _page_of(agent_id, {"method": tool_rules.METHODS[0]})
    return _page(session, page, _values(page))


@signed_in("/agents")
def create_tool(session: Session, agent_id: str) -> Response:
    """Create a tool, once per form, or change the number of parameters in the form."""
    rights.require_operator(session)
    sent, page = guard.form(), _page_of(agent_id, {})
    return _with_other_rows(session, page, sent) or _create(session, page, sent)


@signed_in("/agents")
def read_tool(session: Session, agent_id: str, tool_id: str) -> Response:
    """Show the form for a tool."""
    rights.require_operator(session)
    page = _read(session, agent_id, tool_id)
    return _page(session, page, _values(page))


@signed_in("/agents")
def save_tool(session: Session, agent_id: str, tool_id: str) -> Response:
    """Save the form, change the number of parameters in the form, or delete the tool.

    If the tool has changed since the form was shown, save nothing and show the differences.
    """
    rights.require_operator(session)
    sent = guard.form()
    if sent.get("action") == _DELETE:
        return _delete(session, agent_id, tool_id)
    page = _read(session, agent_id, tool_id)
    return _with_other_rows(session, page, sent) or _save_form(session, page, sent)


def _with_other_rows(session: Session, page: ToolPage, sent: dict[str, str]) -> Response | None:
    """Return the form after its button adds an empty parameter or removes one, or None for its other buttons."""
    action, _, number = sent.get("action", "").partition(".")
    if action not in (_ADD, _REMOVE):
        return None
    left = {name: text for name, text in sent.items() if action == _ADD or not name.startswith(f"fields.{number}.")}
    page = page._replace(tag=sent.get("tag", ""))
    return _page(session, page, _submitted_values(page, left), empty_rows=_empty_rows(left) + (action == _ADD))


def _create(session: Session, page: ToolPage, sent: dict[str, str]) -> Response:
    values = _submitted_values(page, sent)
    try:
        body = {"tool": {"name": "", **_change(page, values, sent)}}
        tool = calls.send_once(sent.get("form_id"), _OF_AGENT, body, agent_id=page.agent_id)["data"]
    except errors.ApiError as error:
        return _page(session, page, values, error=error)
    return _after_save(session, page.agent_id, tool["id"], sent)


def _save_form(session: Session, page: ToolPage, sent: dict[str, str]) -> Response:
    values = _submitted_values(page, sent)

    def save() -> Response:
        if change := _change(page, values, sent):
            commit_now(lambda: _save(session, page, change))
        return _after_save(session, page.agent_id, page.tool["id"], sent)

    return settings.save_form(sent, page.tag, _values(page), values, partial(_page, session, page, values), save)


def _save(session: Session, page: ToolPage, change: Document) -> None:
    """Change the tool. The API removes a fixed value only for a caller that sends all other fixed values again."""
    if any(field.get(_VALUE, "") is None for field in change.get("fields", ())):
        rights.with_secrets(session, lambda: _send(page, {**change, "fields": _with_secrets(page, change["fields"])}))
    else:
        _send(page, change)


def _send(page: ToolPage, change: Document) -> None:
    calls.send("PATCH", _PATH, {"tool": change}, page.tag, tool_id=page.tool["id"])


def _with_secrets(page: ToolPage, entries: list[Document]) -> list[Document]:
    stored = {field["id"]: field for field in read(page.agent_id, page.tool["id"])[0].get("fields") or ()}
    return [{**stored.get(entry.get("id"), {}), **entry} for entry in entries]


def _delete(session: Session, agent_id: str, tool_id: str) -> Response:
    try:
        _read(session, agent_id, tool_id)
        calls.send("DELETE", _PATH, None, tool_id=tool_id)
    except errors.NotFound:  # the form has been submitted twice
        pass
    return _to_agent(session, agent_id, "tool_deleted")


def read(agent_id: str, tool_id: str) -> tuple[Document, str]:
    """Return an agent's tool and its entity tag. Raise NotFound, also for another agent's tool."""
    tool, tag = calls.read(_PATH, tool_id=tool_id)
    if tool.get("agentId") != agent_id:
        raise errors.NotFound.of("tool")
    return tool, tag


def read_only() -> frozenset[str]:
    """Return the members that the service sets."""
    return frozenset(wire.read_only_members(models.Tool))


def _read(session: Session, agent_id: str, tool_id: str) -> ToolPage:
    """Return the tool without its secrets, and which secrets it has."""
    tool, tag = rights.with_secrets(session, lambda: read(agent_id, tool_id))
    secrets = {field["id"] for field in tool.get("fields") or () if field.get(_VALUE) not in (None, "")}
    if tool.get(_SECRET):
        secrets.add(_SECRET)
    return _page_of(agent_id, projections.without_secrets(models.Tool, tool), tag, frozenset(secrets))


def _page_of(agent_id: str, tool: Document, tag: str = "", secrets: frozenset[str] = frozenset()) -> ToolPage:
    members = fields.fields_that_fit(_FIELDS, tool, _MAX_BYTES)
    size = sum(
        _PARAMETER_BYTES + sum(template_filters.size(text) for text in _row(field).values())
        for field in tool.get("fields") or ()
    )
    return ToolPage(agent_id, tool, tag, members, size <= _MAX_PARAMETER_BYTES, secrets)


def _row(field: Document) -> dict[str, str]:
    """Return a parameter's texts by member, with its id."""
    texts = {name: "" if field.get(name) in (None, False) else str(field[name]) for name in ("id", *_PARAMETER)}
    return {**texts, "required": "on" if field.get("required") else ""}


def _values(page: ToolPage) -> dict[str, Any]:
    """Return the values of the form by field name. A page without parameters has none of their names."""
    rows = [_row(field) for field in page.tool.get("fields") or ()] if page.has_parameters else []
    return {**fields.values(page.members.fields, page.tool), **_named(rows)}


def _named(rows: list[dict[str, str]]) -> dict[str, str]:
    return {f"fields.{number}.{name}": text for number, row in enumerate(rows) for name, text in row.items()}


def _rows(page: ToolPage, sent: dict[str, Any]) -> list[dict[str, str]]:
    """Return the parameters among the submitted fields. A parameter without a key is removed.

    A parameter that is new in the form has the id of the stored parameter with its key, if the form was sent before.
    """
    numbers = sorted(int(match[1]) for match in map(_KEY.fullmatch, sent) if match) if page.has_parameters else []
    names = ("id", *_PARAMETER, _VALUE, _NO_VALUE)
    named = ({name: sent.get(f"fields.{number}.{name}", "") for name in names} for number in numbers)
    rows = [row for row in named if row["key"].strip()]
    ids = {row["id"] for row in rows}
    stored = {field.get("key"): field["id"] for field in page.tool.get("fields") or () if field["id"] not in ids}
    return [
        {**row, "id": row["id"] or stored.pop(row["key"], ""), "required": "on" if row["required"] else ""}
        for row in rows
    ]


def _empty_rows(sent: dict[str, str]) -> int:
    """Return the number of submitted parameters without a key."""
    return sum(not text.strip() for name, text in sent.items() if _KEY.fullmatch(name))


def _submitted_values(page: ToolPage, sent: dict[str, str]) -> dict[str, Any]:
    """Return the values of the form, in the format that `_values` returns, without secrets."""
    shown = [{name: row[name] for name in ("id", *_PARAMETER)} for row in _rows(page, sent)]
    return {**fields.submitted_values(page.members.fields, sent), **_named(shown)}


def _change(page: ToolPage, values: dict[str, Any], sent: dict[str, str]) -> Document:
    """Return the API request body that makes the changes. Hidden members of a parameter keep their values."""
    change = {**fields.change(page.members.fields, page.tool, values), **_secret(sent, _SECRET, _NO_SECRET)}
    stored = page.tool.get("fields") or []
    by_id = {field.get("id"): field for field in stored}
    entries = [_merged(by_id.get(row["id"] or None, {}), row) for row in _rows(page, sent)]
    if page.has_parameters and entries != stored:
        change["fields"] = entries
    tool_rules.require(page.tool, change)
    return change


def _merged(field: Document, row: dict[str, str]) -> Document:
    """Return a stored parameter with the texts of the form that differ from it."""
    before, merged = _row(field), dict(field)
    for name in _PARAMETER:
        if row[name] != before[name]:
            merged[name] = bool(row[name]) if name == "required" else row[name].strip() or None
    return merged | _secret(row, _VALUE, _NO_VALUE)


def _secret(sent: dict[str, str], name: str, removal: str) -> Document:
    """Return the member with its submitted secret, with None if its removal is checked, or nothing to keep it."""
    if text := sent.get(name):
        return {name: text}
    return {name: None} if sent.get(removal) else {}


def _to_agent(session: Session, agent_id: str, saved: str) -> Response:
    return pages.saved(session.workspace_id, f"/agents/{agent_id}#tools", saved)


def _after_save(session: Session, agent_id: str, tool_id: str, sent: dict[str, str]) -> Response:
    """Show the tool's test or, after the other buttons, the agent's tools."""
    if sent.get("action") != _TEST:
        return _to_agent(session, agent_id, "tool")
    return pages.saved(session.workspace_id, f"/agents/{agent_id}/tools/{tool_id}/settings#test", "tool")


def _page(
    session: Session,
    page: ToolPage,
    values: dict[str, Any],
    error: errors.ApiError | None = None,
    conflicts: Any = (),
    empty_rows: int = 0,
) -> Response:
    has_test, t, rows = bool(page.tag) and extensions.has("tool_calls"), guard.texts(session), _rows(page, values)
    return guard.form_page(
        session,
        "tool_form.html",
        "/agents",
        error,
        conflicts,
        agent=calls.get("/v3/agents/{agent_id}", agent_id=page.agent_id)["data"],
        tool=page.tool,
        tag=page.tag,
        values=values,
        rows=[*rows, *[_row({})] * empty_rows],
        secrets=page.secrets,
        trial={**page.tool, **tool_trials.form_members(page.tool)} if has_test else None,
        saved=current_request.query_value("saved"),
        left_out=[*page.members.left_out, *([] if page.has_parameters else ["fields"])],
        has_parameters=page.has_parameters,
        methods=[(one, one) for one in dict.fromkeys((*tool_rules.METHODS, values.get("method"))) if one],
        places=[(place, t(f"place.{place or 'default'}")) for place in tool_rules.PLACES],
        types=[(name, t(f"parameter_type.{name or 'any'}")) for name in TYPES],
    )
