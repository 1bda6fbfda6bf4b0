"""The unit of work: failed conditions, transaction conflicts and lost responses."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from chalicelib import clock, errors, storage
from chalicelib.organisations import store
from chalicelib.organisations.store import OrganisationRow
from chalicelib.storage.client import connection
from tests.direct_writes import delete_now, put_now


@pytest.fixture
def row(engine: None, monkeypatch: pytest.MonkeyPatch) -> OrganisationRow:
    from chalicelib.storage import keyring

    keyring.ensure_data_key()
    monkeypatch.setattr(clock, "sleep", lambda duration: None)
    return save(store.new("w", "acme"), {}, {"name": "Acme"})


def save(row: OrganisationRow, before: storage.Document, after: storage.Document) -> OrganisationRow:
    with storage.unit_of_work():
        store.save(row, before, after)
    return row


def failing(operation: str, code: str, times: int) -> Iterator[None]:
    """Fail the first `times` requests of an operation before they are sent."""
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


WRITES = {"PutItem": put_now, "DeleteItem": delete_now}


@pytest.mark.parametrize(
    ("collisions", "operation"),
    [((name, "TransactionConflictException", 3), name) for name in WRITES],
    ids=list(WRITES),
    indirect=["collisions"],
)
def test_a_write_that_conflicts_with_a_transaction_is_retried(
    row: OrganisationRow, collisions: None, operation: str
) -> None:
    WRITES[operation](row)
    assert (storage.find(OrganisationRow, "w", "acme") is None) == (operation == "DeleteItem")


@pytest.mark.parametrize("collisions", [("PutItem", "TransactionConflictException", 99)], indirect=True)
def test_a_write_with_endless_conflicts_raises_an_error(row: OrganisationRow, collisions: None) -> None:
    with pytest.raises(errors.Unavailable):
        put_now(row)


def test_a_deletion_with_a_lost_answer_succeeds(row: OrganisationRow) -> None:
    delete_now(row)
    delete_now(row)
    assert storage.find(OrganisationRow, "w", "acme") is None


def test_a_record_that_changed_since_the_read_is_not_deleted(row: OrganisationRow) -> None:
    as_read = storage.find(OrganisationRow, "w", "acme")
    assert as_read is not None
    save(row, {"name": "Acme"}, {"name": "Other"})
    with pytest.raises(storage.ConditionFailed):
        delete_now(as_read)


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send every write twice, as the SDK does if a response is lost."""
    dispatch = connection._make_api_call

    def twice(operation: str, arguments: dict[str, Any]) -> Any:
        if operation in ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"):
            dispatch(operation, dict(arguments))
        return dispatch(operation, arguments)

    monkeypatch.setattr(connection, "_make_api_call", twice)


def test_a_version_tag_identifies_a_write_with_a_lost_answer(row: OrganisationRow, repeated: None) -> None:
    save(row, {"name": "Acme"}, {"name": "Other"})
    assert store.read("w", "acme").open()["name"] == "Other"


def test_version_tags_identify_a_transaction_with_a_lost_answer(row: OrganisationRow, repeated: None) -> None:
    other = store.new("w", "other")
    other.seal({"name": "Other"})
    with storage.unit_of_work():
        storage.put(row)
        storage.put(other)
    assert store.read("w", "other").open()["name"] == "Other"


def test_a_block_that_raises_writes_nothing(row: OrganisationRow) -> None:
    with pytest.raises(ZeroDivisionError), storage.unit_of_work():
        storage.delete(row)
        raise ZeroDivisionError
    assert storage.find(OrganisationRow, "w", "acme") is not None


def test_a_write_outside_a_unit_of_work_raises_an_error(row: OrganisationRow) -> None:
    with pytest.raises(RuntimeError):
        storage.put(row)


def test_the_first_failed_step_determines_the_error(row: OrganisationRow) -> None:
    here = storage.Key(OrganisationRow, *row.keys)
    gone = OrganisationRow.workspace.does_not_exist()
    with pytest.raises(errors.NotFound), storage.unit_of_work():
        new = store.new("w", "new")
        new.seal({})
        storage.put(new, OrganisationRow.workspace.does_not_exist(), errors.Forbidden())
        storage.require(here, gone, errors.NotFound())
        storage.require(storage.Key(OrganisationRow, "w", "unknown"), OrganisationRow.workspace.exists())
    assert storage.find(OrganisationRow, "w", "new") is None


def test_an_error_can_be_built_from_the_stored_item(row: OrganisationRow) -> None:
    seen: list[Any] = []

    def error(item: Any) -> errors.ApiError:
        seen.append(item["org_id"]["S"])
        return errors.Forbidden()

    with pytest.raises(errors.Forbidden), storage.unit_of_work():
        storage.update(row, [OrganisationRow.document.remove()], OrganisationRow.workspace.does_not_exist(), error)
    assert seen == ["acme"]


def test_a_function_is_retried_after_a_conflict_up_to_twenty_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "sleep", lambda duration: None)
    runs: list[int] = []

    def conflict() -> None:
        runs.append(1)
        raise storage.ConditionFailed()

    with pytest.raises(errors.Stale):
        storage.retry_on_conflict(conflict)
    assert len(runs) == 20


def test_a_batch_with_unprocessed_items_left_raises_unavailable(row: OrganisationRow) -> None:
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


def test_a_recreated_record_does_not_match_the_read_version(row: OrganisationRow) -> None:
    read = storage.find(OrganisationRow, *row.keys)
    assert read is not None
    delete_now(row)
    save(store.new(*row.keys), {}, {"name": "New"})
    for write in (put_now, delete_now):
        stale = storage.find(OrganisationRow, *row.keys)
        assert stale is not None
        stale.version_tag = read.version_tag
        with pytest.raises(storage.ConditionFailed):
            write(stale)


def test_a_transaction_with_too_many_items_is_refused(engine: None) -> None:
    with pytest.raises(errors.TooLarge), storage.unit_of_work():
        for number in range(101):
            storage.put(store.new("workspace", f"org-{number}"))
