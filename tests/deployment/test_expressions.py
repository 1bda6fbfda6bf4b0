"""The compiled regular expressions of the package: equal to those of `re`, and unused by another Python."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.package import build, expressions

EXPRESSIONS = [("(?P<year>[0-9]+)-(?P<month>\\d+)|[a-z]", re.IGNORECASE.value), ("ü*$", 0), (b"[\x80\"']", 0)]


@pytest.fixture
def module() -> str:
    line = [sys.executable, "-I", expressions.__file__]
    written = subprocess.run(
        line, input=repr(EXPRESSIONS), capture_output=True, text=True, encoding="utf-8", check=True
    )
    return written.stdout


@pytest.fixture
def cache() -> Iterator[dict[tuple[type, Any, int], re.Pattern[Any]]]:
    """Return the cache of `re`, empty."""
    re.purge()
    yield re._cache  # type: ignore[attr-defined]
    re.purge()


def test_the_module_adds_the_expressions_as_re_compiles_them(module: str, cache: dict[Any, re.Pattern[Any]]) -> None:
    exec(module, {})
    added = dict(cache)
    re.purge()
    for pattern, flags in EXPRESSIONS:
        expected = re.compile(pattern, flags)
        found = added.pop((type(pattern), pattern, flags))
        assert (found, found.groupindex, found.groups) == (expected, expected.groupindex, expected.groups)
    assert not added
    assert found is not expected


def test_an_expression_is_taken_from_the_module(module: str, cache: dict[Any, re.Pattern[Any]]) -> None:
    exec(module, {})
    pattern, flags = EXPRESSIONS[0]
    assert re.compile(pattern, flags) is re.compile(pattern, re.IGNORECASE) is cache[type(pattern), pattern, flags]


@pytest.mark.parametrize("other", [("_sre.MAGIC == ", "_sre.MAGIC == 1"), ("'_cache'", "'renamed'")])
def test_another_python_adds_nothing(other: tuple[str, str], module: str, cache: dict[Any, re.Pattern[Any]]) -> None:
    assert module.count(other[0]) == 1
    exec(module.replace(*other), {})
    assert not cache


def test_a_python_with_other_arguments_adds_nothing(module: str, cache: dict[Any, re.Pattern[Any]]) -> None:
    last = module.rindex("_sre.compile(")  # the earlier expressions are added first
    exec(module[:last] + module[last:].replace("(", "(0, ", 1), {})
    assert not cache


def test_an_application_that_cannot_be_imported_fails_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app.py").write_text("1 / 0")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    with pytest.raises(build.BuildError, match="cannot be imported"):
        build.stage(tmp_path / "staged")
