"""All errors share one envelope, whether they are caused by a credential, route, method, limit, the engine or a bug."""

from typing import Any

import pytest

from chalicelib import storage
from chalicelib.credentials import store as credentials
from chalicelib.http import auth
from tests.api import Api
from tests.assertions import logged, refused, stored
from tests.bad_input.service import CANARY, STATE, Operation, Service, assert_refused, harmless
from tests.engine_requests import refuse_operation

INTERACTION = Operation("POST", "/agents/{agent_id}/interact/{user_id}/state", None, ())
PLAIN = Operation("GET", "/v3/agents/{agent_id}", None, ())


def test_a_request_without_a_credential_gets_a_401_envelope(service: Service) -> None:
    for headers in ({}, {"Authorization": f"Bearer {CANARY}"}):
        answer = service.api.call("GET", "/v3/agents", None, headers)
        assert_refused(answer, PLAIN, status=401)
        assert answer.headers["www-authenticate"] == "Bearer"
        assert_refused(service.api.call("POST", STATE, {}, headers), INTERACTION, status=401)


def test_a_credential_for_another_route_gets_a_403_envelope(service: Service) -> None:
    agent = Api(service.api.get("/v2/agents/support").json["SECRET_API_KEY"])
    assert_refused(agent.get("/v2/clients"), PLAIN, status=403)
    assert_refused(agent.post("/agents/another/interact/user-1/state", {}), INTERACTION, status=403)


def test_an_unknown_resource_gets_a_404_envelope(service: Service) -> None:
    assert_refused(service.api.get(f"/v2/clients/{CANARY}"), PLAIN, status=404)
    assert_refused(service.api.post(f"/agents/{CANARY}/interact/user-1/state", {}), INTERACTION, status=404)


@pytest.mark.parametrize("method", ["PATCH", "DELETE", "OPTIONS", "HEAD"])
def test_an_unsupported_method_gets_a_405_envelope(method: str, service: Service) -> None:
    assert_refused(service.api.call(method, "/v2/clients"), PLAIN, status=405)
    assert_refused(service.api.call(method, STATE), INTERACTION, status=405)


def test_an_unsupported_method_with_a_used_key_gets_a_405(service: Service) -> None:
    key = {"Idempotency-Key": "used", "Content-Type": "application/json"}
    assert service.send(INTERACTION, {}, key).status == 200
    assert service.send(INTERACTION._replace(method="PATCH"), {}, key).status == 405


def test_a_taken_value_gets_a_409_envelope(service: Service) -> None:
    service.api.post("/v2/clients/first", {"email": f"{CANARY}@x.test"})
    before = stored()
    assert_refused(
        service.api.post("/v2/clients/second", {"email": f"{CANARY}@x.test"}), PLAIN, status=409, code="EMAIL_TAKEN"
    )
    assert stored() == before


def test_the_error_for_a_too_large_state_names_the_platform(service: Service) -> None:
    body = {"turns": [{"messages": [{"item": {"text": CANARY * 200_000}}]}]}
    with harmless():
        answer = service.api.post(STATE, body)
    assert refused(answer, 413, interaction=True, platform="vg") == "turns must be at most 2 MiB of JSON."


def test_the_error_for_an_exceeded_agent_limit_names_the_platform(service: Service) -> None:
    service.api.patch("/v3/agents/support", {"agent": {"agentPlatform": "vf", "messagesLimit": 2}})
    try:
        with harmless():
            answer = service.api.post(STATE, {"turns": [{"messages": [{"mid": str(mid)} for mid in range(3)]}]})
        refused(answer, 429, interaction=True, platform="vf")
    finally:
        service.api.patch("/v3/agents/support", {"agent": {"agentPlatform": "vg", "messagesLimit": None}})


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("AccessDeniedException", 500),
        ("ValidationException", 500),
        ("ResourceNotFoundException", 503),
    ],
)
def test_an_error_of_the_engine_gets_the_envelope(code: str, status: int, service: Service) -> None:
    with harmless(), refuse_operation("GetItem", code), refuse_operation("BatchGetItem", code):
        plain = service.api.post("/v2/clients/ann", {"dashboardPassword": CANARY})
        interaction = service.api.post(STATE, {"metadata": {"userName": CANARY}})
        auth.clear_cache()
        unknown_caller = service.api.get("/v3/agents")
    assert_refused(plain, PLAIN, status=status)
    assert_refused(interaction, INTERACTION, status=status)
    assert_refused(unknown_caller, PLAIN, status=status)
    assert {answer.headers.get("retry-after") for answer in (plain, interaction, unknown_caller)} == {
        "1" if status == 503 else None
    }


def test_an_internal_error_gets_the_envelope_and_is_logged_with_its_traceback(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: Any, **__: Any) -> None:
        raise RuntimeError("an injected fault")

    for module, name in ((storage, "iterate"), (credentials, "find")):
        auth.clear_cache()
        monkeypatch.setattr(module, name, fault)
        with logged() as log:
            answer = service.api.get("/v2/clients")
        message = "An internal error occurred; the request may or may not have taken effect."
        assert assert_refused(answer, PLAIN, status=500) == message
        assert "RuntimeError: an injected fault" in log.text
        monkeypatch.undo()
