"""Builds the OpenAPI 3.1 document from the app's routes, the views' `@Operation` declarations, and the models.

Building takes a few tenths of a second, so this module is imported by the first request for the document. Data that
cannot be derived from the code is in `components.json`, `members.json` and `examples.json`. Tests run all examples.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from chalicelib import __version__
from chalicelib.credentials import tokens
from chalicelib.http import auth, etag, idempotency
from chalicelib.http.operation import Operation
from chalicelib.openapi import error_responses, events, examples, parameters, schemas
from chalicelib.openapi.examples import Example
from chalicelib.openapi.schemas import COMPONENTS, Schema, reference
from chalicelib.openapi.text import summary_and_description, without_sections

_JSON = "application/json"
_CREDENTIALS = {
    tokens.WORKSPACE: "workspace key",
    tokens.AGENT: "agent key (`SECRET_API_KEY`)",
    tokens.ACCESS: "access token",
    tokens.VISITOR: "visitor token for the conversation",
}


class _View(NamedTuple):
    """A view and its route."""

    path: str
    method: str
    function: Any
    operation: Operation

    @property
    def name(self) -> str:
        name: str = self.function.__name__
        return name

    @property
    def is_repeatable(self) -> bool:
        return self.method in idempotency.METHODS

    @property
    def tag(self) -> str:
        """The view's group in the document: its resource, or its extension."""
        extension = self.operation.extension
        return f"extension: {extension}" if extension else self.operation.tag

    @property
    def package(self) -> str:
        """The package whose docstring describes the group."""
        extension = self.operation.extension
        return f"chalicelib.extensions.{extension}" if extension else f"chalicelib.{self.operation.tag}"


def build(routes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return an app's OpenAPI document. `routes` is in the same format as `Chalice.routes`."""
    views = list(_views(routes))
    types = {(view.name, place): view.operation.resolve(name) for view in views for place, name in _types(view)}
    all_schemas = schemas.build({key: type_ for key, type_ in types.items() if type_ is not None})
    by_tag = {view.tag: view for view in views}
    tags = sorted(map(_tag, by_tag.values()), key=lambda tag: "x-extension" in tag)
    paths: dict[str, Any] = {}
    for view in views:
        paths.setdefault(view.path, {})[view.method.lower()] = _operation(view, all_schemas)
    return {
        **COMPONENTS["document"],
        "info": {**COMPONENTS["document"]["info"], "version": __version__},
        "tags": tags,
        "x-tagGroups": [
            {"name": "Core", "tags": [one["name"] for one in tags if "x-extension" not in one]},
            {"name": "Extensions", "tags": [one["name"] for one in tags if "x-extension" in one]},
        ],
        "paths": paths,
        "webhooks": events.webhooks(),
        "components": {
            "schemas": {
                **all_schemas.components,
                **_envelopes(views, all_schemas),
                **error_responses.schemas(view.operation for view in views),
                **parameters.SCHEMAS,
                **events.SCHEMAS,
            },
            "parameters": {**parameters.components(paths), **events.PARAMETERS},
            "responses": error_responses.shared_responses(set(schemas.references(paths))),
            "securitySchemes": COMPONENTS["securitySchemes"],
        },
    }


def _types(view: _View) -> tuple[tuple[str, str | None], ...]:
    """Return the type names of a view's body and response."""
    return ("body", view.operation.body), ("response", view.operation.bare or view.operation.data)


def _views(routes: Mapping[str, Mapping[str, Any]]) -> Iterator[_View]:
    """Yield the API's views, except those that need no credential, such as the documentation."""
    for path, methods in routes.items():
        if auth.is_open(path):
            continue
        for method, route in methods.items():
            yield _View(path, method, route.view_function, route.view_function.operation)


def _operation(view: _View, all_schemas: schemas.Schemas) -> dict[str, Any]:
    summary, description = summary_and_description(view.function)
    statuses = error_responses.statuses(view.operation, repeatable=view.is_repeatable)
    entry: dict[str, Any] = {"operationId": view.name, "tags": [view.tag], "summary": summary}
    entry |= {"x-extension": view.operation.extension} if view.operation.extension else {}
    entry["description"] = "\n\n".join(filter(None, (description, _opened_by(view))))
    headers = (*view.operation.headers, *((idempotency.HEADER,) if view.is_repeatable else ()))
    entry |= parameters.references(view.path, _query(view.operation), headers)
    if view.operation.body is not None:
        entry["requestBody"] = _request_body(view, all_schemas)
    entry["responses"] = {
        "200": _success(view, all_schemas),
        **({"201": _success(view, all_schemas)} if view.operation.upserts else {}),
        **_not_modified(view),
        **error_responses.responses(view.path, statuses, view.operation, repeatable=view.is_repeatable),
    }
    return entry


def _query(operation: Operation) -> tuple[str, ...]:
    """Return the component names of the query parameters."""
    names = {name: f"required{name.capitalize()}" for name in operation.requires}
    in_extension = {name: f"{operation.extension}{name.removesuffix('[]').capitalize()}" for name in operation.query}
    names |= {name: component for name, component in in_extension.items() if component in parameters.QUERY}
    names |= {"limit": "messageLimit" if "order" in operation.query else "boundedLimit"} if operation.bounded else {}
    names |= {"limit": "searchLimit"} if "sortBy" in operation.query else {}
    names |= {"page": "firstPage"} if {"page", "inbox"} <= {*operation.query} else {}
    names |= {"cursor": "sortedCursor" if "sort" in operation.query else parameters.CURSORS[operation.position]}
    return tuple(names.get(name, name) for name in operation.query)


def _opened_by(view: _View) -> str:
    """Return a sentence that lists the credentials that the route accepts, and the scope that an access token needs."""
    accepted = auth.credentials_for(view.path)
    scope = f" with the scope `{view.operation.scope(view.method)}`" if tokens.ACCESS in accepted else ""
    return f"Credentials: {' or '.join(name for kind, name in _CREDENTIALS.items() if kind in accepted)}{scope}."


def _request_body(view: _View, all_schemas: schemas.Schemas) -> dict[str, Any]:
    requests = {key: (one, one.request) for key, one in examples.of(view.name).items() if one.request is not None}
    content = {"schema": all_schemas.by_key[view.name, "body"], **_examples(requests)}
    limits = f"At most {view.operation.max_bytes:,} bytes and {view.operation.max_values:,} members and elements."
    return {"description": limits, "required": not view.operation.body_optional, "content": {_JSON: content}}


def _success(view: _View, all_schemas: schemas.Schemas) -> dict[str, Any]:
    files = {media: {"schema": {"type": "string"}} for media in view.operation.files}
    if files and view.operation.data is None:
        return {"description": "Success.", "headers": _response_headers("Link"), "content": files}
    is_bare = view.operation.bare is not None
    schema = all_schemas.by_key[view.name, "response"] if is_bare else reference(_envelope_name(view, all_schemas))
    answers = {key: (one, one.answer) for key, one in examples.of(view.name).items()}
    content = {"schema": schema, **_examples(answers)}
    return {"description": "Success.", **_headers(view), "content": {_JSON: content, **files}}


def _headers(view: _View) -> Schema:
    """Return a successful response's headers: `ETag`, `Idempotency-Replayed`, and the file headers."""
    has_record = view.operation.creates or (view.operation.headers and view.method != "DELETE")
    names = ["ETag"] if has_record else []
    names += [idempotency.REPLAYED] if view.is_repeatable else []
    names += ["Link"] if view.operation.files and view.operation.bounded else []
    names += ["Warning"] if view.operation.files and view.operation.warns else []
    return {"headers": _response_headers(*names)} if names else {}


def _response_headers(*names: str) -> Schema:
    return {name: COMPONENTS["headers"][name] for name in names}


def _not_modified(view: _View) -> dict[str, Schema]:
    """Return the 304 response for a read that accepts `If-None-Match`."""
    if view.method != "GET" or etag.IF_NONE_MATCH not in view.operation.headers:
        return {}
    description = f"The record still has the ETag in `{etag.IF_NONE_MATCH}`. The response has no body."
    return {"304": {"description": description, "headers": _response_headers("ETag")}}


def _envelopes(views: list[_View], all_schemas: schemas.Schemas) -> dict[str, Schema]:
    """Return the success envelopes by name. Operations with the same data share an envelope."""
    views_by_name: dict[str, list[_View]] = {}
    for view in views:
        if view.operation.bare is None and (view.operation.data is not None or not view.operation.files):
            views_by_name.setdefault(_envelope_name(view, all_schemas), []).append(view)
    return {name: _envelope(views_by_name[name], all_schemas) for name in sorted(views_by_name)}


def _envelope_name(view: _View, all_schemas: schemas.Schemas) -> str:
    """Return `ToolAnswer` for a `Tool`, `ToolListAnswer` or (bounded) `ToolPageAnswer` for a list, or `EmptyAnswer`."""
    data = all_schemas.by_key.get((view.name, "response"))
    if data is None:
        return "EmptyAnswer"
    of_list = "PageAnswer" if view.operation.bounded else "ListAnswer"
    form = of_list if "items" in data else "Answer"
    path: str = data.get("items", data)["$ref"]
    return path.rpartition("/")[2] + form


def _envelope(views: list[_View], all_schemas: schemas.Schemas) -> Schema:
    """Return a success envelope's schema."""
    operations = [view.operation for view in views]
    required = ["success", "message"]
    required += ["hasMore"] if any(operation.bounded for operation in operations) else []
    required += sorted({name for operation in operations for name in operation.members})
    optional = ["nextCursor"] if any("cursor" in operation.query for operation in operations) else []
    optional += sorted({name for operation in operations for name in operation.optional_members})
    optional += ["warnings"] if any(operation.warns for operation in operations) else []
    properties = {name: COMPONENTS["envelope"][name] for name in (*required, *optional)}
    data = all_schemas.by_key.get((views[0].name, "response"))
    if data is not None:
        properties["data"] = data
        required.insert(2, "data")
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _examples(values: Mapping[str, tuple[Example, Any]]) -> dict[str, Any]:
    examples = {key: {"summary": one.summary, "value": value} for key, (one, value) in values.items()}
    return {"examples": examples} if examples else {}


def _tag(view: _View) -> dict[str, str]:
    mark = {"x-extension": view.operation.extension} if view.operation.extension else {}
    about = import_module(view.package).__doc__ or ""
    return {"name": view.tag, "description": without_sections(about), **mark}
