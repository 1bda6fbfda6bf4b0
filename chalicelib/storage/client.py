"""The process's SDK clients, and what the database's errors mean to a caller. Nothing else translates them."""

import logging
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session
from chalice.app import ChaliceUnhandledError
from pynamodb.connection import Connection
from pynamodb.exceptions import CancellationReason, DoesNotExist, PutError, PynamoDBException

from chalicelib import clock, errors

# At DEBUG they log whole requests and answers: that of KMS is the data key in clear.
for _name in ("pynamodb", "botocore"):
    logging.getLogger(_name).setLevel(logging.WARNING)

_session = Session()
_session_lock = threading.Lock()


@lru_cache
def sdk_client(service: str) -> Any:
    """The process's one SDK client for `service`.

    The default timeouts (60 s) exceed the gateway's 29 s: a caller would see the gateway give up while
    the write still happens. Four attempts of at most 5 s stay inside, and `request_deadline` holds several calls there.
    """
    config = Config(
        connect_timeout=1,
        read_timeout=4,
        parameter_validation=False,
        max_pool_connections=64,
        retries={"mode": "standard", "total_max_attempts": 4},
        user_agent="cams",  # the SDK would put a long one together for each request, a fifth of its instructions
    )
    with _session_lock:
        made = _session.create_client(service, config=config)
    made.meta.events.register("request-created", _begin)
    if service == "dynamodb":
        made.meta.events.register("after-call.dynamodb", _count)
    return made


# The last attempt begins so late at most; it takes 5 s, and the SDK pauses 4 s before the one that is not begun.
_ATTEMPTS_SECONDS = 18
_no_attempt_after: ContextVar[float | None] = ContextVar("no_attempt_after", default=None)


@contextmanager
def request_deadline() -> Iterator[None]:
    """Around what a gateway waits for, in this thread: Unavailable instead of an attempt that would outlast it."""
    token = _no_attempt_after.set(clock.monotonic() + _ATTEMPTS_SECONDS)
    try:
        yield
    finally:
        _no_attempt_after.reset(token)


def _begin(**_: Any) -> None:
    end = _no_attempt_after.get()
    if end is not None and clock.monotonic() > end:
        raise errors.Unavailable("The cloud's services answer too slowly; try again.")


class Meter:
    """What the database was asked for: requests that it answered, and the capacity units that it says they took."""

    def __init__(self) -> None:
        self.requests = 0
        self.units = {"read": 0.0, "write": 0.0}


_meter: ContextVar[Meter | None] = ContextVar("meter", default=None)
_READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"})


@contextmanager
def metered() -> Iterator[Meter]:
    """Count what the block asks the database for, in this thread."""
    meter = Meter()
    token = _meter.set(meter)
    try:
        yield meter
    finally:
        _meter.reset(token)


def _count(parsed: dict[str, Any], model: Any, **_: Any) -> None:
    meter = _meter.get()
    if meter is not None:
        meter.requests += 1  # PynamoDB asks each time what it took
        told = parsed.get("ConsumedCapacity") or ()
        kind = "read" if model.name in _READS else "write"
        meter.units[kind] += sum(one["CapacityUnits"] for one in ([told] if isinstance(told, dict) else told))


connection = Connection()
with suppress(BotoCoreError):  # no region in the environment: the first request says so, see _translation
    connection._client = sdk_client("dynamodb")  # at import: start-up is the part that a caller does not wait for


Item = dict[str, dict[str, Any]]


class ConditionFailed(errors.Stale, ChaliceUnhandledError):
    """Another write came first: whoever reads, decides and writes may run again (`unit.retry_on_conflict`).

    Chalice hands it on to the middleware instead of answering it, which is why it is a ChaliceUnhandledError, too.
    """

    # How often at most the function is run, and the longest backoff between two runs, as `retries.pause` counts.
    runs = 10
    longest_backoff = 7


class Rejected(Exception):
    """A condition of a write failed. `reasons` has one entry for each item of the request, in its order; `None` for an
    item whose condition held. For `storage.unit` alone."""

    def __init__(self, reasons: Sequence[CancellationReason | None]) -> None:
        super().__init__()
        self.reasons = list(reasons)


class TransactionConflict(errors.Unavailable):
    """A transaction of another writer holds an item; nothing has changed, and the SDK does not repeat the request."""


@contextmanager
def translate_errors() -> Iterator[None]:
    """Around every call of the database: its errors become ours; Rejected where a condition failed."""
    try:
        yield
    except DoesNotExist:
        raise
    except (PynamoDBException, BotoCoreError, ClientError) as error:
        raise _translation(error) from error


def _translation(error: Exception) -> Exception:
    cause = error.cause if isinstance(error, PynamoDBException) else error
    if isinstance(cause, BotoCoreError):
        endpoint = connection._client.meta.endpoint_url if connection._client else "any address: no region is set"
        return errors.Unavailable(f"The database does not answer at {endpoint}.")
    if not isinstance(cause, ClientError):
        # A batch of which the database has left something over again and again comes without a cause.
        return errors.Unavailable() if isinstance(error, PutError) else error
    code = cause.response.get("Error", {}).get("Code", "")
    if code == "ConditionalCheckFailedException":
        return Rejected([CancellationReason(code="ConditionalCheckFailed", raw_item=_stored_item(cause))])
    if code == "TransactionCanceledException":
        return _cancelled(getattr(cause, "cancellation_reasons", ()))
    if code == "ResourceNotFoundException":
        return errors.Unavailable("The tables of the service are not there; create them first.")
    if code == "TransactionConflictException":
        return TransactionConflict()
    if code == "ValidationException" and "size" in cause.response["Error"].get("Message", ""):
        return errors.TooLarge("The record is too large to store.")  # an item of 400 KB, a transaction of 4 MB
    # What stands before the database fails without a code; to the SDK its status is one.
    if code in _PASSING or re.fullmatch(r"5\d\d", code):
        return errors.Unavailable()
    return error


_PASSING = {
    "InternalServerError",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ServiceUnavailable",
    "ThrottlingException",
    "TransactionInProgressException",
}


def _cancelled(reasons: Sequence[CancellationReason | None]) -> Exception:
    codes = {reason.code for reason in reasons if reason}
    if codes == {"TransactionConflict"}:
        return TransactionConflict()
    if codes and codes <= {"ConditionalCheckFailed", "TransactionConflict"}:
        return Rejected(reasons)
    if "ValidationError" in codes:
        return errors.TooLarge("The record is too large to store.")
    return errors.Unavailable()


def _stored_item(error: ClientError) -> Item | None:
    """The item that failed a single write's condition. PynamoDB's copy of the SDK's error drops it."""
    cause = error.__cause__
    item: Item | None = cause.response.get("Item") if isinstance(cause, ClientError) else None
    return item
