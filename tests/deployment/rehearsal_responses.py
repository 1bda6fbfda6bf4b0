"""Step: check the gateway's responses, such as errors, throttling and preflights."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.deployment import cloud
from tests.deployment.rehearsal import ORIGIN, STAGE, Failed
from tests.deployment.rehearsal_client import Gateway, Response


def check_gateway_responses(here: cloud.Cloud, api: Gateway) -> int:
    """Check responses of the gateway and the function; return the number of cases.

    The emulator sends the deployed stage's gateway responses, so these checks prove that the responses are put and
    deployed. The emulator does not limit a request's size or duration, so it never returns 413 or 504. Unlike AWS, it
    does not parse a bearer token as a signature (403) if the route is unknown.
    """
    anonymous, origin = Gateway(api.address), {"Origin": ORIGIN}
    no_route = "There is no such route, or the route does not support this method."
    for method, path in (("GET", "/nowhere"), ("DELETE", "/v3/agents"), ("GET", "/v3/agents/a/b/c/d")):
        _check_error(anonymous.ask(method, path, headers=origin), 404, "NOT_FOUND", no_route)
    with _throttled(here, "/openapi.json"):
        throttled = anonymous.ask("GET", "/openapi.json", headers=origin)
    _check_error(throttled, 429, "THROTTLED", "Too many requests; try again after the time in the Retry-After header.")
    if throttled.headers.get("retry-after") != "1":
        raise Failed(f"The 429 response has no Retry-After header: {throttled.headers}")
    unauthorized, unknown = anonymous.ask("GET", "/v2/agents/unknown"), api.ask("GET", "/v2/agents/unknown")
    _check_error(unauthorized, 401, "UNAUTHORIZED", "A valid bearer token is required.", ORIGIN)
    _check_error(unknown, 404, "NOT_FOUND", "There is no such agent.", ORIGIN)
    page = anonymous.ask("GET", "/")  # the client follows the redirect
    if b"<title>CAMS API" not in page.body:
        raise Failed(f"The root does not lead to the documentation page: {page}")
    for path, allowed in (("/v2/agents/a", ORIGIN), ("/agents/a/interact/b/state", "*")):  # routes for visitors
        _check_preflight(anonymous, path, allowed)
    return 9


def _check_preflight(anonymous: Gateway, path: str, origin: str) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    preflight = anonymous.ask("OPTIONS", path, headers={"Origin": ORIGIN, **asked})
    wanted = {"origin": origin, "methods": "post", "headers": "authorization"}
    allowed = {name: preflight.headers.get(f"access-control-allow-{name}", "").lower() for name in wanted}
    if preflight.status != 200 or any(part not in allowed[name] for name, part in wanted.items()):
        raise Failed(f"The preflight of {path} returned {preflight.status}:  {preflight.headers}")


def _check_error(answer: Response, status: int, code: str, message: str, origin: str = "*") -> None:
    """Check an error's envelope and headers. Gateway responses allow every origin, which is the default."""
    envelope = {"success": False, "message": message, "code": code}
    if answer.status != status or json.loads(answer.body) != envelope:
        raise Failed(f"Expected {status} with {envelope}, got {answer.status} with {answer.body.decode()}")
    wanted = {"content-type": "application/json", "access-control-allow-origin": origin}
    if not answer.headers.get("x-request-id") or any(answer.headers.get(name) != wanted[name] for name in wanted):
        raise Failed(f"A {status} response lacks the headers of an error response:  {answer.headers}")


@contextmanager
def _throttled(here: cloud.Cloud, path: str) -> Iterator[None]:
    """Throttle every GET of `path` inside the block."""
    gateway, place = here.sdk("apigateway"), path.replace("/", "~1")
    (api,) = gateway.get_rest_apis()["items"]
    changes = [
        {"op": "replace", "path": f"/{place}/GET/throttling/{limit}", "value": "0"}
        for limit in ("rateLimit", "burstLimit")
    ]
    gateway.update_stage(restApiId=api["id"], stageName=STAGE, patchOperations=changes)
    yield
    gateway.update_stage(
        restApiId=api["id"], stageName=STAGE, patchOperations=[{"op": "remove", "path": f"/{place}/GET"}]
    )
