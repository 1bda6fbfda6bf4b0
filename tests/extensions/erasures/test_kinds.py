"""The kinds of records that an erasure searches are those that the row classes declare."""

from chalicelib.extensions.erasures import kinds
from tests.storage.row_classes import row_classes


def test_the_kinds_of_an_erasure_are_those_of_the_rows() -> None:
    declared = {row.lifecycle.erasure for row in row_classes()}
    assert kinds.by_name().keys() == {kind for kind in declared if not kind.startswith("no: ")}
