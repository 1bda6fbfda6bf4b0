"""Checks of the API at its gateway: version, error envelopes, gateway responses and throttle."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from chalicelib import __version__
from infra.deploy import concurrency, deployed_settings, gateway_responses
from infra.verify.client import Client
from infra.verify.deployment import Deployment

# The method, path, status and error code of requests without a credential.
_ERRORS = (
    ("GET", "/v2/agents/unknown", 401, "UNAUTHORIZED"),
    ("GET", "/nowhere", 404, "NOT_FOUND"),
    ("DELETE", "/v3/agents", 404, "NOT_FOUND"),
)
# An API deployment takes several seconds to reach every API Gateway host.
_PATIENCE_SECONDS = 60
_POLL_SECONDS = 1.0


def check_gateway(stage: Deployment) -> Iterator[str]:
    """Check the API's version, error envelopes, gateway responses and throttle."""
    yield from _await_responses(Client(stage.address))
    gateway = stage.sdk("apigateway")
    for kind in gateway_responses.outdated(gateway, stage.api_id):
        yield f"The API's gateway response {kind} differs from the declaration: run `chalice deploy`."
    settings = gateway.get_stage(restApiId=stage.api_id, stageName=stage.stage).get("methodSettings", {}).get("*/*", {})
    missing = [limit for limit in ("throttlingRateLimit", "throttlingBurstLimit") if settings.get(limit, 0) <= 0]
    for limit in missing:
        yield f"The stage {stage.stage} of the API {stage.api_id} has no {limit}: run `chalice deploy`."
    if not missing:
        yield from _throttle_problems(stage, settings)


def _throttle_problems(stage: Deployment, settings: dict[str, Any]) -> Iterator[str]:
    """Yield a problem if the throttle differs from the operator's setting or, if unset, is below the default."""
    deployed = deployed_settings.read(stage.sdk, stage.name)
    executions = concurrency.available_executions(stage.sdk("lambda"), deployed.current)
    for name, value in concurrency.with_defaults(deployed.own, executions)["throttle"].items():
        actual = int(settings[f"throttling{name.title()}Limit"])
        if actual < value or ("throttle" in deployed.own and actual != value):
            yield f"The throttle of stage {stage.stage} has the {name} {actual}, not {value}: run `chalice deploy`."


def _await_responses(client: Client) -> list[str]:
    """Repeat the requests for up to a minute until all responses are as expected; return the last problems."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        is_last = time.monotonic() > deadline
        try:
            problems = [*_response_problems(client)]
            if is_last or not problems:
                return problems
        except OSError:
            if is_last:
                raise
        time.sleep(_POLL_SECONDS)


def _response_problems(client: Client) -> Iterator[str]:
    document = client.send("GET", "/openapi.json")
    version = document.body["info"]["version"] if document.status == 200 else None
    if version != __version__:
        actual = f"version {version}" if version else f"no document ({document.status})"
        yield f"The API at {client.address} has {actual}, but this checkout has {__version__}: run `chalice deploy`."
    for method, path, status, code in _ERRORS:
        response = client.send(method, path)
        envelope = response.body if isinstance(response.body, dict) else {}
        if (response.status, envelope.get("success"), envelope.get("code")) != (status, False, code):
            actual = f"{response.status} {envelope.get('code')}"
            yield f"{method} {path} without a credential returned {actual}, not {status} {code}."
        if "x-request-id" not in response.headers:
            yield f"{method} {path} without a credential returned no X-Request-Id."
