"""The test of a tool: the call to the tool's server, and its result as a page shows it."""

import json
import shlex
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, NamedTuple

from chalicelib import errors
from chalicelib.extensions.console.access import calls, guard, rights
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.agent_pages import tool_arguments
from chalicelib.extensions.console.presentation import template_filters
from chalicelib.extensions.console.presentation.rendering import Texts
from chalicelib.storage import Document

# The maximum numbers of characters of a response's body, and of every other text of a result.
_MAX_BODY, _MAX_TEXT = 20_000, 8_000
_MAX_NAMED, _MAX_NAME = 10, 100  # the parameters that a sentence names, and the characters of each
_ARGUMENT = "arguments."  # the beginning of an argument's path
_KILOBYTE = 1_000
# The names of the explanations of single statuses. All others have one for their first digit.
_EXPLAINED = {401: "401", 403: "401", 404: "404", 405: "405"}


class Trial(NamedTuple):
    """A test with the submitted fields: the call's result, or what is wrong with its arguments.

    `wrong` contains pairs of a path and a rule. `marked` contains the parameters that need a value, or another value.
    """

    sent: dict[str, str]
    result: Document | None = None
    wrong: tuple[tuple[str, str], ...] = ()
    marked: tuple[str, ...] = ()
    status: int = 200


def run(session: Session, tool: Document, needed: Iterable[str], sent: dict[str, str]) -> Trial:
    """Call a tool's server with the submitted arguments, unless a parameter that the call needs is missing."""
    try:
        arguments = tool_arguments.read(tool, sent)
        if marked := [key for key in needed if isinstance(arguments, dict) and key not in arguments]:
            return Trial(sent, wrong=(("", _ask(session, marked)),), marked=tuple(marked))
        tested = _call(session, tool["id"], arguments)
    except errors.ApiError as error:
        wrong = guard.rules(session, error) or [("", guard.explain(session, error))]
        return Trial(sent, wrong=tuple(wrong), marked=_keys(wrong), status=error.STATUS_CODE)
    return Trial(sent, _rendered(tested, guard.texts(session)))


def _keys(wrong: list[tuple[str, str]]) -> tuple[str, ...]:
    """Return the parameters whose arguments are wrong."""
    return tuple(path.removeprefix(_ARGUMENT) for path, _ in wrong if path.startswith(_ARGUMENT))


def _ask(session: Session, keys: list[str]) -> str:
    names = ", ".join(template_filters.truncate(key, _MAX_NAME) for key in keys[:_MAX_NAMED])
    return guard.texts(session)("test_needs", names=names)


def _call(session: Session, tool_id: str, arguments: Any) -> Any:
    """Return the result of the call, in which secrets are masked. Only operators can test a tool that has secrets."""

    def run() -> Any:
        return calls.send("POST", "/v3/tools/{tool_id}/test", {"arguments": arguments}, tool_id=tool_id)["data"]

    return run() if session.client_id else rights.with_secrets(session, run)


def _rendered(tested: Any, t: Texts) -> Document:
    """Return a result's texts. Without a response, the status is empty."""
    response = tested.get("response") or {"status": 0, "headers": {}, "body": "", "isTruncated": False}
    status, text = response["status"], indented(response["body"])
    body = response["body"] if text is None else text
    return {
        "status": f"{status} {_phrase(status)}".rstrip() if status else "",
        "is_good": 200 <= status < 300 and not tested["error"],
        "step": _step(status),
        "error": tested["error"],
        "milliseconds": tested["durationMs"],
        "size": _size(response, t),
        "body": body[:_MAX_BODY],
        "is_json": text is not None,
        "is_base64": bool(response.get("isBase64")),
        "is_truncated": response["isTruncated"] or len(body) > _MAX_BODY,
        "headers": _lines(response["headers"]),
        "request": _request(tested["request"]),
        "curl": _curl(tested["request"]),
    }


def indented(body: str) -> str | None:
    """Return a body as indented JSON, or None if it is not JSON."""
    with suppress(ValueError, RecursionError):
        return template_filters.indented_json(json.loads(body))
    return None


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""


def _step(status: int) -> str:
    """Return the name of the text that explains a status, or an empty string for a success."""
    if status in _EXPLAINED:
        return _EXPLAINED[status]
    return "" if 200 <= status < 300 else f"{status // 100}xx" if status else "unreachable"


def _size(response: Document, t: Texts) -> str:
    """Return the size of a response's body, at most the part that the API returns."""
    body = response["body"]
    size = len(body) * 3 // 4 if response.get("isBase64") else len(body.encode())
    if size < _KILOBYTE:
        return t("size.bytes", number=size)
    return t("size.kilobytes", number=template_filters.number(round(size / _KILOBYTE, 1), t))


def _lines(headers: dict[str, str]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in headers.items())[:_MAX_TEXT]


def _request(request: Document) -> str:
    """Return the request as HTTP text, with a body as indented JSON."""
    head = f"{request['method']} {request['url']}\n{_lines(request['headers'])}".rstrip()
    body = request.get("body")
    return (head if body is None else f"{head}\n\n{indented(body) or body}")[:_MAX_TEXT]


def _curl(request: Document) -> str:
    """Return the request as a cURL command, in which secrets are masked, or an empty string if it is too long."""
    headers = [f"{name}: {value}" for name, value in request["headers"].items()]
    parts = [
        f"curl -X {request['method']} {shlex.quote(request['url'])}",
        *(f"-H {shlex.quote(one)}" for one in headers),
    ]
    if (body := request.get("body")) is not None:
        parts += ["-H 'Content-Type: application/json'", f"--data {shlex.quote(body)}"]
    command = " \\\n  ".join(parts)
    return command if len(command) <= _MAX_TEXT else ""
