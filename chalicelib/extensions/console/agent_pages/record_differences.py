"""Compares versions of agents and tools as their forms show them."""

import json
from collections.abc import Iterable, Mapping
from itertools import count
from types import MappingProxyType

from chalicelib.extensions.console.agent_pages import agent_form, tool_arguments, tool_form
from chalicelib.extensions.console.presentation import differences
from chalicelib.extensions.console.presentation.differences import Difference, Differences
from chalicelib.extensions.console.presentation.rendering import Texts
from chalicelib.storage import Document

# The signs of lines by the operation of the history. Other operations have no sign.
_SIGNS = {"create": "+", "delete": "-"}
# The members of a tool's parameter that have a line, in this order.
_LINES = ("type", "in", "required", "description")


def between(kind: str, before: Document, after: Document, t: Texts) -> Differences:
    """Return the differences between two agents, or two tools, in the order of the form."""
    form = tool_form if kind == "tools" else agent_form
    if kind == "tools":
        before, after = _with_readable_parameters(before, t), _with_readable_parameters(after, t)
    changes = differences.between(before, after, form.read_only() | agent_form.TECHNICAL)
    if kind == "tools":
        changes += _order(before, after)
    changes.sort(key=lambda change: _place(form.PATHS, change))
    return changes


def with_hidden(
    kind: str,
    changes: Differences,
    paths: Iterable[str],
    t: Texts,
    operations: Mapping[str, str] = MappingProxyType({}),
) -> Differences:
    """Add the members among these changed paths whose values the caller may not see.

    `operations` contains the operations on members, as the history names them.
    """
    form = tool_form if kind == "tools" else agent_form
    others = {_outermost(change.path) for change in changes} | form.read_only() | agent_form.TECHNICAL
    for name in sorted({*map(_outermost, paths)} - others):
        line = _SIGNS.get(operations.get(name, ""), " ") + t("value_not_shown")
        changes.append(Difference(name, (line,), is_flag=False, is_json=False))
    return changes


def _outermost(path: str) -> str:
    return path.partition(".")[0]


def _place(paths: tuple[str, ...], change: Difference) -> int:
    return next((place for place, path in zip(count(), paths) if f"{change.path}.".startswith(f"{path}.")), len(paths))


def _with_readable_parameters(tool: Document, t: Texts) -> Document:
    """Return a tool whose parameters are texts by name, or by id if they have no name of their own."""
    parameters: Document = {}
    for one in tool.get("fields") or ():
        key = one.get("key")
        parameters[key if key and key not in parameters else one["id"]] = "\n".join(_lines(one, t))
    others = {name: value for name, value in tool.items() if name != "fields"}
    return {**others, "fields": parameters} if parameters else others


def _order(before: Document, after: Document) -> Differences:
    """Return the difference between the orders of the parameters that two tools have in common."""
    old, new = differences.common_order(before.get("fields") or {}, after.get("fields") or {})
    return differences.between({"fields": old}, {"fields": new})


def _lines(parameter: Document, t: Texts) -> list[str]:
    """Return a line for each member of the form that has a value, and the other members as JSON."""
    kind = parameter.get("type") or "any"
    values = {
        "type": t.named("parameter_type", tool_arguments.TYPE_NAMES.get(kind, kind)),
        "in": t.named("place", parameter.get("in") or "default"),
        "required": t("yes" if parameter.get("required") else "no"),
        "description": parameter.get("description"),
    }
    labels = {"type": t("parameter_type"), "required": t("required")}
    others = (name for name in parameter if name not in (*_LINES, "id", "key"))
    return [
        *(f"{labels.get(name) or t.named('member', name)}: {values[name]}" for name in _LINES if values[name]),
        *(f"{name}: {json.dumps(parameter[name], ensure_ascii=False)}" for name in others),
    ]
