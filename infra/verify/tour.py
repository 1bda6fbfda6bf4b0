"""The tour's requests: the README's requests, plus requests for records and errors that the README omits."""

from __future__ import annotations

from typing import Any, NamedTuple

from infra.verify.client import Client, Response

AGENT, PERSON = "support", "ann"

# Texts in the requests. The tables must not contain any of these texts in plain text.
TEXTS = ("You help.", "Hello", "bo@example.com", "Acme", "lead@example.com")


class Step(NamedTuple):
    """A request, and the expected status and error code of its response.

    In a header, `{etag}` is the ETag from the last GET response.
    """

    method: str
    path: str
    body: Any = None
    status: int = 200
    code: str | None = None
    headers: tuple[tuple[str, str], ...] = ()


_STATE = f"/agents/{AGENT}/interact/{PERSON}/state"
_TURN = {"from": "human", "messages": [{"from": "human", "type": "text", "item": {"text": "Hello"}, "ts": 1}]}
_IF_MATCH = (("If-Match", "{etag}"),)
_REPEAT = (("Idempotency-Key", "verify-create-hotels"),)
_HOTELS, _FLIGHTS = {"tool": {"name": "hotels"}}, {"tool": {"name": "flights"}}

TOUR = (
    Step("POST", f"/v2/agents/{AGENT}", {"title": "Support", "vg_systemPrompt": "You help."}),
    Step("PATCH", f"/v3/agents/{AGENT}", {"agent": {"limits": {"maxInteractionsPerUserId": 2}}}),
    Step("POST", _STATE, {"turns": [_TURN], "metadata": {"userName": "Ann", "origin": "web-chat"}}),
    Step("POST", _STATE, {"turns": [{"from": "human", "messages": [{}, {}, {}]}]}, 429, "LIMIT_REACHED"),
    Step("PATCH", f"/v3/agents/{AGENT}", {"agent": {"title": 5, "starred": "yes"}}, 400, "INVALID"),
    Step("POST", "/v2/orgs/acme", {"name": "Acme", "widgetIDs": [AGENT]}),
    Step("POST", "/v2/clients/bo", {"orgId": "acme", "name": "Bo", "email": "bo@example.com"}),
    Step("POST", "/v2/clients/eve", {"email": "BO@example.com"}, 409, "EMAIL_TAKEN"),
    Step("GET", "/v2/orgs/acme"),
    Step("POST", "/v2/orgs/acme", {"name": "Acme & Sons"}, headers=_IF_MATCH),
    Step("POST", "/v2/orgs/acme", {"name": "Acme & Daughters"}, 412, "PRECONDITION_FAILED", _IF_MATCH),
    Step("POST", f"/v3/agents/{AGENT}/tools", _HOTELS, headers=_REPEAT),
    Step("POST", f"/v3/agents/{AGENT}/tools", _HOTELS, headers=_REPEAT),
    Step("POST", f"/v3/agents/{AGENT}/tools", _FLIGHTS, 409, "IDEMPOTENCY_KEY_REUSED", _REPEAT),
    Step("POST", "/v3/leads", {"lead": {"agentId": AGENT, "email": "lead@example.com"}}),
    Step("POST", f"/v2/agents/{AGENT}/analytics/{PERSON}", {"record": "load", "userID": PERSON, "origin": "web-chat"}),
    Step("POST", "/v3/tokens", {"token": {"name": "verify", "scopes": ["agents:read"]}}),
    Step("GET", f"/v3/agents/{AGENT}/convos"),
    Step("GET", f"/v3/agents/{AGENT}/leads"),
    Step("GET", "/v3/agents"),
)


def take(client: Client) -> list[str]:
    """Send the requests; return a problem for each unexpected response."""
    problems, etag = [], ""
    for step in TOUR:
        headers = {name: value.replace("{etag}", etag) for name, value in step.headers}
        response = client.send(step.method, step.path, step.body, headers)
        if step.method == "GET":
            etag = response.headers.get("etag", etag)
        if problem := difference(response, step):
            problems.append(problem)
    return problems


def difference(response: Response, step: Step) -> str | None:
    """Return a problem if the response differs from the expected response."""
    envelope = response.body if isinstance(response.body, dict) else {}
    if (response.status, envelope.get("code")) == (step.status, step.code):
        return None
    actual = " ".join(str(part) for part in (response.status, envelope.get("code"), envelope.get("message")) if part)
    expected = " ".join(str(part) for part in (step.status, step.code) if part)
    request_id = response.headers.get("x-request-id", "none")
    return f"{step.method} {step.path} returned {actual} instead of {expected} (X-Request-Id {request_id})."
