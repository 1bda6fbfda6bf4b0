"""Documents cite only existing paths and names, and stay short."""

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

from tests.extensions import are_all_on

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", *sorted(f"docs/{one.name}" for one in (ROOT / "docs").glob("*.md")))
EVERY_DOCUMENT = (*DOCUMENTS, "CHANGELOG.md")
MOST_BYTES = 12_000
# 20,000 words, and the pages and sections about replies, new messages, pull endpoints, recent counts, sessions, MCP,
# OpenAI, the bot, takeovers, drafts, the console's forms, inbox, charts and passwords, and the sessions' benchmark.
MOST_WORDS = 24_025

_EXTENSIONS = ROOT / "chalicelib/extensions"
_SUFFIXES = {".css", ".html", ".js", ".json", ".lock", ".md", ".py", ".svg", ".toml", ".txt", ".yaml"}
_PATH = re.compile(r"[\w.][\w./*-]*")
_UNTRACKED = {".git", ".local", ".mypy_cache", ".pytest_cache", ".ruff_cache", "__pycache__", "build"}
# Files that are not in the repository, because a run, a deployment or a reader creates them.
_GENERATED = {"credentials.json", "build/prod", "build/prod/.chalice", "receiver.py"}


@cache
def paths() -> frozenset[str]:
    """Return all files and directories in the repository."""
    names = set()
    for directory, inner, files in os.walk(ROOT):
        inner[:] = [name for name in inner if name not in _UNTRACKED and not name.startswith(".venv")]
        names |= {Path(directory, name).relative_to(ROOT).as_posix() for name in (*inner, *files)}
    return frozenset(names)


def looks_like_a_path(text: str) -> bool:
    """Return whether a quoted text has a file suffix or begins with a directory in the repository."""
    if not _PATH.fullmatch(text) or text in _GENERATED:
        return False
    first, slash, _ = text.partition("/")
    return PurePosixPath(text).suffix in _SUFFIXES or bool(slash and (first in paths() or text.endswith("/")))


def exists(path: str) -> bool:
    """Return whether the repository contains the path. A bare name such as `models.py` may be in any directory.

    A path in the folder of an absent extension counts as existing, because the documents still describe it.
    """
    name = path.removesuffix("/")
    folder = ROOT.joinpath(*PurePosixPath(name).parts[:3])
    if folder.parent == _EXTENSIONS and not folder.exists() and (ROOT / "tests/extensions" / folder.name).exists():
        return True
    known = paths() if "/" in name else {PurePosixPath(one).name for one in paths()}
    return any(PurePosixPath(one).match(name) for one in known) if "*" in name else name in known


def cited(document: str) -> Iterator[str]:
    """Yield every path that a document cites in backticks, in its map, or as a link target."""
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from filter(looks_like_a_path, re.findall(r"`([^`\n]+)`", prose))
    for language, block in blocks:
        if not language:
            yield from filter(looks_like_a_path, re.split(r"[\s,;]+", block))
    for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", prose):
        if "://" not in target:
            yield ((ROOT / document).parent / target).resolve().relative_to(ROOT).as_posix()


def anchors(document: str) -> set[str]:
    """Return the anchors that GitHub generates for a document's headings."""
    headings = re.findall(r"^#+ (.+)$", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_cites_only_paths_of_the_repository(document: str) -> None:
    assert sorted({path for path in cited(document) if not exists(path)}) == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_name_is_in_the_module_that_the_document_names(document: str) -> None:
    text = " ".join((ROOT / document).read_text(encoding="utf-8").split())
    named = re.findall(r"((?:`\w+`(?:, | and )?)+) (?:in|of) `(\w+/[\w/]+\.(?:py|json))`", text)
    places = [(name, ROOT / path) for names, path in named for name in re.findall(r"\w+", names) if name != "and"]
    present = [(name, path) for name, path in places if path.exists()]  # an extension may have no folder
    assert [f"{name} {path}" for name, path in present if not re.search(rf"\b{name}\b", path.read_text("utf-8"))] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_link_to_a_section_leads_to_a_heading(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    sections = re.findall(r"\]\(([\w./-]*)#([^)]+)\)", text)
    targets = [
        (str((ROOT / document).parent / target if target else ROOT / document), name) for target, name in sections
    ]
    assert [name for target, name in targets if name not in anchors(target)] == []


@pytest.mark.skipif(not are_all_on(), reason="The documents name the functions of all extensions.")
@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_name_with_underscores_is_in_the_code(document: str) -> None:
    prose = re.sub(r"^```.*?^```", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    names = set(re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+)+)`", prose))
    assert sorted(names - code_names()) == []


@cache
def code_names() -> frozenset[str]:
    folders = ("chalicelib", "infra", "tests", "benchmarks", "clients", "examples")
    files = [
        path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".yaml", ".json"}
    ]
    texts = (path.read_text("utf-8") for path in files if "node_modules" not in path.parts)
    return frozenset(name for text in texts for name in re.findall(r"[a-z0-9]+(?:_[a-z0-9]+)+", text))


@pytest.mark.parametrize("document", EVERY_DOCUMENT)
def test_a_module_that_a_document_runs_exists(document: str) -> None:
    """Check only modules after `-m`, because `infra.cams` in text is the operator's command."""
    text = " ".join((ROOT / document).read_text(encoding="utf-8").split())
    modules = {found.rstrip(".") for found in re.findall(r"-m ((?:infra|tests|benchmarks)[\w.]*)", text)}
    assert [one for one in sorted(modules) if not exists_as_module(one)] == []


def exists_as_module(module: str) -> bool:
    path = module.replace(".", "/")
    return exists(f"{path}.py") or exists(f"{path}/__main__.py")


def test_the_documents_cite_many_paths() -> None:
    assert sum(len(list(cited(document))) for document in DOCUMENTS) > 80


def test_a_path_that_does_not_exist_is_detected() -> None:
    assert exists("chalicelib/storage/rows.py") and exists("models.py") and exists("infra/")
    assert looks_like_a_path("chalicelib/http.py") and not exists("chalicelib/http.py")
    assert looks_like_a_path("no_such_module.py") and not exists("no_such_module.py")
    assert not looks_like_a_path("/v3/agents") and not looks_like_a_path("application/json")


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").stat().st_size <= MOST_BYTES


def test_all_documents_together_are_short() -> None:
    words = {document: len((ROOT / document).read_text(encoding="utf-8").split()) for document in EVERY_DOCUMENT}
    assert sum(words.values()) <= MOST_WORDS, words
