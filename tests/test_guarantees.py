"""docs/guarantees.md lists every guarantee with its last result, and each one has a test."""

import re

import pytest

from tests.guarantees import END, GUARANTEES, PAGE, START
from tests.test_locks import ROOT


def test_the_page_lists_exactly_the_guarantees() -> None:
    table = PAGE.read_text(encoding="utf-8").split(START)[1].split(END)[0]
    assert re.findall(r"^\| (.+) \| .+ \|$", table, re.MULTILINE)[1:] == list(GUARANTEES.values())


@pytest.mark.parametrize("name", GUARANTEES)
def test_a_guarantee_has_a_test(name: str) -> None:
    modules = (ROOT / "tests").rglob("test_*.py")
    assert any(f'guarantee("{name}")' in module.read_text(encoding="utf-8") for module in modules)
