"""The served OpenAPI document and its operations."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlencode

from jsonschema import Draft202012Validator

from tests import extensions
from tests.api import Api
from tests.openapi.examples import GENERATED, IDS

Document = dict[str, Any]


class Operation(NamedTuple):
    """An operation in the document, with references resolved one level deep."""

    name: str
    method: str
    path: str
    description: Document
    path_values: dict[str, str]
    query: str

    @property
    def route(self) -> str:
        """Return the method and path in the same form as `contract/routes.json`."""
        return f"{self.method} {self.path}"

    @property
    def body(self) -> Document | None:
        """Return the body's schema and examples, or None if the operation takes no body."""
        body: Document = self.description.get("requestBody") or {"content": {"application/json": None}}
        found: Document | None = body["content"]["application/json"]
        return found

    @property
    def is_file(self) -> bool:
        """Return whether the response is a text file in one of several formats, without schema and examples."""
        return "application/json" not in self.description["responses"]["200"]["content"]

    @property
    def answer(self) -> Document:
        """Return the schema and examples for a response that is not a file."""
        found: Document = self.description["responses"]["200"]["content"]["application/json"]
        return found

    @property
    def success_headers(self) -> Document:
        """Return the documented headers of a successful response."""
        found: Document = self.description["responses"]["200"].get("headers", {})
        return found

    @property
    def statuses(self) -> set[int]:
        """Return the documented error statuses."""
        return {int(status) for status in self.description["responses"]} - {200, 304}

    def address(self, **values: str) -> str:
        """Return the path and the required query with the document's example values, unless `values` overrides them."""
        return re.sub(r"{(\w+)}", lambda name: (self.path_values | values)[name[1]], self.path) + self.query


@cache
def document() -> Document:
    """Return the document that the app serves."""
    answer = Api().get("/openapi.json")
    assert answer.status == 200
    found: Document = answer.json
    return found


@cache
def operations() -> list[Operation]:
    """Return every operation in document order."""
    return list(_operations())


def _operations() -> Iterator[Operation]:
    for path, item in document()["paths"].items():
        for method, description in item.items():
            values = [resolved(one) for one in description.get("parameters", ())]
            chosen = {one["name"]: path_value(one, path) for one in values if one["in"] == "path"}
            required = {one["name"]: one["example"] for one in values if one["in"] == "query" and one.get("required")}
            query = "?" + urlencode(required) if required else ""
            yield Operation(description["operationId"], method.upper(), path, description, chosen, query)


def path_value(parameter: Document, path: str = "") -> str:
    """Return a path parameter's example, or the generated value that the examples use."""
    name = parameter["name"]
    of_extensions = extensions.joined("PATH_VALUES")
    if name in of_extensions:
        return str(of_extensions[name](path))
    value: str = parameter.get("example") or IDS[name]
    return value


def resolved(node: Document) -> Document:
    """Return the node that a reference points to, or the node itself if it is not a reference."""
    for step in node["$ref"].split("/")[1:] if "$ref" in node else ():
        node = document() if step == "components" else node
        node = node[step]
    return node


def member_of(component: str, path: str) -> Document:
    """Return the resolved schema at a dotted path in a component, without null; for a list, return its item schema."""
    schema: Document = {"$ref": f"#/components/schemas/{component}"}
    for step in path.split("."):
        schema = resolved(schema)["properties"][step.removesuffix("[]")]
        (schema,) = (one for one in schema.get("anyOf", [schema]) if one != {"type": "null"})
        schema = schema.get("items", schema)
    return resolved(schema)


def broken_rules(schema: Document, value: Any) -> list[str]:
    """Return each schema rule that `value` breaks, with its location."""
    validator = Draft202012Validator({**schema, "components": document()["components"]})
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


class ExampleValues:
    """Maps each generated value in the examples to the real value that the service returned."""

    def __init__(self) -> None:
        self._real: dict[str, str] = {}

    def substitute(self, node: Any) -> Any:
        """Replace an example's generated values with the real values."""
        if isinstance(node, str):
            return GENERATED.sub(lambda match: self._real.get(match[0], match[0]), node)
        if isinstance(node, dict):
            return {name: self.substitute(value) for name, value in node.items()}
        return [self.substitute(one) for one in node] if isinstance(node, list) else node

    def restore(self, node: Any) -> Any:
        """Replace a response's real values with placeholders, and unknown tokens with invalid tokens."""
        text = json.dumps(node)
        for placeholder, real in self._real.items():
            text = text.replace(json.dumps(real)[1:-1], json.dumps(placeholder)[1:-1])
        return json.loads(re.sub(r"(cams_[a-z]+|whsec)_[\w+/=]{40,}", r"\1_EXAMPLE", text))

    def learn(self, example: Any, real: Any) -> None:
        """Store the real value of each generated value at its first occurrence."""
        if isinstance(example, str) and isinstance(real, str) and GENERATED.fullmatch(example):
            self._real.setdefault(example, real)
        elif isinstance(example, dict) and isinstance(real, dict):
            for name in example.keys() & real.keys():
                self.learn(example[name], real[name])
        elif isinstance(example, list) and isinstance(real, list):
            for one, other in zip(example, real, strict=False):
                self.learn(one, other)
