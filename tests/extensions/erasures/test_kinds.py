"""The kinds of records that an erasure searches are those that the row classes declare."""

from collections.abc import Iterable

from chalicelib.extensions.erasures import kinds, store
from tests.storage.row_classes import RowClass, extension_of, row_classes


def test_the_kinds_of_an_erasure_are_those_of_the_rows() -> None:
    assert kinds.by_name().keys() == declared(row_classes())


def test_a_new_erasure_counts_the_kinds_of_core() -> None:
    assert {*store.KINDS} == declared(row for row in row_classes() if not extension_of(row))


def declared(rows: Iterable[RowClass]) -> set[str]:
    """The kinds of an erasure that these classes declare."""
    return {row.lifecycle.erasure for row in rows if not row.lifecycle.erasure.startswith("no: ")}
