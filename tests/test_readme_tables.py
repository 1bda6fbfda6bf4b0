"""The README's tables of core and extensions match the code."""

import json
import re
from pathlib import Path

import pytest

from chalicelib.extensions import present
from infra.deploy import idle_price
from infra.deploy.functions import declared_functions
from tests.openapi.document import document

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
ROUTES = json.loads((Path(__file__).parent / "contract" / "routes.json").read_text(encoding="utf-8"))


def rows(heading: str) -> dict[str, list[str]]:
    """Return a table's rows without the header, keyed by the text in the first cell."""
    lines = README.partition(f"\n{heading}")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {re.sub(r"\[(.*)\]\(.*\)", r"\1", first): others for first, *others in cells}


def test_the_table_of_core_has_every_resource_with_its_paths() -> None:
    paths: dict[str, list[str]] = {tag["name"]: [] for tag in document()["tags"] if "x-extension" not in tag}
    for path, operations in document()["paths"].items():
        for operation in operations.values():
            if operation["tags"][0] in paths:
                paths[operation["tags"][0]].append(re.sub(r"{\w+}", "…", path))
    table = rows("| Core |")
    assert [*table] == [*paths]
    for name, (listed, *_) in table.items():
        prefixes = re.findall(r"`([^`]+)`", listed)
        assert not [path for path in paths[name] if not path.startswith(tuple(prefixes))], name
        assert not [prefix for prefix in prefixes if not any(path.startswith(prefix) for path in paths[name])], name


def test_the_table_of_core_counts_the_operations() -> None:
    """Compare the counts, which exclude operations without a resource, such as `/openapi.json`."""
    described, table = document()["paths"], rows("| Core |")
    counts = {name: [0, 0] for name in table}
    for column, kind in enumerate(("specification", "additions")):
        for one in ROUTES[kind]:
            if "extension" not in one and one["path"] in described:
                counts[described[one["path"]][one["method"].lower()]["tags"][0]][column] += 1
    assert {name: [int(cell) for cell in cells[1:]] for name, cells in table.items()} == counts


def test_the_table_of_parts_has_the_functions_and_the_price_of_core() -> None:
    _, *numbers = rows("| Part |")["core"]
    assert numbers == [str(len(declared_functions([]))), f"{idle_price.of_stage([]).dollars:.2f}"]


@pytest.mark.parametrize("name", present())
def test_the_table_of_parts_has_what_each_extension_adds(name: str) -> None:
    added = len(declared_functions([name])) - len(declared_functions([]))
    price = idle_price.of_stage([name]).dollars - idle_price.of_stage([]).dollars
    description, *numbers = rows("| Part |")[name]
    assert numbers == [str(added), f"{price:.2f}"]
    described = document()["paths"]
    for path in re.findall(r"`(/v3/[^`]+)`", description):
        marks = {operation.get("x-extension") for operation in described[path].values()}
        assert marks == {name}, path
