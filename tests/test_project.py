"""The project's files agree on one version number and one list of checks."""

import re
from pathlib import Path

import yaml

from app import app
from chalicelib import __version__
from chalicelib.openapi import document
from tests import extension_trees

ROOT = Path(__file__).parent.parent


def test_changelog_package_and_openapi_document_have_the_same_version() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert re.fullmatch(rf"{re.escape(__version__)} \(\d{{4}}-\d\d-\d\d\)", headings[1])
    assert document.build(app.routes)["info"]["version"] == __version__


def test_the_hooks_run_the_commands_of_make_check() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^check:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [hook["entry"] for hook in local["hooks"]] == [line.strip("\t@") for line in recipe.splitlines()]


def test_the_workflow_runs_the_gate() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert [step["run"] for step in steps if "run" in step] == [".ci/run"]


def test_the_gate_omits_only_existing_modules() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", "")
    (omitted,) = re.findall(r"^OMITTED := (.+)$", makefile, re.MULTILINE)
    assert [path for path in omitted.split() if not (ROOT / "tests" / path).exists()] == []


def test_the_root_has_few_files() -> None:
    files = [path.name for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]
    assert len(files) <= 14, files


def test_each_package_of_core_has_a_folder_of_tests() -> None:
    packages = {path.parent.name for path in (ROOT / "chalicelib").glob("*/__init__.py")}
    assert packages - {path.parent.name for path in (ROOT / "tests").glob("*/__init__.py")} == set()


def test_requirements_and_settings_of_tools_have_one_place() -> None:
    """Check that they are in `requirements/` and pyproject.toml. Only Chalice's requirements.txt is elsewhere."""
    suffixes = (".txt", ".lock", ".in", ".ini", ".cfg", ".toml", ".json")
    assert {path.name for path in ROOT.iterdir() if path.suffix in suffixes} == {"requirements.txt", "pyproject.toml"}


def test_the_tests_of_the_copies_without_extensions_exist() -> None:
    assert not [path for path in extension_trees.GATE if not (ROOT / path).exists()]
