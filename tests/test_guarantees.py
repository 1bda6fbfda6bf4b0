"""docs/guarantees.md names every promise, the tests that show it, and what they printed; none was broken."""

import re

from tests.promises import END, PAGE, PROMISES, START
from tests.test_locks import ROOT


def rows() -> list[list[str]]:
    table = PAGE.read_text(encoding="utf-8").split(START)[1].split(END)[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


def test_every_promise_is_on_the_page_and_nothing_else() -> None:
    assert [promise for promise, _, _ in rows()] == list(PROMISES.values())


def test_the_tests_that_are_named_are_there_and_show_that_promise() -> None:
    for name, (_, modules, _) in zip(PROMISES, rows(), strict=True):
        named = re.findall(r"`([^`]+)`", modules)
        assert named
        for module in named:
            assert f'promise("{name}")' in (ROOT / module).read_text(encoding="utf-8"), module


def test_no_promise_was_broken() -> None:
    assert all(printed.endswith(" 0 broken") for _, _, printed in rows())
