"""The API operations that the console calls, as its modules' source states them."""

import ast
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from chalicelib.extensions import console

_FOLDER = Path(console.__file__).parent
# The functions of the module `calls` that call an operation, with their method if it is not an argument.
_FUNCTIONS = {"get": "GET", "read": "GET", "send_once": "POST", "create": "POST", "send": None}
_Texts = dict[str, list[str]]


def called_operations() -> set[str]:
    """Return the operations that any module calls with a constant path, such as `GET /v3/agents/{agent_id}`."""
    return {operation for file in _FOLDER.rglob("*.py") for operation in _of_module(ast.parse(file.read_text()))}


def _of_module(tree: ast.Module) -> Iterator[str]:
    texts: _Texts = {}
    for node in ast.walk(tree):  # breadth first, so the module's constants come before the functions' variables
        if isinstance(node, ast.Assign):
            _assign(texts, node.targets[0], node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (function := _function(node)) in _FUNCTIONS:
            method = _FUNCTIONS[function]
            arguments = [_values(texts, one) for one in node.args]
            methods = [method] if method else arguments.pop(0)
            paths = [path for values in arguments[:2] for path in values if path.startswith("/")]
            yield from (f"{one} {path}" for one, path in product(methods, paths))


def _function(call: ast.Call) -> str:
    """Return the name of the function of `calls` that this calls, or an empty string."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "calls":
        return function.attr
    return function.id if isinstance(function, ast.Name) and function.id == "get" else ""


def _assign(texts: _Texts, target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Name) and (values := _values(texts, value)):
        texts.setdefault(target.id, []).extend(values)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for inner, part in zip(target.elts, value.elts, strict=False):
            _assign(texts, inner, part)


def _values(texts: _Texts, node: ast.expr) -> list[str]:
    """Return an expression's possible texts, or none if they are not constant."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.Name):
        return texts.get(node.id, [])
    if isinstance(node, ast.JoinedStr):
        return ["".join(parts) for parts in product(*(_values(texts, part) for part in node.values))]
    return _values(texts, node.value) if isinstance(node, ast.FormattedValue) else []
