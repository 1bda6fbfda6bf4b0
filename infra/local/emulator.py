"""The adapter to MiniStack's internals: it records writing calls, replays them, and takes and restores snapshots.

MiniStack keeps its state in memory, and saves it only on an orderly stop. This module records each writing call before
its answer is sent, with its time and the seed of its randomness. The next start replays the calls with both, so table
and stream names, event ids, sequence numbers and encryption keys are the same. It depends on private names, so the
version is pinned and checked. `tests/reliability/test_local_engine.py` kills the engine under load.

For messages, it records sending and deletion, but not receiving. After a restart, a received message is visible at
once, because its receiver has stopped, too.
"""

from __future__ import annotations

import base64
import importlib
import importlib.metadata
import io
import json
import os
import pickle
import re
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from infra.local import determinism, fair_queues, mail, signing_keys, stream_trimming
from infra.local.journal import Record

VERSION = "1.5.33"
# How long a snapshot contains the requests of transactions.
SECONDS_OF_TRANSACTIONS = 60

# The recorded calls: all that are not known to be reads. An unknown call is replayed rather than lost.
_WRITES = {
    "dynamodb": re.compile(r"(?!Get|List|Describe|Query|Scan|BatchGet|TransactGet|Search)\w"),
    "kms": re.compile(r"(?!Get|List|Describe|Encrypt|Decrypt|Sign|Verify|Generate)\w"),
    "sqs": re.compile(r"(?!Get|List|ReceiveMessage|ChangeMessageVisibility)\w"),
}
_COUNTERS = {"dynamodb": ("_stream_seq_counter",)}
# Records of this module, instead of a MiniStack call.
_EXPIRY = "expire"
_DONE = "done"
_DELETIONS = (".DeleteMessage", ".DeleteMessageBatch")
_ITEM_DELETIONS = re.compile(r"\.DeleteItem$|\.(BatchWriteItem|TransactWriteItems)$")

# Enables five services, and disables everything else that listens on a port or looks for a container daemon.
_ENVIRONMENT = {
    "SERVICES": "dynamodb,dynamodbstreams,kms,ses,sqs",
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


class ReplayError(Exception):
    """A replayed call succeeded where the original failed, or the reverse."""


def wrong_version() -> str | None:
    """One sentence if the installed MiniStack is not the pinned version, otherwise None."""
    try:
        installed = importlib.metadata.version("ministack")
    except importlib.metadata.PackageNotFoundError:
        return f"MiniStack {VERSION} is not installed in this environment."
    if installed != VERSION:
        return f"The local engine needs MiniStack {VERSION}, but {installed} is installed."
    return None


def load(state: Path) -> Callable[..., Awaitable[None]]:
    """Import MiniStack with a clock that can be pinned; returns its ASGI application. Mails go to files in `state`."""
    os.environ.update(_ENVIRONMENT)
    determinism.install()
    responses = importlib.import_module("ministack.core.responses")
    vars(responses)["now_iso"] = _now_iso  # before the services import the name; the original reads the real clock
    for service in _WRITES:
        _modules[service] = _import_without_reaper(service)
        _handlers[service] = _modules[service].handle_request
    # MiniStack parses an expression again for each item. Caching halves the time for a page of a long list.
    for name in ("_tokenize", "_condition_syntax_error"):
        setattr(_modules["dynamodb"], name, lru_cache(4096)(getattr(_modules["dynamodb"], name)))
    signing_keys.install(_modules["kms"])
    mail.install(importlib.import_module("ministack.services.ses"), state)
    vars(_modules["sqs"])["_collect_msgs"] = fair_queues.in_turn(_modules["sqs"]._collect_msgs)
    application: Callable[..., Awaitable[None]] = importlib.import_module("ministack.app").app
    return application


def record_to(write: Callable[[Record], None]) -> None:
    """Pass a record of every writing call to `write`, before the call is answered."""
    for service, module in _modules.items():
        vars(module)["handle_request"] = _recorded(service, _handlers[service], write)


def replay(record: Record) -> None:
    """Replay a recorded call with its time and randomness. Raises ReplayError."""
    scope = importlib.import_module("ministack.core.responses").request_scope
    with determinism.pinned(determinism.Moment(record["at"], record["seed"])):
        if record["call"] == _EXPIRY:
            _remove_expired()
            return
        if record["call"] == _DONE:
            _remove_messages(record["body"].split())
            return
        with scope(record["account"], record["region"]):
            try:
                status = _run_synchronously(
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
        raise ReplayError(f"{record['call']} returned {record['status']} originally, but {status} in the replay")


def expire(write: Callable[[Record], None]) -> None:
    """Delete expired items, as DynamoDB's TTL does, and record the deletion if there were any."""
    moment = determinism.new_moment()
    with determinism.pinned(moment):
        removed = _remove_expired()
    if removed:
        write({"at": moment.at, "seed": moment.seed, "call": _EXPIRY})


def deletes_items(record: Record) -> bool:
    """Whether a record may delete items: a text in a batch may look like a deletion."""
    found = _ITEM_DELETIONS.search(record["call"])
    return found is not None and (found[0] == ".DeleteItem" or '"Delete' in record["body"])


def trim_streams(positions: Path) -> bool:
    """Drop the stream records that the worker has processed; return whether a dropped record was that of a deletion."""
    return stream_trimming.trim(_modules["dynamodb"], positions)


def snapshot() -> str:
    """The whole state as a string, equivalent to all records so far."""
    state = {service: _stores(module) for service, module in _modules.items()}
    # The index of a table is derived data, which MiniStack rebuilds on demand.
    state["dynamodb"]["_tables"] = {
        key: {name: value for name, value in table.items() if name != "_index_members"}
        for key, table in state["dynamodb"]["_tables"].items()
    }
    # MiniStack keeps the whole request of each transaction for ten minutes. The SDK repeats a request within a minute.
    state["dynamodb"]["_txn_idempotency"] = {
        key: request
        for key, request in state["dynamodb"]["_txn_idempotency"].items()
        if request["completed_at"] > time.time() - SECONDS_OF_TRANSACTIONS
    }
    state["kms"]["_keys"] = signing_keys.pack(_modules["kms"], state["kms"]["_keys"])
    counters = {
        service: {name: getattr(_modules[service], name) for name in names} for service, names in _COUNTERS.items()
    }
    return base64.b64encode(pickle.dumps((state, counters), protocol=4)).decode("ascii")


def restore(text: str) -> None:
    """Load a snapshot into the empty state."""
    state, counters = _PlainData(io.BytesIO(base64.b64decode(text))).load()
    state["kms"]["_keys"] = signing_keys.unpack(_modules["kms"], state["kms"]["_keys"])
    for service, stores in state.items():
        for name, data in stores.items():
            getattr(_modules[service], name)._data.update(data)
    for service, values in counters.items():
        vars(_modules[service]).update(values)
    for message in _messages():
        if message["receive_count"]:
            message["visible_at"] = 0.0


class _PlainData(pickle.Unpickler):
    """Unpickles plain data only, because a state directory from another person could contain code."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) in (("collections", "defaultdict"), ("builtins", "dict")):
            return super().find_class(module_name, global_name)
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is not allowed in a journal")


def _recorded(service: str, handler: Handler, write: Callable[[Record], None]) -> Handler:
    async def handle_request(
        method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
    ) -> Answer:
        call = headers.get("x-amz-target", "")
        if not _WRITES[service].match(call.rpartition(".")[2]):
            return await handler(method, path, headers, body, query)
        to_record = body
        if call.endswith(_DELETIONS):
            call, to_record = _DONE, " ".join(_message_ids(body)).encode()
        moment = determinism.new_moment()
        status = 500
        try:
            with determinism.pinned(moment):
                answer = _run_synchronously(handler(method, path, headers, body, query))
            status = answer[0]
        finally:
            # Also after an error: the call may have changed the state before it failed.
            write(
                {
                    "at": moment.at,
                    "seed": moment.seed,
                    "service": service,
                    "call": call,
                    "account": _modules[service].get_account_id(),
                    "region": _modules[service].get_region(),
                    "body": to_record.decode("utf-8", "surrogateescape"),
                    "status": status,
                }
            )
        return answer

    return handle_request


def _run_synchronously(call: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a call to its end without a switch to another task, so that records are in the order of the changes."""
    try:
        call.send(None)
    except StopIteration as done:
        answer: Answer = done.value
        return answer
    call.close()
    raise RuntimeError("a recorded call must not suspend")


def _messages() -> Iterator[dict[str, Any]]:
    for _, queue in _modules["sqs"]._queues.all_items():
        yield from queue["messages"]


def _message_ids(deletion: bytes) -> list[str]:
    """The ids of the messages that a request deletes. It has their receipt handles, which are not recorded."""
    request = json.loads(deletion)
    receipts = {one.get("ReceiptHandle") for one in [request, *request.get("Entries", [])]} - {None}
    return [message["id"] for message in _messages() if message["receipt_handle"] in receipts]


def _remove_messages(ids: Sequence[str]) -> None:
    # Search all queues, because the move of a message to a dead-letter queue is not recorded either.
    for _, queue in _modules["sqs"]._queues.all_items():
        queue["messages"] = [message for message in queue["messages"] if message["id"] not in ids]


def _remove_expired() -> int:
    """Delete the items whose TTL has passed, with DynamoDB's stream records. Returns the number of items."""
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
    """Import a service without its TTL thread, which deletes items without a journal or stream record."""
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
