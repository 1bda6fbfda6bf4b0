"""The adapter for MiniStack: it loads the emulator for the local run, and saves after each write call.

MiniStack keeps its state in memory, and saves the state only on an orderly stop. `persistence` saves a call's changes
before the response is sent. Both modules depend on private names, so MiniStack's version is pinned and checked.
`tests/reliability/test_local_engine.py` kills the engine under load.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from infra.local import fair_queues, mail
from infra.local.data_file import DataFile
from infra.local.persistence import Persistence

VERSION = "1.5.33"

# Every call that is not a known read counts as a write, so that no change is lost. Receiving a message is not a write:
# after a restart, received messages are visible immediately, because their receivers have stopped, too.
_WRITES = {
    "dynamodb": re.compile(r"(?!Get|List|Describe|Query|Scan|BatchGet|TransactGet|Search)\w"),
    "kms": re.compile(r"(?!Get|List|Describe|Encrypt|Decrypt|Sign|Verify|Generate)\w"),
    "sqs": re.compile(r"(?!Get|List|ReceiveMessage|ChangeMessageVisibility)\w"),
}

# Enable five services, and disable everything else that listens on a port or looks for a container daemon.
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
Application = Callable[..., Awaitable[None]]
_modules: dict[str, ModuleType] = {}


def wrong_version() -> str | None:
    """Return an error if the installed MiniStack version is not the pinned version, otherwise None."""
    try:
        installed = importlib.metadata.version("ministack")
    except importlib.metadata.PackageNotFoundError:
        return f"MiniStack {VERSION} is not installed in this environment."
    if installed != VERSION:
        return f"The local engine needs MiniStack {VERSION}, but {installed} is installed."
    return None


def load(state: Path) -> Application:
    """Import MiniStack and return its ASGI application. Emails are written to files in `state`."""
    os.environ.update(_ENVIRONMENT)
    # Start no threads: MiniStack's TTL thread would delete items without a stream record.
    with mock.patch.object(threading.Thread, "start"):
        _modules.update({service: importlib.import_module(f"ministack.services.{service}") for service in _WRITES})
    # MiniStack parses an expression again for each item. Caching halves the time for a page from a long list.
    for name in ("_tokenize", "_condition_syntax_error"):
        setattr(_modules["dynamodb"], name, lru_cache(4096)(getattr(_modules["dynamodb"], name)))
    mail.install(importlib.import_module("ministack.services.ses"), state)
    vars(_modules["sqs"])["_collect_msgs"] = fair_queues.in_turn(_modules["sqs"]._collect_msgs)
    application: Application = importlib.import_module("ministack.app").app
    return application


def persist(data: DataFile) -> Persistence:
    """Load the state from the data file, and save all later changes there. Raise DataFileError."""
    persistence = Persistence(data, _modules, VERSION)
    for service, module in _modules.items():
        vars(module)["handle_request"] = _saved(_WRITES[service], module.handle_request, persistence)
    return persistence


def _saved(writes: re.Pattern[str], handler: Handler, persistence: Persistence) -> Handler:
    async def handle_request(
        method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
    ) -> Answer:
        call = headers.get("x-amz-target", "").rpartition(".")[2]
        if not writes.match(call):
            return await handler(method, path, headers, body, query)
        try:
            return _run_synchronously(handler(method, path, headers, body, query))
        finally:
            # The changes are saved even after an error, because the call may have changed the state before it failed.
            persistence.save(call)

    return handle_request


def _run_synchronously(call: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a call to completion without switching tasks, so that its changes are saved before the next call."""
    try:
        call.send(None)
    except StopIteration as done:
        answer: Answer = done.value
        return answer
    call.close()
    raise RuntimeError("a write call must not suspend")


def expire() -> None:
    """Delete expired items, and write the stream records that DynamoDB would write."""
    dynamodb = _modules["dynamodb"]
    now = time.time()
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
