"""The process's SDK clients, and the only place that translates database errors into API errors."""

import logging
import math
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.handlers import BUILTIN_HANDLERS
from botocore.session import Session
from chalice.app import ChaliceUnhandledError
from pynamodb.connection import Connection
from pynamodb.exceptions import CancellationReason, PutError, PynamoDBException

from chalicelib import clock, errors

# At DEBUG level, these libraries log whole responses, and a KMS response contains the data key in plain text.
for _name in ("pynamodb", "botocore"):
    logging.getLogger(_name).setLevel(logging.WARNING)

_session = Session(include_builtin_handlers=False)
# The SDK compares each new event name with 65 former names of services, which CAMS does not use.
_session.get_component("event_emitter")._event_aliases = {}
_session_lock = threading.Lock()


@lru_cache
def _register_handlers(*service: str) -> None:
    """Register the SDK's event handlers for one service. Without a service, register those for every service.

    Registering the handlers of unused services would take 5 % of a cold start.
    """
    for event, handler, *_ in BUILTIN_HANDLERS:
        if event.split(".")[1:2] == [*service]:
            _session.register(event, handler)


_register_handlers()


@lru_cache
def sdk_client(service: str, attempts: int = 4) -> Any:
    """Return the process's only SDK client for `service`, which tries each call up to `attempts` times.

    The SDK's default timeout (60 s) exceeds the gateway's timeout (29 s), so the gateway would give up during a write.
    Four attempts of at most 5 s fit within 29 s. `metered` limits sequences of calls.
    """
    config = Config(
        connect_timeout=1,
        read_timeout=4,
        parameter_validation=False,
        max_pool_connections=64,
        retries={"mode": "standard", "total_max_attempts": attempts},
        user_agent="cams",  # building the default value for each request takes a fifth of the SDK's CPU instructions
    )
    with _session_lock:
        _register_handlers(service)
        client = _session.create_client(service, config=config)
    client.meta.events.register("request-created", lambda **_: seconds_left())
    if service == "dynamodb":
        client.meta.events.register("after-call.dynamodb", _record_capacity)
    return client


# No attempt starts later than this. The last attempt takes up to 5 s, and the SDK's backoff up to 4 s. The total of 27
# s is below the gateway's timeout of 29 s.
_DEADLINE_SECONDS = 18


class Meter:
    """A request's deadline, its number of database requests, and the read and write capacity units they consumed."""

    def __init__(self) -> None:
        self.deadline = clock.monotonic() + _DEADLINE_SECONDS
        self.requests = 0
        self.units = {"read": 0.0, "write": 0.0}


_meter: ContextVar[Meter | None] = ContextVar("meter", default=None)
_READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"})


@contextmanager
def metered() -> Iterator[Meter]:
    """Count this thread's database requests in the block, and keep its SDK calls within the gateway's timeout.

    An attempt that would start after 18 s raises Unavailable.
    """
    meter = Meter()
    token = _meter.set(meter)
    try:
        yield meter
    finally:
        _meter.reset(token)


def seconds_left() -> float:
    """Return the number of seconds during which SDK calls may still start. Raise Unavailable if no time remains."""
    meter = _meter.get()
    left = math.inf if meter is None else meter.deadline - clock.monotonic()
    if left < 0:
        raise errors.Unavailable("A backing service is responding too slowly; try again.")
    return left


def _record_capacity(parsed: dict[str, Any], model: Any, **_: Any) -> None:
    meter = _meter.get()
    if meter is not None:
        meter.requests += 1
        consumed = parsed.get("ConsumedCapacity") or ()  # every operation requests this member
        kind = "read" if model.name in _READS else "write"
        meter.units[kind] += sum(
            table["CapacityUnits"] for table in ([consumed] if isinstance(consumed, dict) else consumed)
        )


connection = Connection()
with suppress(BotoCoreError):  # without a region, the first request raises the error (`_to_api_error`)
    connection._client = sdk_client("dynamodb")  # created at import, while the function initialises


Item = dict[str, dict[str, Any]]


class ConditionFailed(errors.Stale, ChaliceUnhandledError):
    """A conditional write failed because another write came first. `unit.retry_on_conflict` reruns the function.

    It is also a ChaliceUnhandledError, because Chalice passes such errors to the middleware instead of handling them.
    """


class RejectedWrite(Exception):
    """The database rejected a write because one of its conditions failed. Only `storage.unit` handles it.

    `reasons` has one entry per item in the request, in order. An entry is None if the item's condition held.
    """

    def __init__(self, reasons: Sequence[CancellationReason | None]) -> None:
        super().__init__()
        self.reasons = list(reasons)


class TransactionConflict(errors.Unavailable):
    """Another transaction holds one of the items, or a table throttles the transaction.

    Nothing has changed, and the SDK does not retry the request.
    """


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate database errors raised in the block into API errors, or into RejectedWrite for a failed condition."""
    try:
        yield
    except (PynamoDBException, BotoCoreError, ClientError) as error:
        translated = _to_api_error(error)
        if translated is error:  # an error must not be its own cause, because the chain of causes would be infinite
            raise
        raise translated from error


def send(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Send a database request, and return the response. Raise the errors of `translate_errors`."""
    with translate_errors():
        # PynamoDB's `dispatch` also generates an id and sends signals, which take 2 % of an agent read's instructions.
        return connection._make_api_call(operation, {**arguments, "ReturnConsumedCapacity": "TOTAL"})


def is_outage(error: Exception) -> bool:
    """Return whether an operation that failed with this error may succeed if it is retried unchanged.

    This is the case if the database, KMS or a queue failed or denied access, if a newer version stored a record, or if
    another write came first. Any other error is caused by the data or by a defect in the code.
    """
    if isinstance(error, errors.Unavailable | ConditionFailed):
        return True
    cause = error.cause if isinstance(error, PynamoDBException) else error
    if isinstance(cause, ClientError):
        code: str = cause.response.get("Error", {}).get("Code", "")
        return code != "ValidationException"
    return isinstance(cause, BotoCoreError)


def _to_api_error(error: Exception) -> Exception:
    cause = error.cause if isinstance(error, PynamoDBException) else error
    if isinstance(cause, BotoCoreError):
        endpoint = (
            connection._client.meta.endpoint_url if connection._client else "any address because no region is set"
        )
        return errors.Unavailable(f"The database is not reachable at {endpoint}.")
    if not isinstance(cause, ClientError):
        # If a batch's items repeatedly remain unprocessed, PynamoDB gives up with a PutError that has no cause.
        return errors.Unavailable() if isinstance(error, PutError) else error
    code = cause.response.get("Error", {}).get("Code", "")
    if code == "ConditionalCheckFailedException":
        return RejectedWrite([CancellationReason(code="ConditionalCheckFailed", raw_item=_stored_item(cause))])
    if code == "TransactionCanceledException":
        return _cancellation_error(getattr(cause, "cancellation_reasons", ()))
    if code == "ResourceNotFoundException":
        return errors.Unavailable("The service's tables do not exist; create them first.")
    if code == "TransactionConflictException":
        return TransactionConflict()
    if code == "ValidationException" and "size" in cause.response["Error"].get("Message", ""):
        return errors.TooLarge("The record is too large to store.")  # limits: 400 KB per item, 4 MB per transaction
    # Errors from a proxy in front of the database have no error code, so the SDK uses their HTTP status instead.
    if code in _TRANSIENT or re.fullmatch(r"5\d\d", code):
        return errors.Unavailable()
    return error


_TRANSIENT = {
    "InternalServerError",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ServiceUnavailable",
    "ThrottlingException",
    "TransactionInProgressException",
}


def _cancellation_error(reasons: Sequence[CancellationReason | None]) -> Exception:
    codes = {reason.code for reason in reasons if reason}
    if codes and codes <= {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}:
        return TransactionConflict()
    if codes and codes <= {"ConditionalCheckFailed", "TransactionConflict"}:
        return RejectedWrite(reasons)
    if "ValidationError" in codes:
        return errors.TooLarge("The record is too large to store.")
    return errors.Unavailable()


def _stored_item(error: ClientError) -> Item | None:
    """Return the stored item that failed the condition of a single write. PynamoDB's copy of the SDK error omits it."""
    cause = error.__cause__
    item: Item | None = cause.response.get("Item") if isinstance(cause, ClientError) else None
    return item
