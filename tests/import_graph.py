"""The import graph of `chalicelib`, which has one node per package or extension.

`python -m tests.import_graph` prints the size of the graph and its upward edges.

Imports inside functions and under `TYPE_CHECKING` count. An upward edge closes a cycle. However the layers are ordered,
at least one edge of a cycle leads from a lower layer to a higher layer.
"""

import ast
import sys
from functools import cache
from pathlib import Path

Graph = dict[str, set[str]]

PACKAGE = Path(__file__).parent.parent / "chalicelib"


def name_of(module: Path, package: Path = PACKAGE) -> str:
    """Return a module's dotted name relative to the package. The name is empty for the package itself."""
    name = ".".join(module.relative_to(package).with_suffix("").parts)
    return name.removesuffix("__init__").removesuffix(".")


def node_of(module: str) -> str:
    """Return a module's node, which is its package or extension. The extension registry is a separate node."""
    package, _, below = module.partition(".")
    return f"{package}.{below.partition('.')[0]}" if package == "extensions" and below else package


@cache
def _names(package: Path) -> set[str]:
    return {name_of(module, package) for module in package.rglob("*.py")}


@cache
def imported_by(module: Path, package: Path = PACKAGE) -> set[str]:
    """Return the dotted names of the package modules that a module imports."""
    known, imports = _names(package), set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == package.name:
            base = node.module.removeprefix(package.name).lstrip(".")
            inner = {f"{base}.{alias.name}".lstrip(".") for alias in node.names}
            imports |= (inner & known) or {base}
    return imports


def graph(package: Path = PACKAGE) -> Graph:
    """Return which nodes each node imports."""
    edges: Graph = {}
    for module in package.rglob("*.py"):
        if node := node_of(name_of(module, package)):
            targets = {node_of(one) for one in imported_by(module, package)} - {node, ""}
            edges.setdefault(node, set()).update(targets)
    return edges


def upward_edges(edges: Graph) -> set[tuple[str, str]]:
    """Return the edges that close a cycle in an alphabetical depth-first search."""
    closing: set[tuple[str, str]] = set()
    done: set[str] = set()

    def visit(node: str, path: tuple[str, ...]) -> None:
        for target in sorted(edges.get(node, ())):
            if target in (*path, node):
                closing.add((node, target))
            elif target not in done:
                visit(target, (*path, node))
        done.add(node)

    for node in sorted(edges):
        if node not in done:
            visit(node, ())
    return closing


def levels(edges: Graph) -> int:
    """Return the number of nodes in the longest import chain, without upward edges."""
    upward = upward_edges(edges)
    height: dict[str, int] = {}

    def measure(node: str) -> int:
        if node not in height:
            below = (measure(one) for one in edges.get(node, ()) if (node, one) not in upward)
            height[node] = 1 + max(below, default=0)
        return height[node]

    return max(map(measure, edges))


if __name__ == "__main__":
    found = graph(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE)
    upward = upward_edges(found)
    print(f"{len(found)} nodes, {levels(found)} levels, {sum(map(len, found.values()))} edges, {len(upward)} upward")  # noqa: T201
    for importer, imported in sorted(upward):
        print(f"  {importer} -> {imported}")  # noqa: T201
