"""docs/guarantees.md lists every guarantee with its latest result, and every guarantee has a test."""

import pytest

from tests import generated_docs
from tests.guarantees import GUARANTEES, PAGE
from tests.test_locks import ROOT


def test_the_page_lists_exactly_the_guarantees() -> None:
    assert [guarantee for guarantee, _ in generated_docs.rows(PAGE, "guarantees")] == list(GUARANTEES.values())


@pytest.mark.parametrize("name", GUARANTEES)
def test_a_guarantee_has_a_test(name: str) -> None:
    modules = (ROOT / "tests").rglob("test_*.py")
    assert any(f'guarantee("{name}")' in module.read_text(encoding="utf-8") for module in modules)
