"""The test of a tool: a form with a field for each parameter, and the call to the tool's server."""

import json
from contextlib import suppress
from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console import calls, guard, rights, template_filters
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.storage import Document

# The maximum number of fields in a form, and of characters in a key. Other tools' forms have one JSON field.
_MAX_PARAMETERS, _MAX_KEY, _MAX_DESCRIPTION = 20, 100, 300
_MAX_ARGUMENTS = 5_000
_FIELD = "argument."
TYPE_NAMES = {"string": "text", "integer": "number"}
"""The types that only the API accepts, with the types of the form that have their names."""
_MAX_TYPE = 30  # the maximum characters of an unknown type
# Values of these types are JSON. All other values are texts.
_JSON_TYPES = {"number", "integer", "boolean", "object", "array"}


@signed_in("/agents")
def test_tool(session: Session, agent_id: str, tool_id: str) -> Response:
    """Call a tool's server with the submitted arguments, and show the request and response."""
    tool = calls.get("/v3/tools/{tool_id}", tool_id=tool_id)["data"]
    if tool.get("agentId") != agent_id:
        raise errors.NotFound.of("tool")
    sent = guard.form()
    try:
        return _page(session, tool, sent, _test(session, tool_id, _arguments(tool, sent)))
    except errors.ApiError as error:
        return _page(session, tool, sent, error=error)


def _page(
    session: Session, tool: Document, sent: dict[str, str], tested: Any = None, error: errors.ApiError | None = None
) -> Response:
    return guard.page(
        session,
        "tool.html",
        "/agents",
        error.STATUS_CODE if error else 200,
        agent=calls.get("/v3/agents/{agent_id}", agent_id=tool["agentId"])["data"],
        tool={**tool, **form_members(tool)},
        sent=sent,
        tested=tested,
        body=_readable(tested["response"]["body"]) if tested and tested.get("response") else "",
        wrong=guard.rules(session, error) or [("", guard.explain(session, error))] if error else [],
    )


def form_members(tool: Document) -> Document:
    """Return the members of a test's form: `parameters`, which has a field each, or initial `arguments` as JSON."""
    fields = _fields(tool)
    fits = len(fields) <= _MAX_PARAMETERS and all(len(key) <= _MAX_KEY for key in fields)
    text = template_filters.indented_json(dict.fromkeys(fields, ""), _MAX_ARGUMENTS)
    return {
        "parameters": [_parameter(key, field) for key, field in fields.items()] if fits else [],
        "arguments": text if len(text) <= _MAX_ARGUMENTS else "{}",
    }


def _fields(tool: Document) -> dict[str, Document]:
    """Return a tool's fields by key."""
    fields = (field for field in tool.get("fields") or () if isinstance(field, dict))
    return {str(field["key"]): field for field in fields if field.get("key")}


def _parameter(key: str, field: Document) -> Document:
    description = template_filters.truncate(str(field.get("description") or ""), _MAX_DESCRIPTION)
    kind, required = str(field.get("type") or ""), bool(field.get("required"))
    return {
        "key": key,
        "description": description,
        "required": required,
        "type": TYPE_NAMES.get(kind, kind[:_MAX_TYPE]),
    }


def _arguments(tool: Document, sent: dict[str, str]) -> Any:
    """Return the arguments of a call: the JSON field if the form has one, otherwise all fields that are not empty."""
    if "arguments" not in sent:
        texts = {key: sent.get(f"{_FIELD}{key}", "") for key in _fields(tool)}
        return {key: _typed(text, _fields(tool)[key].get("type")) for key, text in texts.items() if text}
    try:
        return json.loads(sent["arguments"] or "{}")
    except (ValueError, RecursionError):
        raise errors.Invalid.member("arguments", "must be a JSON object") from None


def _typed(text: str, type_name: Any) -> Any:
    """Return a field's value. The API explains texts that are not of the parameter's type."""
    if type_name in _JSON_TYPES:
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text


def _test(session: Session, tool_id: str, arguments: Any) -> Any:
    """Return the result of the call, in which secrets are masked. Only operators can test a tool that has secrets."""

    def run() -> Any:
        return calls.send("POST", "/v3/tools/{tool_id}/test", {"arguments": arguments}, tool_id=tool_id)["data"]

    return run() if session.client_id else rights.with_secrets(session, run)


def _readable(body: str) -> str:
    """Return a response body, as indented JSON if it is JSON."""
    with suppress(ValueError, RecursionError):
        return template_filters.indented_json(json.loads(body))
    return body
