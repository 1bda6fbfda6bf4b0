"""Which errors an operation can answer with, and what they look like.

They follow from its declaration (`http.operation`); a test drives every operation into every one of them.
"""

from typing import Any, get_origin

from chalicelib import errors
from chalicelib.agents.store import AgentBeingDeleted, KeyTaken
from chalicelib.clients.store import EmailTaken
from chalicelib.http import etag, idempotency
from chalicelib.http.operation import operation
from chalicelib.openapi.schemas import Schema, reference
from chalicelib.openapi.text import public

# One component for each status, of the class that `errors` names first; the base class is what nobody has foreseen.
_ALL: list[type[errors.ApiError]] = [*errors.ApiError.__subclasses__(), errors.ApiError]
_CLASSES = {one.STATUS_CODE: one for one in reversed(_ALL)}
_TEXT = {"schema": {"type": "string"}}
_HEADERS = {
    401: {"WWW-Authenticate": {"description": "`Bearer`.", "required": True, **_TEXT}},
    503: {"Retry-After": {"description": "Seconds to wait.", "required": True, **_TEXT}},
}
_FORMS = ("Error", "InteractionError")
# Codes of the framework and of the gateway (infra/deploy/answers.py), which no operation answers with itself.
_OF_OTHERS = frozenset({"METHOD_NOT_ALLOWED", "THROTTLED"})
# The causes of a 409, each with a code of its own.
_CONFLICTS = (errors.Stale, AgentBeingDeleted, EmailTaken, KeyTaken, idempotency.KeyReused)

_IDENTIFIER = "must be 1 to 128 of the characters A-Z a-z 0-9 . _ ~ @ : + = , | -"


def _refused(code: str, message: str) -> dict[str, Any]:
    """An error as it is answered."""
    return {"success": False, "message": message, "code": code}


def _invalid(path: str, rule: str) -> dict[str, Any]:
    """The error for one member."""
    return {**_refused("INVALID", f"{path} {rule}."), "issues": [{"path": path, "message": rule}]}


def _interaction(refused: dict[str, Any], platform: str | None = None) -> dict[str, Any]:
    """The same on the interaction route; with the platform where the agent is known by then."""
    known = {"platformName": platform} if platform else {}
    return {**refused, "appError": refused["message"], **known}


_ID = _invalid("agent_id", _IDENTIFIER)
_TOOL = _invalid("tool.name", "must be a string")
_TURNS = _invalid("turns", "must be an array")
_UNAUTHORIZED = _refused("UNAUTHORIZED", "A valid bearer token is required.")
_FORBIDDEN = _refused("FORBIDDEN", "This credential does not open this route.")
_NOT_FOUND = _refused("NOT_FOUND", "There is no such agent.")
_STALE = _refused(errors.Stale.code, errors.Stale.sentence)
_REUSED = _refused(idempotency.KeyReused.code, idempotency.KeyReused.sentence)
_CHANGED = _refused("PRECONDITION_FAILED", "If-Match does not name the record as it is now; read it and try again.")
_RECORD = _refused("TOO_LARGE", "The record is too large to store.")
_METADATA = _refused("TOO_LARGE", "metadata must be at most 64,000 bytes of JSON, and 32,000 bytes compressed.")
_MEDIA_TYPE = _refused(
    "UNSUPPORTED_MEDIA_TYPE", "Send the body as JSON with the header Content-Type: application/json."
)
_MOST = {
    **_refused("LIMIT_REACHED", "A workspace may have 50 webhooks; delete one first."),
    "limit": {"name": "webhooks", "max": 50, "used": 50, "left": 0},
}
_LIMIT = {
    **_refused("LIMIT_REACHED", "messagesLimit of the agent is 1; 0 are used and this would make 2."),
    "limit": {"name": "messagesLimit", "max": 1, "used": 0, "left": 1},
}
_FAILED = _refused("INTERNAL", "The service failed to answer; nothing is known to have changed.")
_UNAVAILABLE = _refused("UNAVAILABLE", "The database does not answer; try again.")

_LIMIT_SCHEMA: Schema = {
    "type": "object",
    "description": "The limit that is reached (429), and how much of it was used and left before the request.",
    "properties": {
        "name": {"type": "string", "description": "The member of the agent record, or `webhooks`."},
        **{name: {"type": "number"} for name in ("max", "used", "left")},
    },
    "required": ["name", "max", "used", "left"],
    "additionalProperties": False,
}

# By the form of the error, its status and a name. A test provokes them all.
EXAMPLES: dict[str, dict[int, dict[str, dict[str, Any]]]] = {
    "Error": {
        400: {"path": _ID, "body": _TOOL},
        401: {"token": _UNAUTHORIZED},
        403: {"credential": _FORBIDDEN},
        404: {"unknown": _NOT_FOUND},
        409: {
            "stale": _STALE,
            "deleting": _refused(AgentBeingDeleted.code, AgentBeingDeleted.sentence),
            "email": _refused(EmailTaken.code, EmailTaken.sentence),
            "login": _refused(KeyTaken.code, KeyTaken.sentence),
            "key": _REUSED,
        },
        412: {"changed": _CHANGED},
        413: {"record": _RECORD},
        415: {"text": _MEDIA_TYPE},
        429: {"limit": _MOST},
        500: {"failed": _FAILED},
        503: {"busy": _UNAVAILABLE},
    },
    "InteractionError": {
        400: {"path": _interaction(_ID), "body": _interaction(_TURNS)},
        401: {"token": _interaction(_UNAUTHORIZED)},
        403: {"credential": _interaction(_FORBIDDEN)},
        404: {"unknown": _interaction(_NOT_FOUND)},
        409: {"stale": _interaction(_STALE, "vg"), "key": _interaction(_REUSED)},
        412: {"changed": _interaction(_CHANGED, "vg")},
        413: {"metadata": _interaction(_METADATA, "vg")},
        415: {"text": _interaction(_MEDIA_TYPE)},
        429: {"limit": _interaction(_LIMIT, "vg")},
        500: {"failed": _interaction(_FAILED)},
        503: {"busy": _interaction(_UNAVAILABLE)},
    },
}


def statuses(path: str, declared: operation, *, guarded: bool, repeatable: bool) -> list[int]:
    """The error statuses of an operation; a method that a route does not have (405) is no operation."""
    takes_body = declared.body is not None
    possible = {
        400: takes_body or "{" in path or bool(declared.query),
        401: guarded,
        403: guarded,
        409: repeatable,
        412: etag.IF_MATCH in declared.headers,
        413: get_origin(declared.data) is list,
        415: takes_body,
        500: guarded,
        503: guarded,
    }
    derived = {status for status, can_be in possible.items() if can_be}
    return sorted(derived | {error.STATUS_CODE for error in declared.raises})


def responses(path: str, possible: list[int], declared: operation, *, repeatable: bool) -> dict[str, Schema]:
    """The error answers of an operation: references to the shared ones, and for a conflict the causes of this one."""
    form = _FORMS[_is_interaction(path)]
    answers = {str(status): {"$ref": f"#/components/responses/{_name(form, status)}"} for status in possible}
    if "409" in answers:
        causes = [one for one in _CONFLICTS if one in declared.raises or (repeatable and one is idempotency.KeyReused)]
        answers["409"]["description"] = " ".join(f"`{one.code}`: {one.sentence}" for one in causes)
    return answers


def shared_responses(used: set[str]) -> dict[str, Schema]:
    """The components that `responses` refers to, those that are used."""
    made = {_name(form, status): _response(form, status) for form in _FORMS for status in sorted(_CLASSES)}
    return {name: response for name, response in made.items() if f"#/components/responses/{name}" in used}


def schemas() -> dict[str, Schema]:
    """The two forms of the error envelope."""
    codes = sorted(
        {one.code for one in _CLASSES.values()} | _OF_OTHERS | {one.code for one in _CONFLICTS} - {errors.Conflict.code}
    )
    error = {
        "description": "The one shape of every error. Values that were sent are never repeated in it.",
        "type": "object",
        "properties": {
            "success": {"type": "boolean", "const": False},
            "message": {"type": "string", "description": "A sentence for people."},
            "code": {
                "type": "string",
                "description": "For programs. Known: " + ", ".join(f"`{code}`" for code in codes) + ".",
                "examples": codes,
            },
            "issues": {
                "type": "array",
                "description": "The rules that the request breaks.",
                "items": {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string", "description": "The member, dotted."},
                        "message": {"type": "string", "description": "The rule."},
                    },
                    "required": ["path", "message"],
                    "additionalProperties": False,
                },
            },
            "limit": _LIMIT_SCHEMA,
        },
        "required": ["success", "message", "code"],
        "additionalProperties": False,
    }
    own = {
        "appError": {"type": "string", "description": "The same sentence as `message`."},
        "platformName": {
            "type": "string",
            "enum": ["vf", "vg"],
            "description": "The agent's platform, once the agent is known.",
        },
    }
    interaction = {
        **error,
        "description": "The error shape of the interaction route: two members more.",
        "properties": {**error["properties"], **own},  # type: ignore[dict-item]
        "required": ["success", "message", "code", "appError"],
    }
    return {"Error": error, "InteractionError": interaction}


def _response(form: str, status: int) -> Schema:
    cls = _CLASSES[status]
    content: Schema = {"schema": reference(form)}
    if shown := EXAMPLES[form].get(status):
        content["examples"] = {name: {"value": value} for name, value in shown.items()}
    words = cls.sentence if cls is errors.ApiError else public(cls.__doc__ or "")
    headers = {"headers": _HEADERS[status]} if status in _HEADERS else {}
    return {"description": words, **headers, "content": {"application/json": content}}


def _name(form: str, status: int) -> str:
    cls = _CLASSES[status]
    plain = "Failed" if cls is errors.ApiError else cls.__name__
    return plain if form == "Error" else f"Interaction{plain}"


def _is_interaction(path: str) -> bool:
    return path.endswith("/state")
