"""The OpenAPI 3.1 document, built from the app's routes, what `operation` notes on their views, and the models.

Nothing imports this module before somebody asks for the document: building costs some tenths of a second.
What the code does not say stands beside it as data: `members` (notes on members), `refusals` (errors),
`parameters`, and `examples`, which all run as tests.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from chalicelib.credentials import tokens
from chalicelib.http import auth, etag, idempotency
from chalicelib.http.operation import operation
from chalicelib.openapi import error_responses, members, parameters, schemas
from chalicelib.openapi.examples.shared import Example, Examples
from chalicelib.openapi.schemas import Schema
from chalicelib.openapi.text import summary_and_description, without_sections

# The version of the document. The interface's own versions are in its paths.
VERSION = "1.0.0"

_JSON = "application/json"
_ABOUT = """\
The system of record for conversational agents: their configuration, tools, conversations, analytics, leads, clients
and organisations, and webhooks that tell of their changes.

**Credentials.** Every operation takes `Authorization: Bearer <token>`; each names the kinds that open it. The
workspace key opens everything of its workspace. An agent key opens the edge routes of its own agent. An access
token opens the v3 routes until it ends; one that may only read opens `GET` only. This page and the document
itself need none.

**Answers.** v3 and v2 routes answer `{success, message, data}` with status 200, creations too; two routes answer
their object unwrapped. A list with a cursor has `nextCursor` while there is more.

**Errors** have one shape: `{success: false, message, code, issues?}`. `issues` names each broken member and its rule.
What belongs to another workspace is not found. A route or method that is not there is 404, 405, or 403 with
`INVALID`, as the gateway has it.

**Bodies** are JSON objects with the header `Content-Type: application/json`. A member that is left out stays as it is
(an analytics record replaces the last of its kind); `null` clears it, and what was cleared is left out of answers.
Unknown members are refused. Members that are read only are accepted and ignored, so that a record can be sent back as
it was read. Numbers, strings and booleans are not converted into one another.

**Two writers at once.** An answer with one record has the header `ETag`: the mark of the record's last save. Sent back
as `If-Match` with a change or a deletion, it is refused with 412 where somebody else has saved the record since, and
nothing is written. `If-None-Match: *` saves only what is not there yet; with a tag, a `GET` answers 304 where nothing
has changed. The tag is that of the record which is saved there, in both forms of an agent: an agent that is shown with
a state, for one, does not change the state's.

**Repeating a request.** A `POST` or `PATCH` with the header `Idempotency-Key` has its effect once, however often it is
sent: effect and answer are stored together or not at all. For 24 hours the same key gets the same answer, with
`Idempotency-Replayed: true`. A key that was used for another request is 409 `IDEMPOTENCY_KEY_REUSED`. A request that
was refused may be sent again with its key, changed or not.

**Conflicts.** A 409 names its cause in `code`: `STALE`, `AGENT_BEING_DELETED`, `EMAIL_TAKEN`, `KEY_TAKEN` or
`IDEMPOTENCY_KEY_REUSED`. Nothing was written.

**Times** are Unix seconds in records, Unix milliseconds in leads, webhooks and deliveries, and ISO 8601 where they
are text.
"""

_SCHEMES = {
    tokens.WORKSPACE: ("workspaceKey", "The workspace's secret API key. It opens everything of the workspace."),
    tokens.AGENT: ("agentKey", "An agent's `SECRET_API_KEY`. It opens the edge routes of that agent."),
    tokens.ACCESS: ("accessToken", "A v3 access token, see `POST /v3/tokens`. It opens the v3 routes."),
}


class _View(NamedTuple):
    """A view under its route."""

    path: str
    method: str
    function: Any
    operation: operation

    @property
    def name(self) -> str:
        name: str = self.function.__name__
        return name

    @property
    def is_guarded(self) -> bool:
        return self.path not in auth.OPEN_ROUTES

    @property
    def is_repeatable(self) -> bool:
        return self.method in idempotency.METHODS

    @property
    def tag(self) -> str:
        """The resource that the view belongs to."""
        return self.operation.tag


def build(routes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The document for the routes of an app, as `Chalice.routes` has them."""
    views = list(_views(routes))
    built = schemas.build(
        {view.name: view.operation.body for view in views if view.operation.body is not None},
        {view.name: answer for view in views if (answer := _answer_type(view.operation)) is not None},
    )
    paths: dict[str, Any] = {}
    for view in views:
        paths.setdefault(view.path, {})[view.method.lower()] = _operation(view, built)
    return {
        "openapi": "3.1.0",
        "info": {"title": "CAMS", "version": VERSION, "description": _ABOUT},
        # Where the document itself is: right on this machine, and below the stage of a gateway.
        "servers": [{"url": ".", "description": "Where this document comes from"}],
        "tags": [_tag(view) for view in {view.tag: view for view in views}.values()],
        "paths": paths,
        "components": {
            "schemas": {**built.components, **error_responses.schemas(), **parameters.SCHEMAS},
            "parameters": parameters.components(paths),
            "responses": error_responses.shared_responses(set(schemas.references(paths))),
            "securitySchemes": {
                name: {"type": "http", "scheme": "bearer", "description": words} for name, words in _SCHEMES.values()
            },
        },
    }


def _views(routes: Mapping[str, Mapping[str, Any]]) -> Iterator[_View]:
    for path, methods in routes.items():
        for method, route in methods.items():
            yield _View(path, method, route.view_function, route.view_function.operation)


def _operation(view: _View, built: schemas.Schemas) -> dict[str, Any]:
    summary, description = summary_and_description(view.function)
    possible = error_responses.statuses(
        view.path, view.operation, guarded=view.is_guarded, repeatable=view.is_repeatable
    )
    described: dict[str, Any] = {"operationId": view.name, "tags": [view.tag], "summary": summary}
    if description:
        described["description"] = description
    headers = (*view.operation.headers, *((idempotency.HEADER,) if view.is_repeatable else ()))
    described |= parameters.references(view.path, view.operation.query, headers)
    if view.operation.body is not None:
        described["requestBody"] = _request_body(view, built)
    described["responses"] = {
        "200": _success(view, built),
        **_unchanged(view),
        **error_responses.responses(view.path, possible, view.operation, repeatable=view.is_repeatable),
    }
    return {**described, "security": _security(view)}


def _security(view: _View) -> list[dict[str, list[str]]]:
    """The kinds of credential that open the route, any of them: `auth.ACCEPTED`, by its first prefix."""
    if not view.is_guarded:
        return []
    accepted = auth.credentials_for(view.path)
    return [{name: []} for kind, (name, _) in _SCHEMES.items() if kind in accepted]


def _examples_of(declared: operation) -> Examples:
    if declared.examples is None:
        return {}
    page, _, name = declared.examples.partition(".")
    found: Examples = getattr(import_module(f"chalicelib.openapi.examples.{page}"), name)
    return found


def _request_body(view: _View, built: schemas.Schemas) -> dict[str, Any]:
    shown = {key: one for key, one in _examples_of(view.operation).items() if one.request is not None}
    content = {"schema": built.bodies[view.name], **_examples({key: (one, one.request) for key, one in shown.items()})}
    return {"required": not view.operation.body_optional, "content": {_JSON: content}}


def _success(view: _View, built: schemas.Schemas) -> dict[str, Any]:
    schema = dict(built.answers.get(view.name, {}))
    media = schema.pop("contentMediaType", _JSON)
    if view.operation.whole is None:
        schema = _envelope(view, schema)
    elif view.operation.always:
        schema = _requiring(schema, view.operation.always)
    shown = _examples_of(view.operation)
    content = {"schema": schema, **_examples({key: (one, one.answer) for key, one in shown.items()})}
    return {"description": "Success.", **_headers(view), "content": {media: content}}


def _headers(view: _View) -> Schema:
    """The headers of an answer: the tag of the one record in it, and what says that it was given before."""
    is_one = view.operation.creates or (view.operation.headers and view.method != "DELETE")
    headers = {**(parameters.ETAG if is_one else {}), **(parameters.REPLAYED if view.is_repeatable else {})}
    return {"headers": headers} if headers else {}


def _unchanged(view: _View) -> dict[str, Schema]:
    """What a read answers to whoever has the record as it is."""
    if view.method != "GET" or etag.IF_NONE_MATCH not in view.operation.headers:
        return {}
    words = f"The record is what `{etag.IF_NONE_MATCH}` names. There is no body."
    return {"304": {"description": words, "headers": parameters.ETAG}}


def _envelope(view: _View, data: Schema) -> Schema:
    """The success envelope around `data`; without it where the operation answers none."""
    properties: Schema = {"success": {"type": "boolean", "const": True}, "message": {"type": "string"}}
    if data:
        properties["data"] = _whole(view, data)
    required = list(properties)
    if "cursor" in view.operation.query:
        properties["nextCursor"] = {
            "type": "string",
            "description": "Where the list goes on; only while there is more.",
        }
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _whole(view: _View, data: Schema) -> Schema:
    """The schema of `data` with the members that an answer always has."""
    if "items" in data:
        return {**data, "items": _whole(view, data["items"])}
    always = members.ALWAYS_ANSWERED.get(data["$ref"].rpartition("/")[2], ())
    return _requiring(data, (*always, *view.operation.always))


def _requiring(schema: Schema, names: tuple[str, ...]) -> Schema:
    return {"allOf": [schema, {"required": list(names)}]} if names else schema


def _examples(values: Mapping[str, tuple[Example, Any]]) -> dict[str, Any]:
    shown = {key: {"summary": one.summary, "value": value} for key, (one, value) in values.items()}
    return {"examples": shown} if shown else {}


def _answer_type(operation: operation) -> Any:
    return operation.data if operation.whole is None else operation.whole


def _tag(view: _View) -> dict[str, str]:
    package = import_module(f"chalicelib.{view.tag}")
    return {"name": view.tag, "description": without_sections(package.__doc__ or "")}
