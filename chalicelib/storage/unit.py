"""The unit of work: a function reads, decides and *stages* its writes; one conditional request commits them all.

    with storage.unit_of_work():
        row = storage.find(...)
        row.seal(...)
        storage.put(row)

One staged write is sent as a single put, update or delete; several are one transaction. A step says with its `error`
what a failure of its condition means; the first staged step that failed decides. Without an `error` it means that
another write came first: `ConditionFailed`, after which `retry_on_conflict` runs the function again.

When the answer to a write is lost, the SDK repeats it, and the repetition fails its own condition. It is recognised
here, and nowhere else, by the version tag that it wrote. The biggest downside: a transaction costs twice the write
units of its items.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from itertools import count
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action

from chalicelib import errors, ids
from chalicelib.storage.client import (
    ConditionFailed,
    Item,
    Rejected,
    TransactionConflict,
    connection,
    translate_errors,
)
from chalicelib.storage.retries import pause
from chalicelib.storage.rows import Key, Row, TaggedRow, VersionedRow

_MAX_STEPS = 100  # items of one transaction
_ATTEMPTS = 12  # at one request, while other transactions hold its items

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
# What the failure of a condition means: an error, or a function that makes one from the stored item.
Failure = errors.ApiError | Callable[[Item | None], errors.ApiError]


class Step(NamedTuple):
    """A staged write of one item, or a check of one. `arguments` makes those of the request, when it is sent."""

    action: Literal["Put", "Update", "Delete", "ConditionCheck"]
    arguments: Callable[[], dict[str, Any]]
    version_tag: str | None
    error: Failure | None

    def wrote(self, item: Item | None) -> bool:
        """Whether the item, which failed the step's condition, is what this very step has written."""
        return item is not None and "version_tag" in item and item["version_tag"]["S"] == self.version_tag

    def failure(self, item: Item | None) -> errors.ApiError:
        """What the failed condition means; `item` is what is stored."""
        if self.error is None:
            return ConditionFailed()
        return self.error(item) if callable(self.error) else self.error


class Unit:
    """The writes that a function has staged, and the queue messages to send after their commit."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self.messages: list[tuple[str, str]] = []

    def stage(self, step: Step) -> None:
        """Add a step; the order decides which failure counts."""
        self._steps.append(step)

    def stage_first(self, step: Step) -> None:
        """Add a step whose failure counts before that of all others."""
        self._steps.insert(0, step)

    def discard(self) -> None:
        """Drop what was staged: nothing is written."""
        self._steps, self.messages = [], []

    def commit(self) -> None:
        """Write everything that was staged, or nothing.

        Raises what the first failed step says, ConditionFailed by default; TooLarge for more than 100 steps or 4 MB;
        Unavailable when the outcome is unknown, or when other transactions hold the items for too long.
        """
        if not self._steps:
            return
        if len(self._steps) > _MAX_STEPS:
            raise errors.TooLarge("The change is too large to store at once; send less of it.")
        operation, arguments = self._request()
        for attempt in range(_ATTEMPTS):
            try:
                with translate_errors():
                    connection.dispatch(operation, arguments)
                return
            except TransactionConflict:
                pause(attempt)
            except Rejected as rejected:
                if self._is_done(rejected):
                    return
                self._raise_unless_conflict(rejected)
                pause(attempt)
        raise errors.Unavailable("Too many writers at the same record; try again.")

    def _request(self) -> tuple[str, dict[str, Any]]:
        """The operation and its arguments; `Put` and the like are both the names of steps and of single writes."""
        (first, *others) = self._steps
        if not others and first.action != "ConditionCheck":
            return f"{first.action}Item", first.arguments()
        steps = [{step.action: step.arguments()} for step in self._steps]
        # With its token the SDK may repeat the transaction: the engine recognises it for ten minutes.
        return "TransactWriteItems", {"TransactItems": steps, "ClientRequestToken": ids.new_id()}

    def _is_done(self, rejected: Rejected) -> bool:
        """Whether an earlier attempt at this very request was applied, and only its answer was lost."""
        pairs = zip(self._steps, rejected.reasons, strict=True)
        if any(reason and step.wrote(reason.raw_item) for step, reason in pairs):
            return True
        # A deletion leaves no tag; of a single one that finds nothing, the purpose is achieved.
        (first, *others), (reason, *_) = self._steps, rejected.reasons
        return not others and first.action == "Delete" and reason is not None and not reason.raw_item

    def _raise_unless_conflict(self, rejected: Rejected) -> None:
        """Raise what the first failed step says; return where a transaction of another writer held its item."""
        for step, reason in zip(self._steps, rejected.reasons, strict=True):
            if reason is not None:
                if reason.code == "TransactionConflict":
                    return
                raise step.failure(reason.raw_item) from rejected


_open: ContextVar[Unit | None] = ContextVar("unit_of_work", default=None)


@contextmanager
def unit_of_work() -> Iterator[Unit]:
    """Open a unit of its own, inside another one too. What the block stages is committed at its end; nothing is written
    when the block raises. Raises what `Unit.commit` does."""
    unit = Unit()
    token = _open.set(unit)
    try:
        yield unit
    finally:
        _open.reset(token)
    unit.commit()


def current_unit() -> Unit:
    """The innermost open unit. Raises RuntimeError where none is open: every write belongs to one."""
    unit = _open.get()
    if unit is None:
        raise RuntimeError("A write was staged outside any unit of work.")
    return unit


def retry_on_conflict(action: Callable[[], Result]) -> Result:
    """The result of `action`, which reads, decides and writes; run again when another write came first.

    Raises ConditionFailed after ten runs.
    """
    for run in count(1):
        try:
            return action()
        except ConditionFailed as conflict:
            if run >= conflict.runs:
                raise
            pause(min(run, conflict.longest_backoff))
    raise AssertionError("unreachable")


def in_unit_of_work(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a store function that operators call, too: it joins the open unit, or opens one and commits it, with
    further runs after a conflict."""

    @wraps(function)
    def joined(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        def run() -> Result:
            with unit_of_work():
                return function(*args, **kwargs)

        return function(*args, **kwargs) if _open.get() else retry_on_conflict(run)

    return joined


def put(row: Row, condition: Condition | None = None, error: Failure | None = None) -> None:
    """Stage the write of an item; a versioned one is written only as it was read. Sets its new version tag."""
    condition = _unchanged(row, condition)
    tag = _set_version_tag(row)
    current_unit().stage(_put_step(row, condition, tag, error))


def put_first(row: TaggedRow, condition: Condition, error: Failure) -> None:
    """Stage the write of an item whose failure counts before that of every other step."""
    tag = _set_version_tag(row)
    current_unit().stage_first(_put_step(row, condition, tag, error))


def update(
    row: Row, actions: Sequence[Action], condition: Condition | None = None, error: Failure | None = None
) -> None:
    """Stage a change of single attributes of an item, whatever its version."""
    tag = _set_version_tag(row)
    changes = [*actions, type(row).version_tag.set(tag)] if isinstance(row, TaggedRow) and tag else list(actions)
    current_unit().stage(
        Step("Update", lambda: row.get_update_kwargs_from_instance(changes, condition, "ALL_OLD"), tag, error)
    )


def delete(row: Row, condition: Condition | None = None, error: Failure | None = None) -> None:
    """Stage the deletion of an item; a versioned one is deleted only as it was read."""
    condition = _unchanged(row, condition)
    current_unit().stage(Step("Delete", lambda: row.get_delete_kwargs_from_instance(condition, "ALL_OLD"), None, error))


def require(key: Key, condition: Condition, error: Failure | None = None) -> None:
    """Stage a condition on an item that is not written."""
    current_unit().stage(
        Step("ConditionCheck", lambda: key.row.get_operation_kwargs_from_class(*key[1:], condition), None, error)
    )


def _put_step(row: Row, condition: Condition | None, tag: str | None, error: Failure | None) -> Step:
    return Step("Put", lambda: row.get_save_kwargs_from_instance(condition, "ALL_OLD"), tag, error)


def _unchanged(row: Row, condition: Condition | None) -> Condition | None:
    """Optimistic locking: `condition`, and that a versioned item is as it was read, or absent if it is new."""
    if isinstance(row, VersionedRow):
        tag = type(row).version_tag
        condition &= tag.does_not_exist() if row.version_tag is None else tag == row.version_tag
    return condition


def _set_version_tag(row: Row) -> str | None:
    if not isinstance(row, TaggedRow):
        return None
    row.version_tag = ids.new_id()
    return row.version_tag
