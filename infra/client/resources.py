"""Writes the asynchronous resources of the Python client: a class for each resource, a method for each operation."""

import re
import textwrap
from dataclasses import dataclass
from typing import Any

from infra.client.names import AT_EDGE, OF_OTHER_CLIENTS, has_effect, method_name
from infra.client.schemas import Schema, Types, class_name, snake_case

# The operation that `messages.add` sends.
_BY_HAND = "add_conversation_messages"
# A conversation and its messages are bound to the ids in their path.
_BOUND = {"conversation", "messages"}
_DESCRIPTIONS = {
    "conversation": "A conversation of an agent.",
    "messages": "The messages of a conversation.",
    "tokens": "Access tokens of the workspace.",
    "workspace": "The workspace of the credential.",
}
_BY_RESOURCE = {
    "conversation": '''
    @property
    def messages(self) -> AsyncMessages:
        """The conversation's messages."""
        return AsyncMessages(self._transport, self._ids)
''',
    "conversations": '''
    def __call__(self, agent_id: str, convo_id: str, /) -> AsyncConversation:
        """Return the conversation with these ids. This sends no request."""
        return AsyncConversation(self._transport, {"agent_id": agent_id, "convo_id": convo_id})
''',
}
# A repeated state could remove messages that another writer has added after the first attempt.
_EFFECTS = {"exchange_state": '"turns" in members'}
_HEADERS = {"Idempotency-Key": "idempotency_key", "If-Match": "if_match", "If-None-Match": "if_none_match"}
_LONGEST_PAGE = 100
_WIDTH = 110


@dataclass(frozen=True)
class _Method:
    """An operation's method: its name, the path and the operation in the OpenAPI document."""

    resource: str
    name: str
    verb: str
    path: str
    operation: Schema


class Resources:
    """The module `resources`, and the names of the schemas that it uses."""

    def __init__(self, document: Schema) -> None:
        """Read the operations of this OpenAPI document."""
        self._document = document
        self._types = Types(document)
        self.records: set[str] = set()
        self.bodies: set[str] = set()
        self._methods = [
            _Method(*method_name(operation["operationId"], operation["tags"][0]), verb.upper(), path, operation)
            for path, operations in document["paths"].items()
            for verb, operation in operations.items()
            if operation["operationId"] not in {_BY_HAND, *AT_EDGE.values()}
            and operation.get("x-extension") not in OF_OTHER_CLIENTS
        ]
        self._operations: dict[str, Schema] = {
            operation["operationId"]: operation
            for operations in document["paths"].values()
            for operation in operations.values()
        }
        self._paths = {
            operation["operationId"]: path.replace("{user_id}", "{convo_id}")
            for path, operations in document["paths"].items()
            for operation in operations.values()
        }

    def text(self) -> str:
        """Return the module."""
        lines = ['"""The resources of the service: a class for each, and a method for each operation."""', ""]
        lines += [
            "from __future__ import annotations",
            "",
            "import builtins",
            "from collections.abc import Mapping, Sequence",
        ]
        lines += ["from typing import TYPE_CHECKING, Any, Literal, Unpack", "", "from .. import models"]
        lines += [
            "from .._http import Call",
            "from .._records import to_body",
            "from .conversations import AsyncAppends, AsyncBound",
        ]
        lines += ["from .transport import AsyncPages, AsyncTextPages, AsyncTransport", ""]
        lines += ["if TYPE_CHECKING:", "    from .. import params"]
        names = dict.fromkeys(method.resource for method in self._methods)
        for resource in sorted(names, key=lambda name: (name not in _BOUND, name == "conversation", name)):
            lines += self._class(resource)
        lines += ["", "", "class AsyncResources:", '    """The resources of the service."""', ""]
        lines += ["    def __init__(self, transport: AsyncTransport) -> None:", '        """Create the resources."""']
        lines += ["        self._transport = transport"]
        lines += [f"        self.{name} = {_class(name)}(transport)" for name in names if name not in _BOUND]
        return "\n".join([*lines, ""])

    def _class(self, resource: str) -> list[str]:
        """Return the lines of a resource's class."""
        tags = {tag["name"].removeprefix("extension: "): tag["description"] for tag in self._document["tags"]}
        base = {"conversation": "(AsyncBound)", "messages": "(AsyncAppends)"}.get(resource, "")
        text = tags.get(resource) or _DESCRIPTIONS.get(resource, f"{resource.capitalize()}.")
        lines = ["", "", f"class {_class(resource)}{base}:", *_docstring(text, 4), ""]
        if resource not in _BOUND:
            lines += ["    def __init__(self, transport: AsyncTransport) -> None:"]
            lines += ['        """Create the resource."""', "        self._transport = transport"]
        lines += _BY_RESOURCE.get(resource, "").splitlines()
        for method in self._methods:
            if method.resource == resource:
                lines += ["", *self._method(method)]
        return lines

    def _method(self, method: _Method) -> list[str]:
        """Return the lines of an operation's method."""
        parameters = [self._parameter(parameter) for parameter in method.operation.get("parameters", ())]
        if "data" in self._success(method.operation):  # the client does not parse another format
            parameters = [parameter for parameter in parameters if parameter["name"] != "format"]
        path, ids, positional = self._path(method, parameters)
        keywords = self._keywords(method, parameters)
        body, members = self._body(method.operation)
        returned, result = self._result(method)
        signature = ["self", *positional, *(["/"] if positional else []), *(["*"] if keywords else [])]
        signature += [f"{name}: {text}" for name, text, _ in keywords] + members
        is_list = returned.startswith(("AsyncPages", "AsyncTextPages"))
        lines = [f"    {'' if is_list else 'async '}def {method.name}({', '.join(signature)}) -> {returned}:"]
        arguments = [f"    {name}: {text}" for name, _, text in keywords if text]
        paragraphs = [
            f"{method.operation['summary']}.",
            self._description(method.operation),
            "\n".join(["Args:", *arguments] if arguments else []),
        ]
        lines += _docstring("\n\n".join(filter(None, paragraphs)), 8)
        call = [f'"{method.verb}"', path, ids, *self._arguments(method, parameters), *body]
        lines += [f"        call = Call({', '.join(filter(None, call))})", f"        return {result}"]
        return lines

    def _description(self, operation: Schema) -> str:
        """Return the description. The credentials include those of the same operation at the edge."""
        description: str = operation.get("description", "")
        edge = self._operations.get(AT_EDGE.get(operation["operationId"], ""), {}).get("description", "")
        accepted = re.search(r"^Credentials: (.*)\.$", edge, re.MULTILINE)
        return (
            description.replace("Credentials: workspace key", f"Credentials: {accepted[1]}")
            if accepted
            else description
        )

    def _path(self, method: _Method, parameters: list[Schema]) -> tuple[str, str, list[str]]:
        """Return the expressions for the path and its variables, and the positional arguments."""
        names = [parameter["name"] for parameter in parameters if parameter["in"] == "path"]
        if method.resource not in _BOUND:
            return f'"{method.path}"', _dict(names) if names else "", [f"{name}: str" for name in names]
        own = [name for name in names if name not in ("agent_id", "convo_id", "user_id")]
        ids = f"{{**self._ids, **{_dict(own)}}}" if own else "self._ids"
        operation = method.operation["operationId"]
        path = f'"{self._paths[operation]}"'
        if AT_EDGE.get(operation) in self._paths:
            path = f'self._path("{self._paths[AT_EDGE[operation]]}", {path})'
        return path, ids, [f"{name}: str" for name in own]

    def _keywords(self, method: _Method, parameters: list[Schema]) -> list[tuple[str, str, str]]:
        """Return the name, the annotation with the default, and the description of each keyword argument."""
        keywords = []
        for parameter in parameters:
            schema, name = parameter["schema"], snake_case(parameter["name"])
            if parameter["in"] == "path" or "const" in schema:
                continue
            annotation = self._types.annotation(schema, "models.").replace("list[", "Sequence[")
            self._use(schema)
            if name == "limit" and "default" in schema:
                annotation += f" = {_LONGEST_PAGE}"
            elif not parameter.get("required"):
                annotation += " | None = None"
            keywords.append((name, annotation, parameter.get("description", "")))
        return keywords

    def _arguments(self, method: _Method, parameters: list[Schema]) -> list[str]:
        """Return the arguments of `Call` for the query and the headers."""
        lines = []
        for place, argument in (("query", "query"), ("header", "headers")):
            values = {item["name"]: item["schema"] for item in parameters if item["in"] == place}
            pairs = (f'"{name}": {_value(name, schema)}' for name, schema in values.items())
            lines += [f"{argument}={{{', '.join(pairs)}}}"] if values else []
        operation = method.operation["operationId"]
        effect = _EFFECTS.get(operation, "True" if has_effect(operation) else "")
        is_keyed = any(parameter["name"] == "Idempotency-Key" for parameter in parameters)
        return [*lines, *([f"has_effect={effect}"] if effect and is_keyed else [])]

    def _body(self, operation: Schema) -> tuple[list[str], list[str]]:
        """Return the argument of `Call` for the body, and the keyword arguments for its members."""
        if "requestBody" not in operation:
            return [], []
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        properties = self._types.resolve(schema)["properties"]
        wrapper, inner = next(iter(properties.items()))
        is_wrapped = len(properties) == 1 and "$ref" in inner and self._types.is_record(self._types.resolve(inner))
        self._use(inner if is_wrapped else schema)
        reference = (inner if is_wrapped else schema)["$ref"]
        self.bodies.add(reference.rsplit("/", 1)[-1])
        name = class_name(reference)
        value = f"to_body(models.{name}, members)"
        return (
            [f'json={{"{wrapper}": {value}}}' if is_wrapped else f"json={value}"],
            [f"**members: Unpack[params.{name}]"],
        )

    def _result(self, method: _Method) -> tuple[str, str]:
        """Return the annotation and the expression of what the method returns.

        A list requests its pages during iteration, but a write must send its request immediately.
        """
        properties = self._success(method.operation)
        if not properties:
            return "AsyncTextPages", "AsyncTextPages(self._transport, call)"
        data = properties.get("data", {})
        is_data = not properties.keys() - {"success", "message", "warnings", "data"} and "data" in properties
        if data.get("type") == "array":
            name = self._use(data["items"])
            if method.verb != "GET":
                return f"builtins.list[{name}]", f"(await self._transport.send(call)).page({name}).data"
            return f"AsyncPages[{name}]", f"AsyncPages(self._transport, call, {name})"
        name, member = (self._use(data), ', "data"') if is_data else (self._use(_json_schema(method.operation)), "")
        return name, f"(await self._transport.send(call)).record({name}{member})"

    def _success(self, operation: Schema) -> Schema:
        """Return the members of a successful JSON response, or an empty dict for an exported file."""
        schema = _json_schema(operation)
        properties: Schema = self._types.resolve(schema)["properties"] if schema else {}
        return properties

    def _use(self, schema: Schema) -> str:
        """Note that the module uses the schema; return its class."""
        if "$ref" in schema and (self._types.record(schema) or "enum" in self._types.resolve(schema)):
            self.records.add(schema["$ref"].rsplit("/", 1)[-1])
            return f"models.{class_name(schema['$ref'])}"
        return ""

    def _parameter(self, parameter: Schema) -> Schema:
        """Return the parameter to which a reference points."""
        name: Any = parameter.get("$ref", "").rsplit("/", 1)[-1]
        return self._document["components"]["parameters"][name] if name else parameter


def _json_schema(operation: Schema) -> Schema:
    """Return the schema of a successful JSON response, or an empty dict for an exported file."""
    schema: Schema = operation["responses"]["200"]["content"].get("application/json", {}).get("schema", {})
    return schema


def _class(resource: str) -> str:
    return f"Async{resource.capitalize()}"


def _dict(names: list[str]) -> str:
    """Return the expression for a dict from these names to the variables with these names."""
    return f"{{{', '.join(f'{name!r}: {name}' for name in names)}}}"


def _value(name: str, schema: Schema) -> str:
    """Return the expression for a parameter's value."""
    return f'"{schema["const"]}"' if "const" in schema else snake_case(name)


def _docstring(text: str, indent: int) -> list[str]:
    """Return the lines of a docstring."""
    lines = []
    # The document's lines are as long as the service's source. Lists and indented lines stay separate.
    text = re.sub(r"(?<=\S)\n(?=[^\s|*-])", " ", text.replace("\\", "\\\\").strip())
    for line in text.split("\n"):
        margin = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(line, _WIDTH - indent, subsequent_indent=f"{margin}    " if margin else "") or [""]
    lines = [f'"""{lines[0]}', *lines[1:]]
    end = [" " * indent + '"""'] if len(lines) > 1 else []
    lines = lines if end else [f'{lines[0]}"""']
    return [*(" " * indent + line if line else "" for line in lines), *end]
