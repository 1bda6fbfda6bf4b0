"""The tools, from `tools.json`, which `tests/extensions/mcp/tool_list.py` generates from the OpenAPI document."""

import json
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from chalicelib.credentials import scopes


class AssistantTool(NamedTuple):
    """A tool: its definition for clients, and its operation.

    `query` contains the arguments that are query parameters, and `times` those that are Unix seconds in the operation.
    `fixed` contains query parameters that always have the same value.
    `records` is the response member with the record or the list of records. `columns` are the members of a record that
    the tool returns, or empty for all. `title` is the member that `confirm` must equal to delete a record.
    """

    definition: dict[str, Any]
    method: str
    path: str
    query: list[str]
    times: list[str]
    fixed: dict[str, str]
    records: str
    columns: list[str]
    title: str

    @property
    def name(self) -> str:
        """The tool's name."""
        name: str = self.definition["name"]
        return name


def permitted(routes: Mapping[str, Mapping[str, Any]], granted: Collection[str]) -> Iterator[AssistantTool]:
    """Yield the tools that these scopes permit, in the file's order, except those of disabled extensions."""
    for tool in _all():
        route = routes.get(tool.path, {}).get(tool.method)
        if route and scopes.covers(granted, route.view_function.operation.scope(tool.method)):
            yield tool


@cache
def _all() -> list[AssistantTool]:
    text = Path(__file__).with_name("tools.json").read_text(encoding="utf-8")
    return [AssistantTool(**entry) for entry in json.loads(text)]
