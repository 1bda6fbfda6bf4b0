"""The structure rules in CONTRIBUTING.md, such as import layers and a single home for each sensitive operation."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

import pytest

from chalicelib.extensions import enabled, present
from tests import generated_docs
from tests.import_graph import graph, imported_by, name_of, node_of, upward_edges

ROOT = Path(__file__).parent.parent
# Exclude the extensions' `deploy` folders, because they are not deployed with the service.
MODULES = sorted(one for one in (ROOT / "chalicelib").rglob("*.py") if "deploy" not in one.parts)

# The layers, lowest first. Nodes in the same row do not import each other. A resource package contains `models` for the
# API, a `store` for the database, `routes`, and pure modules.
LEAVES = ("settings", "clock", "ids", "errors")
RESOURCES = ("tools", "agents", "conversations", "leads", "analytics", "clients", "organisations", "workspaces")
LAYERS = (
    ("settings",), ("clock",), ("errors", "ids", "extensions"), ("storage",), ("telemetry",), ("queues", "sending"),
    ("credentials",),
    ("http",), ("tools", "clients", "organisations", "workspaces"), ("agents",),
    ("analytics",), ("conversations", "leads"), ("deletion", "webhooks"), ("maintenance",),
    ("openapi", "followers"),
)  # fmt: skip
MODELS = {"models", "record", "voice", "nodes", "options", "forms"}


def last(module: str) -> str:
    """Return a module's name without the package."""
    return module.rpartition(".")[2]


EDGES = sorted((importer, imported) for importer, targets in graph().items() for imported in targets)
LEVEL = {node: level for level, row in enumerate(LAYERS) for node in row}
CORE = {importer: targets for importer, targets in graph().items() if not importer.startswith("extensions.")}


def test_the_import_graph_of_core_has_at_most_twenty_six_nodes() -> None:
    assert CORE.keys() == LEVEL.keys()
    assert len(CORE) <= 26
    assert not upward_edges(CORE)


def test_the_table_of_packages_has_the_layers() -> None:
    """Compare the table, which lists the packages from the top layer down, with the packages' docstrings."""
    rows = [(f"`{node}`", first_sentence(node)) for layer in reversed(LAYERS) for node in layer]
    generated_docs.check("docs/architecture.md", "packages", generated_docs.table(["Package", "Contents"], rows))


def first_sentence(node: str) -> str:
    """Return the first sentence of a node's docstring, without references to the specification."""
    line = str(import_module(f"chalicelib.{node}").__doc__).partition("\n")[0]
    return re.sub(r" \(§[^)]*\)", "", line).partition(". ")[0].rstrip(".")


def test_imports_lead_only_to_lower_layers() -> None:
    edges = {(importer, imported) for importer, imported in EDGES if importer in CORE}
    assert not {(importer, imported) for importer, imported in edges if LEVEL[imported] >= LEVEL[importer]}


def test_nothing_imports_an_extension_but_itself() -> None:
    assert not {(importer, imported) for importer, imported in EDGES if imported.startswith("extensions.")}


def test_the_declaration_of_an_extension_imports_only_the_registry() -> None:
    declarations = [one for one in MODULES if one.stem == "extension"]
    assert not strays(declarations, lambda _, other: other != "extensions")


def test_the_same_part_of_each_extension_has_the_same_name() -> None:
    for extension in enabled():
        declaration = import_module(f"chalicelib.extensions.{extension.name}.extension")
        assert str(declaration.__doc__).startswith(f"The {extension.name} extension: ")
        assert {*extension.functions} <= {"functions:functions"}
        assert {reference.partition(":")[0] for reference in extension.follows.values()} <= {"followers"}
        assert extension.hooks.get("removal", "removal:delete_all") == "removal:delete_all"
        assert extension.hooks.get("parameters", "parameters") == "parameters"


def strays(modules: Iterable[Path], is_stray: Callable[[Path, str], bool]) -> set[tuple[str, str]]:
    """Return the forbidden imports in these modules."""
    return {(name_of(one), other) for one in modules for other in imported_by(one) if is_stray(one, other)}


def test_models_import_only_models_and_the_wire() -> None:
    # Models may import two lists, the event types of the webhook catalogue and the scopes.
    allowed, lists = MODELS | {"wire", "errors", "ids"}, {"webhooks.events", "credentials.scopes"}
    modules = [one for one in MODULES if one.stem in MODELS]
    assert not strays(modules, lambda _, other: last(other) not in allowed and other not in lists)


def test_a_store_imports_no_http_and_no_models() -> None:
    modules = [one for one in MODULES if one.stem == "store"]
    assert not strays(modules, lambda _, other: node_of(other) == "http" or last(other) in MODELS)


def test_a_resource_imports_only_stores_and_models_of_other_resources() -> None:
    modules = [one for one in MODULES if node_of(name_of(one)) in RESOURCES]

    def is_stray(module: Path, other: str) -> bool:
        return node_of(other) in set(RESOURCES) - {node_of(name_of(module))} and last(other) not in {"store", *MODELS}

    assert not strays(modules, is_stray)


def test_other_modules_import_only_the_front_module_of_transcripts() -> None:
    modules = [one for one in (*MODULES, *sorted((ROOT / "infra").rglob("*.py"))) if one.parent.name != "transcript"]
    imports = {module.relative_to(ROOT).as_posix(): imported_by(module) for module in modules}
    inner = {
        name for name, others in imports.items() if any(one.startswith("conversations.transcript.") for one in others)
    }
    assert inner == set()


HOMES = {
    # The extensions' modules in this list compute with dates, but do not read a clock.
    "the time": (r"^(import|from) (time|datetime)\b", {"clock"}),
    "new identifiers": (r"^(import|from) (uuid|secrets)\b", {"ids"}),
    "the environment": (r"\benviron\b|\bgetenv\b", {"settings"}),
    "encryption": (r"\bcryptography\b", {"storage.encryption"}),
    "outbound HTTP": (
        r"^(import|from) (socket|ssl|urllib3|requests|http\.client|urllib\.request)\b",
        {"sending.sender", "sending.connection", "sending.lookups", "sending.addresses"},
    ),
    "translation of PynamoDB's errors": (r"pynamodb\.exceptions import(?!.*CancellationReason\n)", {"storage.client"}),
    "translation of pydantic's errors": (r"\.errors\(", {"http.bodies"}),
    "CSV, because spreadsheets may run formulas": (r"^(import|from) csv\b", {"http.files"}),
    "token recognition": (r"cams_\(|fullmatch\(token", {"credentials.tokens"}),
}
# Additional homes in extensions.
EXTENSION_HOMES = {
    "the time": {"extensions.console.presentation.periods", "extensions.reports.series"},
    "the environment": {"extensions.console.notifications.mail_settings"},
}


@pytest.mark.parametrize("operation", HOMES)
def test_a_sensitive_operation_has_one_home(operation: str) -> None:
    pattern, homes = HOMES[operation]
    found = {name_of(one) for one in MODULES if re.search(pattern, one.read_text(encoding="utf-8"), re.MULTILINE)}
    assert homes <= found
    assert found - homes <= EXTENSION_HOMES.get(operation, set())


def test_only_a_list_of_all_workspaces_scans_a_table() -> None:
    """Forbid other scans, because a scan reads the items of all workspaces."""
    modules = [*MODULES, *sorted((ROOT / "infra/operator").rglob("*.py"))]
    found = {one.relative_to(ROOT).as_posix() for one in modules if re.search(r"\bscan\(|\bScan\b", one.read_text())}
    # The names of DynamoDB's read operations, the scan function, and the function's caller.
    assert found == {
        "chalicelib/storage/client.py", "chalicelib/storage/reads.py", "chalicelib/workspaces/store.py",
    }  # fmt: skip


def test_a_module_has_a_docstring_and_at_most_three_hundred_lines() -> None:
    texts = {name_of(module): module.read_text(encoding="utf-8") for module in MODULES}
    assert not {name for name, text in texts.items() if len(text.splitlines()) > 300}
    assert not {name for name, text in texts.items() if text and not ast.get_docstring(ast.parse(text))}


def test_core_has_at_most_sixteen_thousand_five_hundred_lines() -> None:
    folders = {ROOT / "chalicelib" / "extensions" / name for name in present()}
    core = [module for module in MODULES if not folders & {*module.parents}]
    assert sum(len(module.read_text(encoding="utf-8").splitlines()) for module in core) <= 16_500


def test_stores_and_event_functions_do_not_import_pydantic() -> None:
    modules = [f"chalicelib.{name_of(one)}" for one in MODULES if one.stem in {"store", "functions", "maintenance"}]
    code = f"import sys, {', '.join(modules)}; print('pydantic' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_the_composition_root_has_no_logic() -> None:
    tree = ast.parse((ROOT / "app.py").read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    # Lambda functions must not import the guard for Chalice's command line, which runs before and after the imports.
    conditions = [ast.unparse(node.test) for node in ast.walk(tree) if isinstance(node, ast.If)]
    assert conditions == ["'chalice.cli' in sys.modules"] * 2
