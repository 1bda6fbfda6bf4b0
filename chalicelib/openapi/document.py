"""The OpenAPI 3.1 document, built from the app's routes, the `@operation` declarations of the views, and the models.

Building takes some tenths of a second, so this module is imported by the first request for the document. Data that
the code does not contain is in `members`, `error_responses`, `parameters` and `examples`. Tests run all examples.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from chalicelib import __version__
from chalicelib.credentials import scopes, tokens
from chalicelib.http import auth, etag, idempotency
from chalicelib.http.operation import operation
from chalicelib.openapi import error_responses, members, parameters, schemas
from chalicelib.openapi.examples.shared import Example, Examples
from chalicelib.openapi.schemas import Schema
from chalicelib.openapi.text import summary_and_description, without_sections

_JSON = "application/json"
_ABOUT = """\
CAMS is the system of record for conversational agents. It stores their configuration, tools, conversations,
analytics, leads, clients and organisations, and sends webhooks when they change.

**Authentication.** Send `Authorization: Bearer <token>` with every request. Each operation lists the credentials that
it accepts. The workspace key opens all routes of its workspace. An agent key opens the edge routes of its own agent.
An access token opens the v3 routes until it expires; with `scopes`, only those of its scopes, which each operation
names. `readOnly` stands for all read scopes. This page and the document are public.

**Secrets.** A member with `x-secret` carries a key, a token or a password. An access token with `scopes` or `readOnly`
is not shown it, but can write it. Only the workspace key sets `SECRET_API_KEY`, and an agent key does not see it.
`warnings` tells an access token what remains in effect after it ends: an agent key, a webhook, its `signingSecret`.

**Responses.** Success is status 200, also for creations, with the envelope `{success, message, data}`. Two routes
return their object without envelope. A list has `nextCursor` until the last page: send it as `cursor` to get the next
page.

**Errors** share one envelope: `{success: false, message, code, issues?}`. `issues` lists each invalid member with its
rule. Records of other workspaces give 404. An unknown route or method gives 404 or 405, or 403 with `INVALID` if the
gateway rejects it.

**Bodies** are JSON objects with the header `Content-Type: application/json`. Members that you leave out keep their
values; `null` clears a member, and responses omit cleared members. An analytics record replaces the previous record
of its kind. Unknown members are rejected. Read-only members are accepted and ignored, so you can send back a record
as you read it. Numbers, strings and booleans are never converted.

**Concurrent changes.** A response with one record has the header `ETag`, which changes with each save of the record.
Send the ETag back as `If-Match`; if the record has changed since, the write fails with 412 and changes nothing.
`If-None-Match: *` creates a record only if it does not exist. A `GET` with the ETag in `If-None-Match` gives 304 if
the record has not changed. Both forms of an agent have the same ETag. With tools, the ETag of the v3 form has a second
part, which changes with the tools; `If-Match` ignores it. The ETag of a state belongs to the conversation alone, so a
change of its agent does not change it.

**Retries.** A `POST` or `PATCH` with the header `Idempotency-Key` takes effect once. If you get no response, send the
same request again with the same key: for 24 hours you get the same response, with `Idempotency-Replayed: true`. Use a
key for one request only; another request with the same key gives 409 `IDEMPOTENCY_KEY_REUSED`. A failed request does
not use up its key: correct the request and send it again with the same key.

**Conflicts.** The `code` of a 409 names the cause: `STALE`, `AGENT_BEING_DELETED`, `EMAIL_TAKEN`, `KEY_TAKEN` or
`IDEMPOTENCY_KEY_REUSED`. Nothing was written.

**Times** are Unix seconds in records, Unix milliseconds in leads, webhooks and deliveries, and ISO 8601 in members of
type string.
"""

_SCHEMES = {
    tokens.WORKSPACE: ("workspaceKey", "The secret API key of the workspace. It opens all routes."),
    tokens.AGENT: ("agentKey", "The `SECRET_API_KEY` of an agent. It opens the edge routes of that agent."),
    tokens.ACCESS: ("accessToken", "A v3 access token from `POST /v3/tokens`. It opens the v3 routes."),
}


class _View(NamedTuple):
    """A view and its route."""

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
        """The resource of the view."""
        return self.operation.tag


def build(routes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The OpenAPI document of an app. `routes` has the form of `Chalice.routes`."""
    views = list(_views(routes))
    built = schemas.build(
        {view.name: view.operation.body for view in views if view.operation.body is not None},
        {view.name: answer for view in views if (answer := _response_type(view.operation)) is not None},
    )
    paths: dict[str, Any] = {}
    for view in views:
        paths.setdefault(view.path, {})[view.method.lower()] = _operation(view, built)
    return {
        "openapi": "3.1.0",
        "info": {"title": "CAMS", "version": __version__, "description": _ABOUT},
        # Relative to the document, so it is correct on localhost and below the stage of a gateway.
        "servers": [{"url": ".", "description": "The server of this document"}],
        "tags": [_tag(view) for view in {view.tag: view for view in views}.values()],
        "paths": paths,
        "components": {
            "schemas": {**built.components, **error_responses.schemas(), **parameters.SCHEMAS},
            "parameters": parameters.components(paths),
            "responses": error_responses.shared_responses(set(schemas.references(paths))),
            "securitySchemes": {
                name: {"type": "http", "scheme": "bearer", "description": text} for name, text in _SCHEMES.values()
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
    if tokens.ACCESS in auth.credentials_for(view.path):
        description = f"{description}\n\nScope: `{scopes.needed(view.tag, view.method)}`.".strip()
    if description:
        described["description"] = description
    headers = (*view.operation.headers, *((idempotency.HEADER,) if view.is_repeatable else ()))
    described |= parameters.references(view.path, view.operation.query, headers)
    if view.operation.body is not None:
        described["requestBody"] = _request_body(view, built)
    described["responses"] = {
        "200": _success(view, built),
        **_not_modified(view),
        **error_responses.responses(view.path, possible, view.operation, repeatable=view.is_repeatable),
    }
    return {**described, "security": _security(view)}


def _security(view: _View) -> list[dict[str, list[str]]]:
    """The credentials that the route accepts, as alternatives (`auth.ROUTE_CREDENTIALS`)."""
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
    examples = {key: one for key, one in _examples_of(view.operation).items() if one.request is not None}
    content = {
        "schema": built.bodies[view.name],
        **_examples({key: (one, one.request) for key, one in examples.items()}),
    }
    limits = f"At most {view.operation.max_bytes:,} bytes, and {view.operation.max_values:,} members and elements."
    return {"description": limits, "required": not view.operation.body_optional, "content": {_JSON: content}}


def _success(view: _View, built: schemas.Schemas) -> dict[str, Any]:
    schema = dict(built.answers.get(view.name, {}))
    media = schema.pop("contentMediaType", _JSON)
    if view.operation.whole is None:
        schema = _envelope(view, schema)
    elif view.operation.always:
        schema = _require(schema, view.operation.always)
    examples = _examples_of(view.operation)
    content = {"schema": schema, **_examples({key: (one, one.answer) for key, one in examples.items()})}
    return {"description": "Success.", **_headers(view), "content": {media: content}}


def _headers(view: _View) -> Schema:
    """The headers of a success: `ETag` if it has one record, and `Idempotency-Replayed` if it can be a replay."""
    has_record = view.operation.creates or (view.operation.headers and view.method != "DELETE")
    headers = {**(parameters.ETAG if has_record else {}), **(parameters.REPLAYED if view.is_repeatable else {})}
    return {"headers": headers} if headers else {}


def _not_modified(view: _View) -> dict[str, Schema]:
    """The 304 response of a read that accepts `If-None-Match`."""
    if view.method != "GET" or etag.IF_NONE_MATCH not in view.operation.headers:
        return {}
    description = f"The record has the ETag in `{etag.IF_NONE_MATCH}`. The response has no body."
    return {"304": {"description": description, "headers": parameters.ETAG}}


def _envelope(view: _View, data: Schema) -> Schema:
    """The schema of the success envelope, without `data` if the operation returns none."""
    properties: Schema = {"success": {"type": "boolean", "const": True}, "message": {"type": "string"}}
    if data:
        properties["data"] = _with_required(view, data)
    required = list(properties)
    if "cursor" in view.operation.query:
        properties["nextCursor"] = {
            "type": "string",
            "description": "The `cursor` of the next page; absent on the last page.",
        }
    if view.operation.warns:
        properties["warnings"] = {
            "type": "array",
            "items": error_responses.ISSUE,
            "description": "Members that were not applied, or that outlive the access token. Absent if there are none.",
        }
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _with_required(view: _View, data: Schema) -> Schema:
    """The schema of `data`, with the members that a response always has as required."""
    if "items" in data:
        return {**data, "items": _with_required(view, data["items"])}
    always = members.ALWAYS_PRESENT.get(data["$ref"].rpartition("/")[2], ())
    return _require(data, (*always, *view.operation.always))


def _require(schema: Schema, names: tuple[str, ...]) -> Schema:
    return {"allOf": [schema, {"required": list(names)}]} if names else schema


def _examples(values: Mapping[str, tuple[Example, Any]]) -> dict[str, Any]:
    examples = {key: {"summary": one.summary, "value": value} for key, (one, value) in values.items()}
    return {"examples": examples} if examples else {}


def _response_type(operation: operation) -> Any:
    return operation.data if operation.whole is None else operation.whole


def _tag(view: _View) -> dict[str, str]:
    package = import_module(f"chalicelib.{view.tag}")
    return {"name": view.tag, "description": without_sections(package.__doc__ or "")}
