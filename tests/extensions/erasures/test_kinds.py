"""The kinds of records that an erasure searches are those that the row classes declare; the documented message."""

from pathlib import Path

from chalicelib.extensions.erasures import kinds
from chalicelib.extensions.erasures.queue import Erase
from chalicelib.queues import messages
from tests.storage.row_classes import row_classes


def test_the_kinds_of_an_erasure_are_those_of_the_rows() -> None:
    declared = {row.lifecycle.erasure for row in row_classes()}
    assert kinds.by_name().keys() == {kind for kind in declared if not kind.startswith("no: ")}


def test_the_documentation_of_a_restore_has_the_message_of_an_erasure() -> None:
    text = (Path(__file__).parents[3] / "docs" / "operate.md").read_text("utf-8")
    assert f"`{messages.pack(Erase('workspace', 'erasure'))}`" in text
