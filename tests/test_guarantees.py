"""docs/guarantees.md lists every guarantee, its tests and their last result; none is broken."""

import re

from tests.guarantees import END, GUARANTEES, PAGE, START
from tests.test_locks import ROOT


def rows() -> list[list[str]]:
    table = PAGE.read_text(encoding="utf-8").split(START)[1].split(END)[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


def test_the_page_lists_exactly_the_guarantees() -> None:
    assert [guarantee for guarantee, _, _ in rows()] == list(GUARANTEES.values())


def test_each_listed_module_has_a_test_of_its_guarantee() -> None:
    for name, (_, modules, _) in zip(GUARANTEES, rows(), strict=True):
        named = re.findall(r"`([^`]+)`", modules)
        assert named
        for module in named:
            assert f'guarantee("{name}")' in (ROOT / module).read_text(encoding="utf-8"), module


def test_no_guarantee_is_broken() -> None:
    assert all(printed.endswith(" 0 broken") for _, _, printed in rows())
