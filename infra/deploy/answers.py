"""What the gateway answers by itself, in our envelope: for a request that never comes to the function, or gets nothing.

Chalice sends the whole API at every deployment, and with that the gateway forgets what it was told here. So this is
said anew after each; until then, for seconds, its answers are its own. Nothing that was sent is repeated in one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.config import Config

from chalicelib import errors


@dataclass(frozen=True)
class Answer:
    """An answer; without a `status`, as for the defaults, it keeps the one that the gateway has for the case."""

    status: int | None
    code: str
    sentence: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def like(cls, error: type[errors.ApiError]) -> Answer:
        """The one that the service has for the case."""
        return cls(error.STATUS_CODE, error.code, error.sentence)


_UNKNOWN = "whether something has changed is not known."
_NO_ROUTE = Answer(404, errors.NotFound.code, "There is no such route, or it has no such method.")
_REFUSED = Answer(403, errors.Forbidden.code, "The gateway does not let this request through.")
_THROTTLED = Answer(429, "THROTTLED", "There are too many requests at once; try again.", {"Retry-After": "1"})


def _failed(status: int | None) -> Answer:
    return Answer(status, errors.ApiError.code, f"The service failed to answer; {_UNKNOWN}")


ANSWERS: dict[str, Answer] = {
    "MISSING_AUTHENTICATION_TOKEN": _NO_ROUTE,
    "RESOURCE_NOT_FOUND": _NO_ROUTE,
    "REQUEST_TOO_LARGE": Answer.like(errors.TooLarge),
    "UNSUPPORTED_MEDIA_TYPE": Answer.like(errors.UnsupportedMediaType),
    "BAD_REQUEST_BODY": Answer.like(errors.Invalid),
    "BAD_REQUEST_PARAMETERS": Answer.like(errors.Invalid),
    "UNAUTHORIZED": Answer.like(errors.Unauthorized),
    "ACCESS_DENIED": _REFUSED,
    "EXPIRED_TOKEN": _REFUSED,
    "INVALID_API_KEY": _REFUSED,
    "INVALID_SIGNATURE": _REFUSED,
    "WAF_FILTERED": _REFUSED,
    "THROTTLED": _THROTTLED,
    "QUOTA_EXCEEDED": _THROTTLED,
    "INTEGRATION_TIMEOUT": Answer(504, errors.Unavailable.code, f"The service did not answer in time; {_UNKNOWN}"),
    "INTEGRATION_FAILURE": _failed(504),
    "API_CONFIGURATION_ERROR": _failed(500),
    "AUTHORIZER_CONFIGURATION_ERROR": _failed(500),
    "AUTHORIZER_FAILURE": _failed(500),
    "DEFAULT_5XX": _failed(None),
    # Also, with 403, an unknown route that is called with a bearer token, which the gateway takes for a bad signature.
    "DEFAULT_4XX": Answer(None, errors.Invalid.code, "The request is not valid, or there is no such route."),
}
"""By the gateway's names for the cases. The two defaults are for what has no name."""


def put(sdk: Callable[..., Any], api_id: str, stage: str, origin: str) -> int:
    """Tell the gateway what differs, and let the stage have it; returns how many differed.

    Pages of `origin` may read them, `*` any, empty none, on all routes: the gateway cannot say it for some of them.
    """
    # An account may deploy once in five seconds, and Chalice just has.
    gateway = sdk("apigateway", config=Config(retries={"mode": "standard", "max_attempts": 10}))
    found = {one["responseType"]: one for one in gateway.get_gateway_responses(restApiId=api_id, limit=500)["items"]}
    wanted = {kind: _described(answer, origin) for kind, answer in ANSWERS.items()}
    differing = {kind: said for kind, said in wanted.items() if not _says(found.get(kind), said)}
    for kind, said in differing.items():
        gateway.put_gateway_response(restApiId=api_id, responseType=kind, **said)
    if differing:
        gateway.create_deployment(restApiId=api_id, stageName=stage)
    return len(differing)


def _described(answer: Answer, origin: str) -> dict[str, Any]:
    """An answer in the gateway's words: a header is a name of its own, or a text in quotes."""
    texts = {**answer.headers}
    if origin:
        texts |= {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": "X-Request-Id"}
    headers = {"X-Request-Id": "context.requestId", **{name: f"'{text}'" for name, text in texts.items()}}
    envelope = {"success": False, "message": answer.sentence, "code": answer.code}
    said: dict[str, Any] = {
        "responseParameters": {f"gatewayresponse.header.{name}": value for name, value in headers.items()},
        "responseTemplates": {"application/json": json.dumps(envelope, separators=(",", ":"))},
    }
    return said if answer.status is None else {"statusCode": str(answer.status), **said}


def _says(found: Any, wanted: dict[str, Any]) -> bool:
    """Whether the gateway has been told so; what a case has from its default it has not been told itself."""
    if not found or found.get("defaultResponse"):
        return False
    return all(found.get(key) == wanted.get(key) for key in ("statusCode", "responseParameters", "responseTemplates"))
