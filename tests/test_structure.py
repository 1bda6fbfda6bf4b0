"""The rules that keep the code findable: who imports whom, and one home for each dangerous act (CONTRIBUTING)."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "chalicelib").rglob("*.py"))

# The kernel: what every resource may rely on, in an order in which nobody imports somebody behind.
KERNEL = (
    "settings", "clock", "errors", "connection", "rows", "storage", "queues", "children", "keyring", "compression",
    "sealing", "documents", "sequence",
    "telemetry", "workspaces.tokens", "workspaces.store", "wire", "http", "pages", "etag", "auth", "idempotency",
)  # fmt: skip
MODELS = {"models", "record", "voice", "nodes", "options"}
# The types of events stand in their catalogue.
TYPES = ("webhooks", "webhooks.events")
PURE = {"state", "listing", "received"}
# What a store is made of where it is too much for one module.
STORED = {"rows", "turns"}
# What works on several resources, and is neither of a store's nor of a view's length; and the functions that run it.
ACROSS = {"deletion", "functions"}
# From a change to a POST, in an order in which nobody imports somebody behind. Resources do not know of it.
PIPELINE = (
    "signature", "addresses", "lookups", "sender", "change", "events", "endpoints", "ledger", "queue", "delivery",
    "streams",
)  # fmt: skip
# What a store, and with it an event function, does without: the models and the HTTP edge.
EDGE = {"wire", "http", "pages", "etag", "auth", "idempotency"}


def name_of(module: Path) -> str:
    name = ".".join(module.relative_to(ROOT / "chalicelib").with_suffix("").parts)
    return name.removesuffix(".__init__")


def imported_by(module: Path) -> set[str]:
    """The modules of ours that a module imports, by their names below `chalicelib`."""
    found = set()
    known = {name_of(one) for one in MODULES}
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("chalicelib"):
            base = node.module.removeprefix("chalicelib").lstrip(".")
            inner = {f"{base}.{alias.name}".lstrip(".") for alias in node.names}
            found |= (inner & known) or {base}
    return found


def allowed(importer: str, imported: str) -> bool:
    """DESIGN's direction of dependencies: routes -> models, state, any store -> kernel."""
    if importer in KERNEL:
        return imported in KERNEL[: KERNEL.index(importer)]
    resource, _, kind = importer.rpartition(".")
    its_resource, _, its_kind = imported.rpartition(".")
    if kind in MODELS:
        return imported in {"wire", "errors"} or its_kind in MODELS or (resource, imported) == TYPES
    if kind in PURE:
        return imported in KERNEL or (its_resource == resource and its_kind in MODELS | PURE)
    if kind == "store" or kind in STORED:
        return imported in set(KERNEL) - EDGE or (its_resource == resource and its_kind in PURE | STORED)
    if kind in ACROSS:
        return imported in set(KERNEL) - EDGE or its_kind in {"store", "deletion"}
    if resource == "webhooks" and kind in PIPELINE:
        earlier = PIPELINE[: PIPELINE.index(kind)]
        return (
            imported in set(KERNEL) - EDGE or its_kind == "store" or imported in {f"webhooks.{one}" for one in earlier}
        )
    if kind == "routes":
        own_pipeline = resource == its_resource == "webhooks"
        known = {"store", "deletion", *MODELS, *PURE}
        return imported in KERNEL or its_kind in known or its_resource == "openapi" or own_pipeline
    return importer.startswith("openapi")


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_imports_only_what_its_place_allows(module: Path) -> None:
    strays = {imported for imported in imported_by(module) if not allowed(name_of(module), imported)}
    assert not strays


HOMES = {
    "the time": (r"^(import|from) (time|datetime)\b", {"clock"}),
    "new identifiers": (r"^(import|from) (uuid|secrets)\b", {"clock"}),
    "the environment": (r"\benviron\b|\bgetenv\b", {"settings"}),
    "encryption": (r"\bcryptography\b", {"sealing"}),
    "outbound HTTP": (
        r"^(import|from) (socket|ssl|urllib3|requests|http\.client|urllib\.request)\b",
        {"webhooks.sender", "webhooks.lookups", "webhooks.addresses"},
    ),
    "translation of PynamoDB's errors": (r"pynamodb\.exceptions import(?!.*CancellationReason\n)", {"connection"}),
    "translation of pydantic's errors": (r"\.errors\(", {"http"}),
    "token recognition": (r"cams_\(|fullmatch\(token", {"workspaces.tokens"}),
}


@pytest.mark.parametrize(("pattern", "homes"), HOMES.values(), ids=HOMES)
def test_a_dangerous_act_has_one_home(pattern: str, homes: set[str]) -> None:
    found = {name_of(one) for one in MODULES if re.search(pattern, one.read_text(encoding="utf-8"), re.MULTILINE)}
    assert found == homes


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_has_at_most_three_hundred_lines_and_says_what_it_is_for(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    assert ast.get_docstring(ast.parse(text))


def test_stores_and_event_functions_do_without_pydantic() -> None:
    modules = [f"chalicelib.{name_of(one)}" for one in MODULES if one.stem in {"store", "streams", "functions"}]
    code = f"import sys, {', '.join(modules)}; print('pydantic' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_the_composition_root_has_no_logic() -> None:
    tree = ast.parse((ROOT / "app.py").read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.If)]
