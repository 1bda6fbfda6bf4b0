"""Names are specific: participles and pronouns such as `found` or `one` are not used in a wide scope."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODULES = [
    *(
        module
        for folder in ("benchmarks", "chalicelib", "clients", "examples", "infra", "tests")
        for module in sorted((ROOT / folder).rglob("*.py"))
    ),
    ROOT / "app.py",
]
VAGUE = {"asked", "found", "given", "happened", "one", "ones", "requested", "said", "shown", "spliced", "wanted"}
# The maximum number of lines between the first and the last use of a vague local name.
MAX_LINES = 3


@cache
def tree_of(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


def test_no_name_with_a_wide_scope_is_vague() -> None:
    assert [f"{module.relative_to(ROOT)}: {name}" for module in MODULES for name in vague_names(module)] == []


def vague_names(module: Path) -> Iterator[str]:
    """Yield the vague names of a module, its classes, functions, parameters, attributes, constants and variables."""
    names = [module.stem]
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.FunctionDef):
            names += [node.name, *lasting(node)]
        elif isinstance(node, ast.Module | ast.ClassDef):
            names += [node.name] if isinstance(node, ast.ClassDef) else []
            assignments = (one for one in node.body if isinstance(one, ast.Assign | ast.AnnAssign))
            names += [name.id for assignment in assignments for name in assigned(assignment)]
        elif isinstance(node, ast.arg):
            names.append(node.arg)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.append(node.attr)
    yield from sorted({name for name in names if name.strip("_").lower() in VAGUE})


def lasting(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the function variables that are used over more than `MAX_LINES` lines, except in comprehensions."""
    lines: dict[str, list[int]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            lines.setdefault(node.id, []).append(node.lineno)
    for name in {name.id for name in assigned(function)}:
        if max(lines[name]) - min(lines[name]) > MAX_LINES:
            yield name


def assigned(tree: ast.AST) -> Iterator[ast.Name]:
    """Yield the names that a tree assigns, except in comprehensions."""
    loops = [loop.target for loop in ast.walk(tree) if isinstance(loop, ast.comprehension)]
    inner = {id(name) for target in loops for name in ast.walk(target)}
    for one in ast.walk(tree):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and id(one) not in inner:
            yield one


def test_the_classes_of_the_service_have_different_names() -> None:
    modules = [module for module in MODULES if module.is_relative_to(ROOT / "chalicelib")]
    names = Counter(node.name for one in modules for node in tree_of(one).body if isinstance(node, ast.ClassDef))
    assert {name for name, number in names.items() if number > 1} == set()


def test_docstrings_are_imperative() -> None:
    assert [f"{module.relative_to(ROOT)}: {text}" for module in MODULES for text in indicative_sentences(module)] == []


def indicative_sentences(module: Path) -> Iterator[str]:
    """Yield the start of each docstring sentence or clause in the indicative, such as "Returns the id"."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = " ".join((ast.get_docstring(node) or "").split())
            yield from re.findall(r"(?:^|[.] )(?:Raises|Returns|Yields) .{,30}|; (?:raise|return|yield)s .{,30}", text)
