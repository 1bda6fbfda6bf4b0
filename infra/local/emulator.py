"""Everything that knows MiniStack from the inside: which calls write, how one is repeated, what its state
consists of.

MiniStack keeps its state in memory and, on an orderly stop only, on disk. Here every call that writes is
recorded before its answer leaves, with its time and the seed of its randomness, and repeated at the next
start: table and stream names, event ids, sequence numbers and encryption keys come out as they were. This
leans on private names, so the version is pinned and checked, and `tests/reliability/test_local_engine.py`
kills the engine under load.

Of messages it is recorded that they were sent and that they are done with, not that somebody received them:
whoever did is gone after a restart, and they are there for the next one at once.
"""

from __future__ import annotations

import base64
import importlib
import importlib.metadata
import io
import json
import logging
import os
import pickle
import re
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from types import ModuleType
from typing import Any

from infra.local import repeatable
from infra.local.journal import Record

VERSION = "1.5.33"

# What is recorded: everything that is not known to be a read, so that a call nobody thought of is repeated
# rather than lost.
_WRITES = {
    "dynamodb": re.compile(r"(?!Get|List|Describe|Query|Scan|BatchGet|TransactGet|Search)\w"),
    "kms": re.compile(r"(?!Get|List|Describe|Encrypt|Decrypt|Sign|Verify|Generate)\w"),
    "sqs": re.compile(r"(?!Get|List|ReceiveMessage|ChangeMessageVisibility)\w"),
}
_COUNTERS = {"dynamodb": ("_stream_seq_counter",)}
# Calls of our own.
_EXPIRY = "expire"
_DONE = "done"
_DELETIONS = (".DeleteMessage", ".DeleteMessageBatch")

# The services that answer at all, and nothing that listens or looks for a container daemon beside the one
# port.
_ENVIRONMENT = {
    "SERVICES": "dynamodb,dynamodbstreams,kms,sqs",
    "IOT_MTLS_ENABLED": "0",
    "SFTP_ENABLED": "0",
    "DOCKER_HOST": "unix:///nonexistent",
    "PERSIST_STATE": "0",
    "LOG_LEVEL": "WARNING",
}

Answer = tuple[int, dict[str, str], bytes]
Handler = Callable[[str, str, dict[str, str], bytes, dict[str, Any]], Coroutine[Any, Any, Answer]]
_modules: dict[str, ModuleType] = {}
_handlers: dict[str, Handler] = {}


class RepeatError(Exception):
    """A recorded call did not give the answer that it gave when it was acknowledged."""


def wrong_version() -> str | None:
    """One sentence when the installed MiniStack is not the one this module was written for."""
    try:
        installed = importlib.metadata.version("ministack")
    except importlib.metadata.PackageNotFoundError:
        return f"MiniStack {VERSION} is not installed in this environment."
    if installed != VERSION:
        return f"The local engine needs MiniStack {VERSION}, and {installed} is installed."
    return None


def load() -> Callable[..., Awaitable[None]]:
    """Imports MiniStack with a clock that can be held still, and returns its ASGI application."""
    os.environ.update(_ENVIRONMENT)
    # It warns at import that keys for signatures need another package; nothing here signs.
    logging.getLogger("kms").setLevel(logging.ERROR)
    repeatable.install()
    responses = importlib.import_module("ministack.core.responses")
    vars(responses)["now_iso"] = _now_iso  # before the services copy the name; its own reads the real clock
    for service in _WRITES:
        _modules[service] = _import_without_reaper(service)
        _handlers[service] = _modules[service].handle_request
    # Done for every item that an expression is evaluated on: a page of a long list takes half as long without.
    for name in ("_tokenize", "_condition_syntax_error"):
        setattr(_modules["dynamodb"], name, lru_cache(4096)(getattr(_modules["dynamodb"], name)))
    application: Callable[..., Awaitable[None]] = importlib.import_module("ministack.app").app
    return application


def record_to(write: Callable[[Record], None]) -> None:
    """From now on every call that writes is handed to `write` before it is answered."""
    for service, module in _modules.items():
        vars(module)["handle_request"] = _recorded(service, _handlers[service], write)


def repeat(record: Record) -> None:
    """Does again what the record says, at its time and with its randomness."""
    scope = importlib.import_module("ministack.core.responses").request_scope
    with repeatable.held(repeatable.Moment(record["at"], record["seed"])):
        if record["call"] == _EXPIRY:
            _remove_expired()
            return
        if record["call"] == _DONE:
            _remove_messages(record["body"].split())
            return
        with scope(record["account"], record["region"]):
            try:
                status = _without_waiting(
                    _handlers[record["service"]](
                        "POST",
                        "/",
                        {"x-amz-target": record["call"]},
                        record["body"].encode("utf-8", "surrogateescape"),
                        {},
                    )
                )[0]
            except Exception:
                status = 500
    if (status < 300) != (record["status"] < 300):
        raise RepeatError(f"{record['call']} was answered with {record['status']} and is now with {status}")


def expire(write: Callable[[Record], None]) -> None:
    """Removes what has expired, as DynamoDB does some time after the moment in the item, and records it if it did."""
    moment = repeatable.new_moment()
    with repeatable.held(moment):
        removed = _remove_expired()
    if removed:
        write({"at": moment.at, "seed": moment.seed, "call": _EXPIRY})


def snapshot() -> str:
    """The whole state as one string: what all records so far have led to."""
    state = {service: _stores(module) for service, module in _modules.items()}
    # A table's index is derived and rebuilt when it is next asked for.
    state["dynamodb"]["_tables"] = {
        key: {name: value for name, value in table.items() if name != "_index_members"}
        for key, table in state["dynamodb"]["_tables"].items()
    }
    counters = {
        service: {name: getattr(_modules[service], name) for name in names} for service, names in _COUNTERS.items()
    }
    return base64.b64encode(pickle.dumps((state, counters), protocol=4)).decode("ascii")


def restore(text: str) -> None:
    """Puts a snapshot in the place of the empty state."""
    state, counters = _PlainData(io.BytesIO(base64.b64decode(text))).load()
    for service, stores in state.items():
        for name, data in stores.items():
            getattr(_modules[service], name)._data.update(data)
    for service, values in counters.items():
        vars(_modules[service]).update(values)
    for message in _messages():
        if message["receive_count"]:
            message["visible_at"] = 0.0


class _PlainData(pickle.Unpickler):
    """Reads data and nothing that could run: a state directory may come from somebody else."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) in (("collections", "defaultdict"), ("builtins", "dict")):
            return super().find_class(module_name, global_name)
        raise pickle.UnpicklingError(f"{module_name}.{global_name} does not belong into a journal")


def _recorded(service: str, handler: Handler, write: Callable[[Record], None]) -> Handler:
    async def handle_request(
        method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
    ) -> Answer:
        call = headers.get("x-amz-target", "")
        if not _WRITES[service].match(call.rpartition(".")[2]):
            return await handler(method, path, headers, body, query)
        to_repeat = body
        if call.endswith(_DELETIONS):
            call, to_repeat = _DONE, " ".join(_received(body)).encode()
        moment = repeatable.new_moment()
        status = 500
        try:
            with repeatable.held(moment):
                answer = _without_waiting(handler(method, path, headers, body, query))
            status = answer[0]
        finally:
            # Refusals and failures too: whatever they changed on the way, if anything, is then repeated as
            # well.
            write(
                {
                    "at": moment.at,
                    "seed": moment.seed,
                    "service": service,
                    "call": call,
                    "account": _modules[service].get_account_id(),
                    "region": _modules[service].get_region(),
                    "body": to_repeat.decode("utf-8", "surrogateescape"),
                    "status": status,
                }
            )
        return answer

    return handle_request


def _without_waiting(call: Coroutine[Any, Any, Answer]) -> Answer:
    """Runs a call to its end at once, so that the order of the records is the order in which the state changed."""
    try:
        call.send(None)
    except StopIteration as done:
        answer: Answer = done.value
        return answer
    call.close()
    raise RuntimeError("a recorded call must not wait for anything")


def _messages() -> Iterator[dict[str, Any]]:
    for _, queue in _modules["sqs"]._queues.all_items():
        yield from queue["messages"]


def _received(deletion: bytes) -> list[str]:
    """The ids of the messages that a deletion is about: it names them by receipts, which are not recorded."""
    request = json.loads(deletion)
    receipts = {one.get("ReceiptHandle") for one in [request, *request.get("Entries", [])]} - {None}
    return [message["id"] for message in _messages() if message["receipt_handle"] in receipts]


def _remove_messages(ids: Sequence[str]) -> None:
    # From whichever queue: a message that nobody could handle has moved to the dead letters, also unrecorded.
    for _, queue in _modules["sqs"]._queues.all_items():
        queue["messages"] = [message for message in queue["messages"] if message["id"] not in ids]


def _remove_expired() -> int:
    """The items whose TTL attribute has passed, removed with the stream record that DynamoDB writes for them."""
    dynamodb = _modules["dynamodb"]
    now = time.time()
    removed = 0
    for (account, region, name), setting in dynamodb._ttl_settings.all_items():
        table = dynamodb._tables.get_scoped(account, region, name)
        if table is None or setting["TimeToLiveStatus"] != "ENABLED":
            continue
        attribute = setting["AttributeName"]
        expired = [
            (hash_value, range_value, item)
            for hash_value, rows in table["items"].items()
            for range_value, item in rows.items()
            if "N" in item.get(attribute, {}) and float(item[attribute]["N"]) <= now
        ]
        with dynamodb.request_scope(account, region):
            for hash_value, range_value, item in expired:
                dynamodb._remove_item(table, hash_value, range_value)
                dynamodb._emit_stream_event(name, "REMOVE", item, None)
                if (table.get("StreamSpecification") or {}).get("StreamEnabled"):
                    identity = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
                    dynamodb._stream_records[name][-1]["userIdentity"] = identity
        removed += len(expired)
    return removed


def _stores(module: ModuleType) -> dict[str, Any]:
    responses = importlib.import_module("ministack.core.responses")
    return {
        name: value._data
        for name, value in vars(module).items()
        if isinstance(value, responses.AccountRegionScopedDict)
    }


def _import_without_reaper(service: str) -> ModuleType:
    """MiniStack removes expired items from a thread of its own, unrecorded and without a stream record: not here."""
    start = threading.Thread.start

    def start_unless_reaper(self: threading.Thread) -> None:
        if self.name != "dynamodb-ttl-reaper":
            start(self)

    threading.Thread.start = start_unless_reaper  # type: ignore[method-assign]
    try:
        return importlib.import_module(f"ministack.services.{service}")
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]


def _now_iso() -> str:
    now = datetime.fromtimestamp(time.time(), timezone.utc)
    return now.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
