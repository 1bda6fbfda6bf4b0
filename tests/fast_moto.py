"""The tests' fast path, which bypasses parts of moto and the SDK.

Most tests use this path. It halves the suite's run time. `make test-long` runs all tests without the fast path
(`pytest --plain-moto`), and `tests/contract` never uses it. The fast path bypasses:

1. **HTTP.** A handler of botocore's `before-call` event passes DynamoDB's data operations to moto's `DynamoHandler`.
   The SDK does not sign, encode or send the request, and moto does not route it. The events after `before-call` are
   skipped: `request-created`, `before-send`, `before-parse`, `response-received` and `needs-retry`. Tests that use
   these events to count attempts, lose responses or repeat requests run inside `over_http()`. Errors still pass through
   moto's serialiser and the SDK's parser. Tests that move the clock within a request use the fixture `fast_path`,
   because the skipped events enforce the request's time limit; `--plain-moto` skips these tests.
2. **Concurrent requests.** A lock makes moto apply one data operation at a time, as an engine does.
3. **Transaction backups.** moto copies all tables before a transaction, and restores the copy if the transaction fails.
   On the fast path, the copy shares the items and stream records with the tables, and updates change a copy of the
   item.
4. **New tables.** The `engine` fixture empties the previous test's tables and queues instead of creating new ones
   (`kept_engine`).
5. **Common records.** A workspace and its agent are created once per process. Later tests restore the same rows and
   stream records with the same ids (`restore_or_create`).
6. **Other HTTP clients.** On each start, moto builds 1,300 URL patterns for requests that the SDK does not send. The
   fast path skips this.
7. **Private keys.** All symmetric KMS keys share one RSA key, which moto would generate for each.
8. **Tables.** moto's queries and items are replaced by faster ones with the same results (`tests/fast_tables.py`).
9. **Stream records.** The handler of 1 also returns the records of DynamoDB Streams.
"""

import copy
import json
import pickle
import threading
from base64 import b64decode
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import cache
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

from botocore.awsrequest import AWSResponse
from botocore.parsers import create_parser
from moto import mock_aws
from moto.core.exceptions import ServiceException
from moto.core.models import DEFAULT_ACCOUNT_ID, RESPONSES_METHODS, botocore_stubber
from moto.core.responses import ActionResult
from moto.core.utils import camelcase_to_underscores
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler
from moto.dynamodbstreams.models import dynamodbstreams_backends
from moto.kms import models as kms_models
from moto.kms.utils import AbstractPrivateKey, KeySpec, generate_private_key
from werkzeug.exceptions import HTTPException

from tests import fast_tables
from tests.engines import create_resources
from tests.moto_tables import tables

T = TypeVar("T")

OPERATIONS = frozenset(
    {
        *("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan"),
        *("BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"),
    }
)
_is_on = False
_over_http = 0
_turn = threading.Lock()  # moto's tables are plain dictionaries
_methods = [*RESPONSES_METHODS]
_update_item = DynamoDBBackend.update_item


def use(client: Any) -> None:
    """Enable the fast path for the data operations of this DynamoDB client. Call the function once per client."""
    attach(client)
    _switch(on=True)


def attach(client: Any) -> None:
    """Use the fast path, while it is enabled, for the data operations of a client of DynamoDB or DynamoDB Streams.

    Call this function once per client.
    """
    # Register the handler last and for all operations, so that every other handler of the event runs first.
    client.meta.events.register_last("before-call", _answer)


@contextmanager
def plain_moto() -> Iterator[None]:
    """Use unmodified moto inside the block."""
    before = _is_on
    _switch(on=False)
    try:
        yield
    finally:
        _switch(on=before)


def _switch(*, on: bool) -> None:
    global _is_on
    _is_on = on
    RESPONSES_METHODS[:] = [] if on else _methods
    DynamoDBBackend.update_item = _update_copy if on else _update_item  # type: ignore[assignment, method-assign]
    fast_tables.switch(on=on)
    kms_models.generate_private_key = _share_unused_key if on else generate_private_key  # type: ignore[attr-defined]
    if on:
        Table.__deepcopy__ = _copy  # type: ignore[attr-defined]
    elif hasattr(Table, "__deepcopy__"):
        del Table.__deepcopy__


# 1 and 2: the data operations of DynamoDB


@contextmanager
def over_http() -> Iterator[None]:
    """Send requests through the whole SDK and moto inside the block."""
    global _over_http
    _over_http += 1
    try:
        yield
    finally:
        _over_http -= 1


def _answer(params: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> Any:
    is_served = _is_on and not _over_http and botocore_stubber.enabled and "amazonaws" in params["url"]
    if is_served and model.name == "GetRecords":
        return _stream_records(json.loads(params["body"]), context["client_region"])
    if not is_served or model.name not in OPERATIONS:
        return None
    handler = DynamoHandler()
    handler.current_account, handler.region = DEFAULT_ACCOUNT_ID, context["client_region"]
    handler.headers, handler.querystring, handler.response_headers = params["headers"], {}, {}
    handler.body = handler.params = json.loads(params["body"], object_hook=_with_binary_values)
    try:
        with _turn:
            result = getattr(handler, camelcase_to_underscores(model.name))()
    except ServiceException as error:
        status, headers, body = handler.serialized(ActionResult(error))
        return _error(model, status, headers, body)
    except HTTPException as error:
        return _error(model, error.code or HTTPStatus.BAD_REQUEST, {}, error.description or "")
    known = model.output_shape.members
    return _parsed(HTTPStatus.OK, {}, {name: one for name, one in result.result.items() if name in known})


def _with_binary_values(value: dict[str, Any]) -> dict[str, Any]:
    if len(value) == 1:
        if isinstance(value.get("B"), str):
            return {"B": b64decode(value["B"])}
        if isinstance(value.get("BS"), list):
            return {"BS": [one if isinstance(one, bytes) else b64decode(one) for one in value["BS"]]}
    return value


def _error(model: Any, status: int, headers: Any, body: str | bytes) -> Any:
    received = {"status_code": status, "headers": headers, "body": body.encode() if isinstance(body, str) else body}
    parser = create_parser("json")
    parsed = parser.parse(received, model.output_shape)
    shape = model.service_model.shape_for_error_code(parsed["Error"]["Code"])
    if shape is not None:  # its members, such as a cancelled transaction's reasons
        parsed.update(parser.parse(received, shape))
    return _parsed(status, headers, parsed)


def _parsed(status: int, headers: Any, parsed: dict[str, Any]) -> Any:
    metadata = {"RequestId": "", "HTTPStatusCode": int(status), "HTTPHeaders": dict(headers), "RetryAttempts": 0}
    return AWSResponse("", int(status), headers, None), {**parsed, "ResponseMetadata": metadata}


# 3: transaction backups. Only updates change an item in place. Stream records are never changed.


def _copy(table: Any, memo: Any) -> Any:
    copied = copy.copy(table)
    copied.items = defaultdict(dict, {hash_key: copy.copy(held) for hash_key, held in table.items.items()})
    if table.stream_shard is not None:
        copied.stream_shard = copy.copy(table.stream_shard)
        copied.stream_shard.table, copied.stream_shard.items = copied, [*table.stream_shard.items]
    return copied


def _update_copy(backend: Any, table_name: str, key: dict[str, Any], *arguments: Any, **named: Any) -> Any:
    table = backend.get_table(table_name)
    hash_key, range_key = backend.get_keys_value(table, key)
    item = table.get_item(hash_key, range_key)
    if item is not None and range_key is not None:
        table.items[hash_key][range_key] = copy.deepcopy(item)
    elif item is not None:
        table.items[hash_key] = copy.deepcopy(item)
    return _update_item(backend, table_name, key, *arguments, **named)


# 4: tables and queues

_cloud = mock_aws()


@contextmanager
def kept_engine() -> Iterator[None]:
    """Run the process's engine inside the block. The engine keeps the previous block's contents."""
    _cloud.start(reset=False)
    if not tables():
        create_resources()
    yield
    _cloud.stop(remove_data=False)


# 5: common records


class _Saved(NamedTuple):
    tables: list[Any]
    before: Any
    after: bytes
    made: Any


_saved: dict[str, _Saved] = {}


def restore_or_create(name: str, make: Callable[[], T]) -> tuple[T, bool]:
    """Return `make`'s result, and whether the result was restored from an earlier call.

    The result is restored only if the tables and items are the same as before the first call. Caches are not restored.
    """
    if not _is_on:
        return make(), False
    now, before = list(tables().values()), _contents()
    saved = _saved.get(name)
    if saved and saved.before == before and all(one is other for one, other in zip(saved.tables, now, strict=False)):
        for table, (items, happened) in zip(now, pickle.loads(saved.after), strict=True):
            table.items = items
            if table.stream_shard is not None:
                table.stream_shard.items = happened
        return saved.made, True
    made = make()
    after = [(one.items, one.stream_shard.items if one.stream_shard else None) for one in now]
    _saved[name] = _Saved(now, before, pickle.dumps(after), made)
    return made, False


def _contents() -> list[list[Any]]:
    return [[item.to_json() for item in table.all_items()] for table in tables().values()]


# 7: private keys


def _share_unused_key(key_spec: str) -> AbstractPrivateKey:
    return _unused_key() if key_spec == KeySpec.SYMMETRIC_DEFAULT else generate_private_key(key_spec)


@cache
def _unused_key() -> AbstractPrivateKey:
    return generate_private_key(KeySpec.SYMMETRIC_DEFAULT)


# 9: stream records


def _stream_records(request: dict[str, Any], region: str) -> Any:
    backend = dynamodbstreams_backends[DEFAULT_ACCOUNT_ID][region]
    with _turn:
        page = backend.get_records(request["ShardIterator"], request.get("Limit", 1_000))
    return _parsed(HTTPStatus.OK, {}, {**page, "Records": _as_sdk_value(page["Records"])})


def _as_sdk_value(value: Any) -> Any:
    if isinstance(value, DynamoType):
        return _as_sdk_value(value.to_json())
    if isinstance(value, dict):
        return _with_binary_values({name: _as_sdk_value(inner) for name, inner in value.items()})
    if isinstance(value, datetime):  # moto sends milliseconds
        return value.replace(microsecond=value.microsecond // 1_000 * 1_000, tzinfo=timezone.utc)
    return [_as_sdk_value(inner) for inner in value] if isinstance(value, list) else value
