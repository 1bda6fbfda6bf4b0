"""The form in which operators create, change and delete a tool: its request and its parameters."""

from functools import partial
from itertools import count
from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.access import calls, guard, rights
from chalicelib.extensions.console.access.calls import commit_now
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.agent_pages import tool_page, tool_rules
from chalicelib.extensions.console.agent_pages.tool_page import ToolPage
from chalicelib.extensions.console.agent_pages.tool_results import Trial
from chalicelib.extensions.console.presentation import fields, pages, record_forms
from chalicelib.http import wire
from chalicelib.storage import Document
from chalicelib.tools import models

_PATH, _OF_AGENT = "/v3/tools/{tool_id}", "/v3/agents/{agent_id}/tools"
PATHS = ("name", "description", "method", "serverUrl", "fields", "disabled")
"""The members with fields, in the order of the page."""
_DELETE, _ADD, _REMOVE, _TEST = "delete", "add", "remove", "test"


@signed_in("/agents")
def read_new_tool(session: Session, agent_id: str) -> Response:
    """Show the form for a new tool."""
    rights.require_operator(session)
    page = tool_page.page_of(agent_id, {"method": tool_rules.METHODS[0]})
    return tool_page.show(session, page, tool_page.values_of(page))


@signed_in("/agents")
def create_tool(session: Session, agent_id: str) -> Response:
    """Create a tool, once per form, or change the number of parameters in the form.

    The tool has a parameter for each name in braces in its URL, even if the form has none.
    """
    rights.require_operator(session)
    sent, page = guard.form(), tool_page.page_of(agent_id, {})
    completed = {**sent, **_parameters_of_url(page, sent)}
    return _with_other_rows(session, page, sent) or _create(session, page, completed)


@signed_in("/agents")
def read_tool(session: Session, agent_id: str, tool_id: str) -> Response:
    """Show the form for a tool."""
    rights.require_operator(session)
    page = tool_page.read_page(session, agent_id, tool_id)
    return tool_page.show(session, page, tool_page.values_of(page))


@signed_in("/agents")
def save_tool(session: Session, agent_id: str, tool_id: str) -> Response:
    """Save the form, change the number of parameters in the form, or delete the tool.

    If the tool has changed since the form was shown, save nothing and show the differences.
    """
    rights.require_operator(session)
    sent = guard.form()
    if sent.get("action") == _DELETE:
        return _delete(session, agent_id, tool_id)
    page = tool_page.read_page(session, agent_id, tool_id)
    return _with_other_rows(session, page, sent) or _save_form(session, page, sent)


def _with_other_rows(session: Session, page: ToolPage, sent: dict[str, str]) -> Response | None:
    """Return the form after its button adds or removes a parameter, or None for its other buttons."""
    action, _, number = sent.get("action", "").partition(".")
    if action not in (_ADD, _REMOVE):
        return None
    page = page._replace(tag=sent.get("tag", ""))
    if action == _REMOVE:
        sent = {name: text for name, text in sent.items() if not name.startswith(f"fields.{number}.")}
    added = _parameters_of_url(page, sent) if action == _ADD else {}
    empty = tool_page.empty_rows(sent) + (action == _ADD and not added)
    values = tool_page.submitted_values(page, {**sent, **added})
    return tool_page.show(session, page, values, empty_rows=empty, trial=Trial(sent))


def _parameters_of_url(page: ToolPage, sent: dict[str, str]) -> dict[str, str]:
    """Return the fields of a parameter in the path for each name in braces in the URL that has none.

    A parameter with the name and another place gets the place.
    """
    numbers = tool_page.numbers(sent)
    named = {sent[f"fields.{number}.key"].strip(): number for number in numbers}
    left = count(max(numbers, default=-1) + 1)
    missing = tool_rules.missing_names(sent.get("serverUrl", ""), tool_page.rows_of(page, sent))
    return {
        f"fields.{number}.{member}": text
        for name in missing
        for number in (named[name] if name in named else next(left),)
        for member, text in (("key", name), ("in", "path"), ("required", "on"))
    }


def _create(session: Session, page: ToolPage, sent: dict[str, str]) -> Response:
    values = tool_page.submitted_values(page, sent)
    try:
        body = {"tool": {"name": "", **_change(page, values, sent)}}
        tool = calls.send_once(sent.get("form_id"), _OF_AGENT, body, agent_id=page.agent_id)["data"]
    except errors.ApiError as error:
        return tool_page.show(session, page, values, error=error)
    if sent.get("action") != _TEST:
        return _to_agent(session, page.agent_id, "tool")
    return _after_save(session, page.agent_id, tool["id"], sent)


def _save_form(session: Session, page: ToolPage, sent: dict[str, str]) -> Response:
    stored, values = tool_page.values_of(page), tool_page.submitted_values(page, sent)

    def save() -> Response:
        if change := _change(page, values, sent):
            commit_now(lambda: _save(session, page, change))
        return _after_save(session, page.agent_id, page.tool["id"], sent)

    show = partial(tool_page.show, session, page, values, trial=Trial(sent))
    return record_forms.save_form(sent, page.tag, stored, values, show, save)


def _save(session: Session, page: ToolPage, change: Document) -> None:
    """Change the tool. The API removes a fixed value only for a caller that sends all other fixed values again."""
    if any(field.get(tool_page.VALUE, "") is None for field in change.get("fields", ())):
        rights.with_secrets(session, lambda: _send(page, {**change, "fields": _with_secrets(page, change["fields"])}))
    else:
        _send(page, change)


def _send(page: ToolPage, change: Document) -> None:
    calls.send("PATCH", _PATH, {"tool": change}, page.tag, tool_id=page.tool["id"])


def _with_secrets(page: ToolPage, entries: list[Document]) -> list[Document]:
    stored = {field["id"]: field for field in tool_page.read(page.agent_id, page.tool["id"])[0].get("fields") or ()}
    return [{**stored.get(entry.get("id"), {}), **entry} for entry in entries]


def _delete(session: Session, agent_id: str, tool_id: str) -> Response:
    try:
        tool_page.read_page(session, agent_id, tool_id)
        calls.send("DELETE", _PATH, None, tool_id=tool_id)
    except errors.NotFound:  # the form has been submitted twice
        pass
    return _to_agent(session, agent_id, "tool_deleted")


def read_only() -> frozenset[str]:
    """Return the members that the service sets."""
    return frozenset(wire.read_only_members(models.Tool))


def _change(page: ToolPage, values: dict[str, Any], sent: dict[str, str]) -> Document:
    """Return the API request body that makes the changes. Hidden members of a parameter keep their values."""
    change = {
        **fields.change(page.members.fields, page.tool, values),
        **_secret(sent, tool_page.SECRET, tool_page.NO_SECRET),
    }
    stored = page.tool.get("fields") or []
    by_id = {field.get("id"): field for field in stored}
    entries = [_merged(by_id.get(row["id"] or None, {}), row) for row in tool_page.rows_of(page, sent)]
    if page.has_parameters and entries != stored:
        change["fields"] = entries
    tool_rules.require(page.tool, change)
    return change


def _merged(field: Document, row: dict[str, str]) -> Document:
    """Return a stored parameter with the texts of the form that differ from it."""
    before, merged = tool_page.row_of(field), dict(field)
    for name in tool_page.PARAMETER:
        if row[name] != before[name]:
            merged[name] = bool(row[name]) if name == "required" else row[name].strip() or None
    return merged | _secret(row, tool_page.VALUE, tool_page.NO_VALUE)


def _secret(sent: dict[str, str], name: str, removal: str) -> Document:
    """Return the member with its submitted secret, with None if its removal is checked, or nothing to keep it."""
    if text := sent.get(name):
        return {name: text}
    return {name: None} if sent.get(removal) else {}


def _to_agent(session: Session, agent_id: str, saved: str) -> Response:
    return pages.saved(session.workspace_id, f"/agents/{agent_id}#tools", saved)


def _after_save(session: Session, agent_id: str, tool_id: str, sent: dict[str, str]) -> Response:
    """Show the stored tool with the submitted arguments and, after the button for it, with the result of its test.

    A redirect would lose the arguments.
    """
    page = tool_page.read_page(session, agent_id, tool_id)
    trial = tool_page.run_test(session, page, sent) if sent.get("action") == _TEST else Trial(sent)
    return tool_page.show(session, page, tool_page.values_of(page), trial=trial, done="agent_tool")
