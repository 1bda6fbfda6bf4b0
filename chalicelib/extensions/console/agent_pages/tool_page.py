"""The page of a tool: the form for its request and parameters, and its test."""

import re
from typing import Any, NamedTuple

from chalice.app import Response

from chalicelib import errors, extensions
from chalicelib.extensions.console.access import calls, guard, rights
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.agent_pages import tool_arguments, tool_results, tool_rules
from chalicelib.extensions.console.agent_pages.tool_results import Trial
from chalicelib.extensions.console.presentation import fields, template_filters
from chalicelib.extensions.console.presentation.fields import FLAG, LONG, TEXT, Field
from chalicelib.http import projections
from chalicelib.storage import Document
from chalicelib.tools import models

_PATH = "/v3/tools/{tool_id}"
_FIELDS = (
    Field("name", TEXT), Field("description", LONG), Field("method", TEXT), Field("serverUrl", TEXT),
    Field("disabled", FLAG),
)  # fmt: skip
TYPES = ("", "text", "number", "boolean")
PARAMETER = ("key", "type", "in", "description", "required")
"""The members of a parameter that the form shows, after its id."""
VALUE, NO_VALUE = "value", "no_value"
SECRET, NO_SECRET = "serverUrlSecret", "no_serverUrlSecret"
"""The fields for secrets, which the form replaces or removes but never shows."""
_KEY = re.compile(r"fields\.([0-9]{1,3})\.key")
# The maximum size of the tool's members and of its parameters as HTML, in bytes, and the bytes of a parameter's tags.
_MAX_BYTES, _MAX_PARAMETER_BYTES, _PARAMETER_BYTES = 60_000, 80_000, 2_400


class ToolPage(NamedTuple):
    """A tool of an agent, its entity tag, the members that fit on the page, and whether its parameters fit.

    `secrets` contains the ids of the parameters that have a fixed value, and `serverUrlSecret` if the tool has one.
    `needed` contains the names of the parameters that a call needs.
    """

    agent_id: str
    tool: Document
    tag: str
    members: fields.FieldsThatFit
    has_parameters: bool
    secrets: frozenset[str]
    needed: tuple[str, ...] = ()


def read(agent_id: str, tool_id: str) -> tuple[Document, str]:
    """Return an agent's tool and its entity tag. Raise NotFound, also for another agent's tool."""
    tool, tag = calls.read(_PATH, tool_id=tool_id)
    if tool.get("agentId") != agent_id:
        raise errors.NotFound.of("tool")
    return tool, tag


def read_page(session: Session, agent_id: str, tool_id: str) -> ToolPage:
    """Return the tool without its secrets, and which secrets it has."""
    tool, tag = rights.with_secrets(session, lambda: read(agent_id, tool_id))
    secrets = {field["id"] for field in tool.get("fields") or () if field.get(VALUE) not in (None, "")}
    if tool.get(SECRET):
        secrets.add(SECRET)
    page = page_of(agent_id, projections.without_secrets(models.Tool, tool), tag, frozenset(secrets))
    return page._replace(needed=tuple(tool_arguments.needed(tool)))


def page_of(agent_id: str, tool: Document, tag: str = "", secrets: frozenset[str] = frozenset()) -> ToolPage:
    """Return the page of a tool without its secrets. A tool that is not stored has no tag."""
    members = fields.fields_that_fit(_FIELDS, tool, _MAX_BYTES)
    size = sum(
        _PARAMETER_BYTES + sum(template_filters.size(text) for text in row_of(field).values())
        for field in tool.get("fields") or ()
    )
    return ToolPage(agent_id, tool, tag, members, size <= _MAX_PARAMETER_BYTES, secrets)


def row_of(field: Document) -> dict[str, str]:
    """Return a parameter's texts by member, with its id."""
    texts = {name: "" if field.get(name) in (None, False) else str(field[name]) for name in ("id", *PARAMETER)}
    return {**texts, "required": "on" if field.get("required") else ""}


def values_of(page: ToolPage) -> dict[str, Any]:
    """Return the values of the form by field name. A page without parameters has none of their names."""
    rows = [row_of(field) for field in page.tool.get("fields") or ()] if page.has_parameters else []
    return {**fields.values(page.members.fields, page.tool), **_named(rows)}


def _named(rows: list[dict[str, str]]) -> dict[str, str]:
    return {f"fields.{number}.{name}": text for number, row in enumerate(rows) for name, text in row.items()}


def rows_of(page: ToolPage, sent: dict[str, Any]) -> list[dict[str, str]]:
    """Return the parameters among the submitted fields. A parameter without a key is removed.

    A parameter that is new in the form has the id of the stored parameter with its key, if the form was sent before.
    """
    names = ("id", *PARAMETER, VALUE, NO_VALUE)
    named = ({name: sent.get(f"fields.{number}.{name}", "") for name in names} for number in numbers(sent))
    rows = [row for row in named if row["key"].strip() and page.has_parameters]
    ids = {row["id"] for row in rows}
    stored = {field.get("key"): field["id"] for field in page.tool.get("fields") or () if field["id"] not in ids}
    return [
        {**row, "id": row["id"] or stored.pop(row["key"], ""), "required": "on" if row["required"] else ""}
        for row in rows
    ]


def numbers(sent: dict[str, Any]) -> list[int]:
    """Return the numbers of the submitted parameters, in the order of the form."""
    return sorted(int(match[1]) for match in map(_KEY.fullmatch, sent) if match)


def empty_rows(sent: dict[str, str]) -> int:
    """Return the number of submitted parameters without a key."""
    return sum(not text.strip() for name, text in sent.items() if _KEY.fullmatch(name))


def submitted_values(page: ToolPage, sent: dict[str, str]) -> dict[str, Any]:
    """Return the values of the form, in the format that `values_of` returns, without secrets."""
    shown = [{name: row[name] for name in ("id", *PARAMETER)} for row in rows_of(page, sent)]
    return {**fields.submitted_values(page.members.fields, sent), **_named(shown)}


def run_test(session: Session, page: ToolPage, sent: dict[str, str]) -> Trial:
    """Call the tool's server with the submitted arguments, unless the URL or a parameter that it needs is missing."""
    if not page.tool.get("serverUrl"):
        return Trial(sent, wrong=(("", guard.texts(session)("test_needs_url")),))
    return tool_results.run(session, page.tool, page.needed, sent)


def show(
    session: Session,
    page: ToolPage,
    values: dict[str, Any],
    error: errors.ApiError | None = None,
    conflicts: Any = (),
    empty_rows: int = 0,
    trial: Trial | None = None,
    done: str | None = None,
) -> Response:
    """Return the page with these values, and with the submitted arguments and the result of the tool's test, if any.

    `done` is the name of the text that confirms an action.
    """
    t, rows = guard.texts(session), rows_of(page, values)
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
        rows=[*rows, *[row_of({})] * empty_rows],
        missing=tool_rules.missing_names(values.get("serverUrl", ""), rows) if page.has_parameters else [],
        secrets=page.secrets,
        test_form=_test_form(page) if page.tag and extensions.has("tool_calls") else None,
        trial=trial or Trial({}),
        done=done,
        left_out=[*page.members.left_out, *([] if page.has_parameters else ["fields"])],
        has_parameters=page.has_parameters,
        methods=[(one, one) for one in dict.fromkeys((*tool_rules.METHODS, values.get("method"))) if one],
        places=[(place, t(f"place.{place or 'default'}")) for place in tool_rules.PLACES],
        types=[(name, t(f"parameter_type.{name or 'any'}")) for name in TYPES],
    )


def _test_form(page: ToolPage) -> Document:
    """Return the members of the test's form. It has no field for a parameter with a fixed value."""
    left = [field for field in page.tool.get("fields") or () if field["id"] not in page.secrets]
    preview = tool_arguments.preview(page.tool, page.secrets)
    return {"id": page.tool["id"], "preview": preview, **tool_arguments.form_members({"fields": left})}
