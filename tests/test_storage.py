"""What the SDK does not repeat, or repeats once too often, at the one place that knows."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from chalicelib import clock, errors, storage
from chalicelib.organisations import store
from chalicelib.organisations.store import OrganisationRow


@pytest.fixture
def row(engine: None, monkeypatch: pytest.MonkeyPatch) -> OrganisationRow:
    from chalicelib.storage import keyring

    keyring.ensure()
    monkeypatch.setattr(clock, "sleep", lambda duration: None)
    row = store.new("w", "acme")
    store.save(row, {}, {"name": "Acme"})
    return row


def failing(operation: str, code: str, times: int) -> Iterator[None]:
    """Let an operation of the client fail so often before it is sent."""
    left = [times]

    def refuse(**_: Any) -> None:
        if left[0]:
            left[0] -= 1
            raise ClientError({"Error": {"Code": code, "Message": ""}}, operation)

    events = storage.sdk_client("dynamodb").meta.events
    events.register(f"before-call.dynamodb.{operation}", refuse)
    yield
    events.unregister(f"before-call.dynamodb.{operation}", refuse)


@pytest.fixture
def collisions(request: pytest.FixtureRequest) -> Iterator[None]:
    yield from failing(*request.param)


WRITES = {"PutItem": lambda row: storage.save(row), "DeleteItem": lambda row: storage.delete(row)}


@pytest.mark.parametrize(
    ("collisions", "operation"),
    [((name, "TransactionConflictException", 3), name) for name in WRITES],
    ids=list(WRITES),
    indirect=["collisions"],
)
def test_a_write_that_meets_a_transaction_is_done_again(row: OrganisationRow, collisions: None, operation: str) -> None:
    WRITES[operation](row)
    assert (storage.find(OrganisationRow, "w", "acme") is None) == (operation == "DeleteItem")


@pytest.mark.parametrize("collisions", [("PutItem", "TransactionConflictException", 99)], indirect=True)
def test_a_write_that_meets_transactions_for_ever_says_so(row: OrganisationRow, collisions: None) -> None:
    with pytest.raises(errors.Unavailable):
        storage.save(row)


def test_a_deletion_whose_answer_was_lost_is_a_deletion(row: OrganisationRow) -> None:
    storage.delete(row)
    storage.delete(row)
    assert storage.find(OrganisationRow, "w", "acme") is None


def test_what_somebody_has_changed_is_not_deleted(row: OrganisationRow) -> None:
    as_read = storage.find(OrganisationRow, "w", "acme")
    assert as_read is not None
    store.save(row, {"name": "Acme"}, {"name": "Other"})
    with pytest.raises(storage.ConditionFailed):
        storage.delete(as_read)


def test_a_save_whose_answer_was_lost_is_recognised_as_ours(
    row: OrganisationRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = OrganisationRow.save

    def twice(self: OrganisationRow, *arguments: Any) -> Any:
        version = self.version
        real(self, *arguments)
        self.version = version
        return real(self, *arguments)

    monkeypatch.setattr(OrganisationRow, "save", twice)
    store.save(row, {"name": "Acme"}, {"name": "Other"})
    assert store.read("w", "acme").open()["name"] == "Other"


def test_a_batch_of_which_something_is_always_left_over_is_a_database_that_is_busy(row: OrganisationRow) -> None:
    sent: list[Any] = []

    def keep(params: dict[str, Any], **_: Any) -> None:
        sent.append(params["RequestItems"])

    def leave(parsed: dict[str, Any], **_: Any) -> None:
        parsed["UnprocessedItems"] = sent[-1]

    events = storage.sdk_client("dynamodb").meta.events
    events.register("before-parameter-build.dynamodb.BatchWriteItem", keep)
    events.register("after-call.dynamodb.BatchWriteItem", leave)
    try:
        with pytest.raises(errors.Unavailable):
            storage.delete_many([row])
    finally:
        events.unregister("before-parameter-build.dynamodb.BatchWriteItem", keep)
        events.unregister("after-call.dynamodb.BatchWriteItem", leave)
    assert len(sent) > 2


def test_what_was_deleted_and_made_anew_is_not_what_was_read(row: OrganisationRow) -> None:
    """Its versions begin at 1 again."""
    read = storage.find(OrganisationRow, *row.keys)
    assert read is not None
    storage.delete(row)
    anew = store.new(*row.keys)
    store.save(anew, {}, {"name": "New"})
    assert anew.version == read.version
    writes = (
        lambda: storage.save(read),
        lambda: storage.delete(read),
        lambda: storage.transact(storage.put(read)),
        lambda: storage.transact(storage.remove(read)),
    )
    for write in writes:
        with pytest.raises(storage.ConditionFailed):
            write()


def test_more_than_a_transaction_may_have_is_too_large(row: OrganisationRow) -> None:
    steps = [storage.put(store.new("workspace", f"org-{number}")) for number in range(101)]
    with pytest.raises(errors.TooLarge):
        storage.transact(*steps)
