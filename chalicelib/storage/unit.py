"""The unit of work: a function reads, decides and *stages* its writes; one conditional request commits them all.

    with storage.unit_of_work():
        row = storage.find(...)
        row.seal(...)
        storage.put(row)

A single staged write is sent as a conditional put, update or delete; several writes are sent as one transaction. If
conditions fail, the commit raises the `error` of the first failed step in staging order. The default error is
`ConditionFailed`: another write came first, and `retry_on_conflict` reruns the function.

If the response to a write is lost, the SDK retries the write, and the retry fails its own condition. This module
detects this case by comparing the stored version tag with the tag that it sent. A transaction consumes twice the write
units of its items.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action

from chalicelib import errors, ids
from chalicelib.storage.authors import AuthoredRow, current_author
from chalicelib.storage.client import ConditionFailed, Item, RejectedWrite, TransactionConflict, send
from chalicelib.storage.retries import pause
from chalicelib.storage.rows import Key, Row, TaggedRow, VersionedRow

_MAX_STEPS = 100  # DynamoDB's item limit per transaction
_ATTEMPTS = 12  # attempts per request while other transactions hold its items
# Maximum runs of a function whose conditions fail. If sixteen writers change one record, some need more than ten runs.
# All pauses together take at most 15 s.
_RUNS = 20

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
# The error for a failed condition, or a function that returns it for the stored item.
Failure = errors.ApiError | Callable[[Item | None], errors.ApiError]


class Step(NamedTuple):
    """A staged write or condition check for one item. `arguments` builds the request's arguments during the commit."""

    action: Literal["Put", "Update", "Delete", "ConditionCheck"]
    arguments: Callable[[], dict[str, Any]]
    version_tag: str | None
    error: Failure | None

    def wrote(self, item: Item | None) -> bool:
        """Return whether this step already wrote the item that now fails the condition."""
        return item is not None and "version_tag" in item and item["version_tag"]["S"] == self.version_tag

    def failure(self, item: Item | None) -> errors.ApiError:
        """Return the error for the failed condition. `item` is the stored item."""
        if self.error is None:
            return ConditionFailed()
        return self.error(item) if callable(self.error) else self.error


class Unit:
    """A function's staged writes, and the queue messages to send after the commit."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self.messages: list[tuple[str, str]] = []

    @property
    def has_writes(self) -> bool:
        """Whether any step changes an item. A condition check does not."""
        return any(step.action != "ConditionCheck" for step in self._steps)

    def stage(self, step: Step) -> None:
        """Add a step. If several conditions fail, the step that was staged first determines the error."""
        self._steps.append(step)

    def stage_first(self, step: Step) -> None:
        """Add a step whose error takes precedence over all other steps' errors."""
        self._steps.insert(0, step)

    def send_after_commit(self, queue: str, text: str) -> None:
        """Stage a queue message. `http.commit` sends it, and a replay of the request sends it again."""
        self.messages.append((queue, text))

    def discard(self) -> None:
        """Discard the staged writes and messages."""
        self._steps, self.messages = [], []

    def commit(self) -> None:
        """Write all staged steps atomically.

        Raise the first failed step's error (ConditionFailed by default). Raise TooLarge above 100 steps or 4 MB. Raise
        Unavailable if the outcome is unknown or other transactions hold the items for too long.
        """
        if not self._steps:
            return
        if len(self._steps) > _MAX_STEPS:
            raise errors.TooLarge("The change is too large for one request; split it.")
        operation, arguments = self._request()
        for attempt in range(_ATTEMPTS):
            try:
                send(operation, arguments)
                return
            except TransactionConflict:
                pause(attempt)
            except RejectedWrite as failed:
                if self._is_done(failed):
                    return
                self._raise_unless_conflict(failed)
                pause(attempt)
        raise errors.Unavailable("Too many simultaneous writes to this record; try again.")

    def _request(self) -> tuple[str, dict[str, Any]]:
        """Return the database operation and its arguments. A single-item operation begins with the step's action."""
        (first, *others) = self._steps
        if not others and first.action != "ConditionCheck":
            return f"{first.action}Item", first.arguments()
        steps = [{step.action: step.arguments()} for step in self._steps]
        # The token makes SDK retries idempotent for ten minutes.
        return "TransactWriteItems", {"TransactItems": steps, "ClientRequestToken": ids.new_id()}

    def _is_done(self, failed: RejectedWrite) -> bool:
        """Return whether an earlier attempt at this request was applied and only its response was lost."""
        pairs = zip(self._steps, failed.reasons, strict=True)
        if any(reason and step.wrote(reason.raw_item) for step, reason in pairs):
            return True
        # A deleted item has no tag to compare. If a single deletion finds no item, the item is already deleted.
        (first, *others), (reason, *_) = self._steps, failed.reasons
        return not others and first.action == "Delete" and reason is not None and not reason.raw_item

    def _raise_unless_conflict(self, failed: RejectedWrite) -> None:
        """Raise the first failed step's error, or return if another transaction held its item."""
        for step, reason in zip(self._steps, failed.reasons, strict=True):
            if reason is not None:
                if reason.code == "TransactionConflict":
                    return
                raise step.failure(reason.raw_item) from failed


_open: ContextVar[Unit | None] = ContextVar("unit_of_work", default=None)


@contextmanager
def unit_of_work() -> Iterator[Unit]:
    """Open a new unit, even inside another unit. Commit at the end of the block, unless the block raises.

    Raise the errors of `Unit.commit`.
    """
    unit = Unit()
    token = _open.set(unit)
    try:
        yield unit
    finally:
        _open.reset(token)
    unit.commit()


def current_unit() -> Unit:
    """Return the innermost open unit. Raise RuntimeError if no unit is open."""
    unit = _open.get()
    if unit is None:
        raise RuntimeError("A write was staged outside any unit of work.")
    return unit


def retry_on_conflict(action: Callable[[], Result]) -> Result:
    """Return the result of `action`, which reads, decides and writes. Rerun it with backoff after ConditionFailed.

    Raise the conflict after the twentieth run.
    """
    for run in range(1, _RUNS):
        try:
            return action()
        except ConditionFailed:
            pause(run)
    return action()


def in_unit_of_work(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a store function that routes and operator commands call.

    The function joins the open unit. If no unit is open, it opens and commits a new unit and retries on conflict.
    """

    @wraps(function)
    def joined(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        def run() -> Result:
            with unit_of_work():
                return function(*args, **kwargs)

        return function(*args, **kwargs) if _open.get() else retry_on_conflict(run)

    return joined


def put(row: Row, condition: Condition | None = None, error: Failure | None = None) -> None:
    """Stage a put and set the new version tag. A VersionedRow also requires the version tag that was read."""
    condition = _unchanged(row, condition)
    tag = _set_version_tag(row)
    if isinstance(row, AuthoredRow):
        row.changed_by = current_author()
    current_unit().stage(_put_step(row, condition, tag, error))


def put_first(row: TaggedRow, condition: Condition, error: Failure) -> None:
    """Stage a put whose error takes precedence over all other steps' errors."""
    tag = _set_version_tag(row)
    current_unit().stage_first(_put_step(row, condition, tag, error))


def update(
    row: Row, actions: Sequence[Action], condition: Condition | None = None, error: Failure | None = None
) -> None:
    """Stage an update of individual attributes, regardless of the item's version. Set the new version tag."""
    tag = _set_version_tag(row)
    changes = [*actions, type(row).version_tag.set(tag)] if isinstance(row, TaggedRow) and tag else list(actions)
    current_unit().stage(
        Step("Update", lambda: row.get_update_kwargs_from_instance(changes, condition, "ALL_OLD"), tag, error)
    )


def delete(row: Row, condition: Condition | None = None, error: Failure | None = None) -> None:
    """Stage a deletion. A VersionedRow also requires the version tag that was read."""
    condition = _unchanged(row, condition)
    current_unit().stage(Step("Delete", lambda: row.get_delete_kwargs_from_instance(condition, "ALL_OLD"), None, error))


def require(key: Key, condition: Condition, error: Failure | None = None) -> None:
    """Stage a condition on an item that the unit does not write."""
    current_unit().stage(
        Step(
            "ConditionCheck",
            lambda: key.row.get_operation_kwargs_from_class(key.partition, key.sort, condition),
            None,
            error,
        )
    )


def _put_step(row: Row, condition: Condition | None, tag: str | None, error: Failure | None) -> Step:
    return Step("Put", lambda: row.get_save_kwargs_from_instance(condition, "ALL_OLD"), tag, error)


def _unchanged(row: Row, condition: Condition | None) -> Condition | None:
    """Return `condition` with a VersionedRow's optimistic lock: the tag that was read, or no item if the row is new."""
    if isinstance(row, VersionedRow):
        tag = type(row).version_tag
        condition &= tag.does_not_exist() if row.version_tag is None else tag == row.version_tag
    return condition


def _set_version_tag(row: Row) -> str | None:
    if not isinstance(row, TaggedRow):
        return None
    # The history sorts changes by their tags.
    is_later = isinstance(row, AuthoredRow) and row.version_tag is not None
    row.version_tag = ids.next_id(row.version_tag) if is_later else ids.new_id()
    return row.version_tag
