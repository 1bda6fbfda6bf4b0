"""API Gateway's gateway responses, in the service's error envelope.

API Gateway itself responds when a request does not reach the function, or when the function returns no response. Each
Chalice deployment uploads the whole API and resets these responses, so `put` runs afterwards. Until then, clients see
API Gateway's default responses for a few seconds. Gateway responses never echo any part of the request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.config import Config

from chalicelib import errors


@dataclass(frozen=True)
class GatewayResponse:
    """A gateway response. Without a `status`, the response keeps the status that API Gateway chose."""

    status: int | None
    code: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_error(cls, error: type[errors.ApiError]) -> GatewayResponse:
        """Return the response that the service itself would send for this error."""
        return cls(error.STATUS_CODE, error.code, error.sentence)


_OUTCOME_UNKNOWN = "the request may have taken effect."
_NO_ROUTE = GatewayResponse(
    404, errors.NotFound.code, "There is no such route, or the route does not support this method."
)
_FORBIDDEN = GatewayResponse(403, errors.Forbidden.code, "The gateway rejected this request.")
_THROTTLED = GatewayResponse(
    429, "THROTTLED", "Too many requests; try again after the time in the Retry-After header.", {"Retry-After": "1"}
)


def _failure(status: int | None) -> GatewayResponse:
    return GatewayResponse(status, errors.ApiError.code, f"The service failed to respond; {_OUTCOME_UNKNOWN}")


RESPONSES: dict[str, GatewayResponse] = {
    "MISSING_AUTHENTICATION_TOKEN": _NO_ROUTE,
    "RESOURCE_NOT_FOUND": _NO_ROUTE,
    "REQUEST_TOO_LARGE": GatewayResponse.from_error(errors.TooLarge),
    "UNSUPPORTED_MEDIA_TYPE": GatewayResponse.from_error(errors.UnsupportedMediaType),
    "BAD_REQUEST_BODY": GatewayResponse.from_error(errors.Invalid),
    "BAD_REQUEST_PARAMETERS": GatewayResponse.from_error(errors.Invalid),
    "UNAUTHORIZED": GatewayResponse.from_error(errors.Unauthorized),
    "ACCESS_DENIED": _FORBIDDEN,
    "EXPIRED_TOKEN": _FORBIDDEN,
    "INVALID_API_KEY": _FORBIDDEN,
    "INVALID_SIGNATURE": _FORBIDDEN,
    "WAF_FILTERED": _FORBIDDEN,
    "THROTTLED": _THROTTLED,
    "QUOTA_EXCEEDED": _THROTTLED,
    "INTEGRATION_TIMEOUT": GatewayResponse(
        504, errors.Unavailable.code, f"The service did not respond in time; {_OUTCOME_UNKNOWN}"
    ),
    "INTEGRATION_FAILURE": _failure(504),
    "API_CONFIGURATION_ERROR": _failure(500),
    "AUTHORIZER_CONFIGURATION_ERROR": _failure(500),
    "AUTHORIZER_FAILURE": _failure(500),
    "DEFAULT_5XX": _failure(None),
    # This type includes unknown routes that are called with a bearer token: API Gateway parses the token as a signature
    # and responds with 403.
    "DEFAULT_4XX": GatewayResponse(None, errors.Invalid.code, "The request is not valid, or there is no such route."),
}
"""The responses, keyed by API Gateway response type. The two defaults apply to all other types."""


# Pages of any origin may read these responses: API Gateway cannot set this header per route, a page with a visitor
# token must learn why its request failed, and the responses contain no workspace data.
_CORS = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After,X-Request-Id"}


def put(sdk: Callable[..., Any], api_id: str, stage: str) -> int:
    """Put every response that differs, and redeploy the stage. Return the number of changed responses."""
    # API Gateway allows one CreateDeployment call per account every five seconds, and Chalice has just made one.
    gateway = sdk("apigateway", config=Config(retries={"mode": "standard", "max_attempts": 10}))
    changed = outdated(gateway, api_id)
    for response_type, request in changed.items():
        gateway.put_gateway_response(restApiId=api_id, responseType=response_type, **request)
    if changed:
        gateway.create_deployment(restApiId=api_id, stageName=stage)
    return len(changed)


def outdated(gateway: Any, api_id: str) -> dict[str, dict[str, Any]]:
    """Return PutGatewayResponse arguments for each missing or different response of the API, keyed by type."""
    current = {one["responseType"]: one for one in gateway.get_gateway_responses(restApiId=api_id, limit=500)["items"]}
    declared = {response_type: _to_request(response) for response_type, response in RESPONSES.items()}
    return {
        response_type: request
        for response_type, request in declared.items()
        if not _matches(current.get(response_type), request)
    }


def _to_request(response: GatewayResponse) -> dict[str, Any]:
    """Return the arguments of PutGatewayResponse. Header values are context variables or quoted literals."""
    literals = {**response.headers, **_CORS}
    headers = {"X-Request-Id": "context.requestId", **{name: f"'{text}'" for name, text in literals.items()}}
    envelope = {"success": False, "message": response.message, "code": response.code}
    request: dict[str, Any] = {
        "responseParameters": {f"gatewayresponse.header.{name}": value for name, value in headers.items()},
        "responseTemplates": {"application/json": json.dumps(envelope, separators=(",", ":"))},
    }
    return request if response.status is None else {"statusCode": str(response.status), **request}


def _matches(current: Any, request: dict[str, Any]) -> bool:
    """Return whether the API already has this response. A response inherited from a default does not count."""
    if not current or current.get("defaultResponse"):
        return False
    return all(
        current.get(key) == request.get(key) for key in ("statusCode", "responseParameters", "responseTemplates")
    )
