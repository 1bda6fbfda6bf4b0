"""The record kinds that an erasure searches, and the erasure message in docs/operate.md."""

from collections.abc import Iterable

from chalicelib.extensions.erasures import kinds, store
from chalicelib.extensions.erasures.queue import Erase
from chalicelib.queues import messages
from tests import generated_docs
from tests.storage.row_classes import RowClass, extension_of, row_classes


def test_the_kinds_of_an_erasure_are_those_of_the_rows() -> None:
    assert kinds.by_name().keys() == declared(row_classes())


def test_a_new_erasure_counts_the_kinds_of_core() -> None:
    assert {*store.KINDS} == declared(row for row in row_classes() if not extension_of(row))


def declared(rows: Iterable[RowClass]) -> set[str]:
    """Return the erasure kinds that these classes declare."""
    return {row.lifecycle.erasure for row in rows if not row.lifecycle.erasure.startswith("no: ")}


def test_the_operators_page_has_the_message_that_continues_an_erasure() -> None:
    queue_url = '"$(aws sqs get-queue-url --queue-name cams-prod2-erasures --output text)"'
    lines = (
        "```sh",
        f"aws sqs send-message --queue-url {queue_url} \\",
        f"  --message-group-id WORKSPACE --message-body '{messages.pack(Erase('WORKSPACE', 'ERASURE'))}'",
        "```",
    )
    generated_docs.check("docs/operate.md", "erasure message", "".join(f"{line}\n" for line in lines))
