"""moto without its HTTP layer: a client's data operations call moto's `DynamoHandler` directly.

Signing, encoding and routing requests takes half the time of an API test. A handler of botocore's `before-call` event
answers instead. An error still passes moto's serialiser and the SDK's parser, so that it has all of its members.

The events after `before-call` are skipped: `request-created`, `before-send`, `before-parse`, `response-received` and
`needs-retry`. A test that counts attempts, loses answers or repeats requests there runs inside `over_http()`.
"""

import json
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.parsers import create_parser
from moto.core.exceptions import ServiceException
from moto.core.models import DEFAULT_ACCOUNT_ID, RESPONSES_METHODS, botocore_stubber
from moto.core.responses import ActionResult
from moto.core.utils import camelcase_to_underscores
from moto.dynamodb.responses import DynamoHandler
from werkzeug.exceptions import HTTPException

OPERATIONS = frozenset(
    {
        *("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan"),
        *("BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"),
    }
)
_over_http = 0
_turn = threading.Lock()  # moto's tables are plain dictionaries; apply one write at a time, as an engine does
RESPONSES_METHODS.clear()  # moto rebuilds 1,300 patterns at each start, for requests that the SDK does not send


def attach(client: Any) -> None:
    """Answer this DynamoDB client's data operations directly while moto is on; call once per client."""
    # Registered last and for all operations, so that every other handler of the event runs first.
    client.meta.events.register_last("before-call", _answer)


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
    if _over_http or not botocore_stubber.enabled or model.name not in OPERATIONS or "amazonaws" not in params["url"]:
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


def _with_binary_values(found: dict[str, Any]) -> dict[str, Any]:
    if len(found) == 1:
        if isinstance(found.get("B"), str):
            return {"B": b64decode(found["B"])}
        if isinstance(found.get("BS"), list):
            return {"BS": [b64decode(one) for one in found["BS"]]}
    return found


def _error(model: Any, status: int, headers: Any, body: str | bytes) -> Any:
    received = {"status_code": status, "headers": headers, "body": body.encode() if isinstance(body, str) else body}
    parser = create_parser("json")
    parsed = parser.parse(received, model.output_shape)
    shape = model.service_model.shape_for_error_code(parsed["Error"]["Code"])
    if shape is not None:  # its members, such as the reasons of a cancelled transaction
        parsed.update(parser.parse(received, shape))
    return _parsed(status, headers, parsed)


def _parsed(status: int, headers: Any, parsed: dict[str, Any]) -> Any:
    metadata = {"RequestId": "", "HTTPStatusCode": int(status), "HTTPHeaders": dict(headers), "RetryAttempts": 0}
    return AWSResponse("", int(status), headers, None), {**parsed, "ResponseMetadata": metadata}
