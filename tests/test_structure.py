"""The rules that keep the code findable: who imports whom, and one home for each dangerous act (CONTRIBUTING)."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.import_graph import graph, imported_by, name_of, node_of, upward_edges

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "chalicelib").rglob("*.py"))

# The layers, lowest first; those of one row do not import each other, or say in a comment why. A resource has `models`
# for the wire, a `store` for the database, `routes`, and pure modules.
LEAVES = ("settings", "clock", "ids", "errors")
RESOURCES = ("tools", "agents", "conversations", "leads", "analytics", "clients", "organisations", "workspaces")
LAYERS = (
    ("settings",), ("clock",), ("errors", "ids"), ("storage",), ("telemetry", "queues"), ("credentials",), ("http",),
    ("tools", "clients", "organisations", "workspaces"), ("agents",), ("conversations", "leads", "analytics"),
    ("deletion", "webhooks"), ("openapi",),
)  # fmt: skip
MODELS = {"models", "record", "voice", "nodes", "options"}


EDGES = sorted((importer, imported) for importer, targets in graph().items() for imported in targets)
LEVEL = {node: level for level, row in enumerate(LAYERS) for node in row}


def test_the_import_graph_has_at_most_twenty_nodes() -> None:
    assert graph().keys() == LEVEL.keys()
    assert len(graph()) <= 20
    assert upward_edges(graph()) == set()


@pytest.mark.parametrize(("importer", "imported"), EDGES, ids=lambda node: node)
def test_an_import_leads_down(importer: str, imported: str) -> None:
    assert LEVEL[imported] < LEVEL[importer]


@pytest.mark.parametrize("module", [one for one in MODULES if one.stem in MODELS], ids=name_of)
def test_models_import_only_models_and_the_wire(module: Path) -> None:
    strays = {one for one in imported_by(module) if one.rpartition(".")[2] not in MODELS | {"wire", "errors"}}
    assert strays <= {"webhooks.events"}  # its catalogue names the types of events


@pytest.mark.parametrize("module", [one for one in MODULES if one.stem == "store"], ids=name_of)
def test_a_store_imports_no_http_and_no_models(module: Path) -> None:
    strays = {one for one in imported_by(module) if node_of(one) == "http" or one.rpartition(".")[2] in MODELS}
    assert not strays


@pytest.mark.parametrize("module", [one for one in MODULES if node_of(name_of(one)) in RESOURCES], ids=name_of)
def test_a_resource_reaches_sideways_only_to_a_store_or_models(module: Path) -> None:
    own = node_of(name_of(module))
    strays = {one for one in imported_by(module) if node_of(one) in set(RESOURCES) - {own}}
    assert {one.rpartition(".")[2] for one in strays} <= {"store", *MODELS}


HOMES = {
    "the time": (r"^(import|from) (time|datetime)\b", {"clock"}),
    "new identifiers": (r"^(import|from) (uuid|secrets)\b", {"ids"}),
    "the environment": (r"\benviron\b|\bgetenv\b", {"settings"}),
    "encryption": (r"\bcryptography\b", {"storage.encryption"}),
    "outbound HTTP": (
        r"^(import|from) (socket|ssl|urllib3|requests|http\.client|urllib\.request)\b",
        {"webhooks.sender", "webhooks.lookups", "webhooks.addresses"},
    ),
    "translation of PynamoDB's errors": (r"pynamodb\.exceptions import(?!.*CancellationReason\n)", {"storage.client"}),
    "translation of pydantic's errors": (r"\.errors\(", {"http.messages"}),
    "token recognition": (r"cams_\(|fullmatch\(token", {"credentials.tokens"}),
}


@pytest.mark.parametrize(("pattern", "homes"), HOMES.values(), ids=HOMES)
def test_a_dangerous_act_has_one_home(pattern: str, homes: set[str]) -> None:
    found = {name_of(one) for one in MODULES if re.search(pattern, one.read_text(encoding="utf-8"), re.MULTILINE)}
    assert found == homes


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_has_at_most_three_hundred_lines_and_says_what_it_is_for(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    assert ast.get_docstring(ast.parse(text)) or not text


def test_stores_and_event_functions_do_without_pydantic() -> None:
    modules = [f"chalicelib.{name_of(one)}" for one in MODULES if one.stem in {"store", "functions"}]
    code = f"import sys, {', '.join(modules)}; print('pydantic' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_the_composition_root_has_no_logic() -> None:
    tree = ast.parse((ROOT / "app.py").read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.If)]
