"""Two outer middlewares: one wraps every error in the same envelope, and the other decodes path values.

Chalice passes path values percent-encoded (https://github.com/aws/chalice/issues/511).
"""

import json
import logging
from collections.abc import Callable

from chalice.app import Request, Response

from chalicelib import errors, storage
from chalicelib.http import current_request, parameters

GetResponse = Callable[[Request], Response]

# The path variable for a sealed token. A token contains an identifier, so it may be longer than an identifier.
_SEALED = "token"
_JSON = {"Content-Type": "application/json"}
_log = logging.getLogger(__name__)


def envelope(request: Request, get_response: GetResponse) -> Response:
    """Wrap all errors, including Chalice's, in the same envelope (middleware)."""
    try:
        with current_request.request_context(request):
            response = get_response(request)
    except errors.ApiError as error:
        response = Response({"Message": str(error)}, status_code=error.STATUS_CODE)
    except Exception:
        # A middleware raised this error, for example during a credential lookup. Chalice handles errors from views in
        # the same way.
        _log.exception("A middleware failed")
        response = Response({}, status_code=500)
    # Views of extensions return their own errors as text. All other errors are objects.
    is_finished = response.status_code < 400 or isinstance(response.body, str)
    return response if is_finished else _error_response(request, response)


def decode_path(request: Request, get_response: GetResponse) -> Response:
    """Decode path values (middleware). Raise Invalid if a value is neither an identifier nor a sealed token."""
    values = request.uri_params or {}
    for name in values:
        values[name] = (parameters.sealed_id if name == _SEALED else parameters.identifier)(name, values[name])
    return get_response(request)


_CHALICE_ERRORS = {
    400: (errors.Invalid.code, errors.Invalid.sentence),
    405: ("METHOD_NOT_ALLOWED", "This route does not support this method."),
    415: (errors.UnsupportedMediaType.code, errors.UnsupportedMediaType.sentence),
}


def _error_response(request: Request, response: Response) -> Response:
    """Return the error envelope. The interaction route adds `appError` and `platformName` (§4.3)."""
    message = response.body.get("Message", "") if isinstance(response.body, dict) else ""
    if message.startswith('{"success":false'):
        error_body = json.loads(message)
    else:
        code, sentence = _CHALICE_ERRORS.get(response.status_code, (errors.ApiError.code, errors.ApiError.sentence))
        error_body = {"success": False, "message": sentence, "code": code}
    if request.path.endswith("/state"):
        error_body["appError"] = error_body["message"]
        if platform := request.context.get("platformName"):
            error_body["platformName"] = platform
    headers = {**response.headers, **_JSON, **_RETRY_HEADERS.get(error_body["code"], {})}
    return Response(storage.encode_json(error_body).decode(), headers=headers, status_code=response.status_code)


_RETRY_HEADERS = {"UNAUTHORIZED": {"WWW-Authenticate": "Bearer"}, "UNAVAILABLE": {"Retry-After": "1"}}
