"""`make verify` waits for the gateway's latest deployment, and names each response and throttle that differs."""

from collections.abc import Mapping
from typing import Any

import boto3
import pytest
from moto import mock_aws

from chalicelib import __version__
from infra.deploy import deployed_settings
from infra.verify import gateway
from infra.verify.client import Client, Response
from tests.deployment.test_verify_functions import Mappings
from tests.deployment.verification import deployed, problems

ANSWERS = {
    path: Response(status, {"x-request-id": "1"}, {"success": False, "code": code})
    for _, path, status, code in gateway._ERRORS
}


ANSWERS["/openapi.json"] = Response(200, {}, {"info": {"version": __version__}})


class Gateway(Client):
    """A fake API client whose latest deployment becomes active after `delay` seconds. Pauses take no time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, delay: float, before: Response | OSError) -> None:
        super().__init__("http://localhost")
        self._delay, self._before, self.passed = delay, before, 0.0
        monkeypatch.setattr("time.monotonic", lambda: self.passed)
        monkeypatch.setattr("time.sleep", self._pause)

    def _pause(self, seconds: float) -> None:
        self.passed += seconds

    def send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Response:
        if self.passed >= self._delay:
            return ANSWERS[path]
        if isinstance(self._before, OSError):
            raise self._before
        return self._before


@pytest.mark.parametrize("before", [Response(403, {}, {"message": "Forbidden"}), OSError("unknown host")])
def test_a_deployment_of_the_gateway_is_awaited(before: Response | OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Gateway(monkeypatch, 40, before)
    assert gateway._await_responses(client) == []
    assert client.passed == 40


def test_a_gateway_that_stays_wrong_is_named_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Gateway(monkeypatch, 1000, Response(403, {}, {}))
    first, *others = gateway._await_responses(client)
    assert first == (
        f"The API at http://localhost has no document (403), but this checkout has {__version__}: run `chalice deploy`."
    )
    assert len(others) == 2 * len(gateway._ERRORS)
    assert 60 < client.passed < 63
    with pytest.raises(OSError, match="unknown host"):
        gateway._await_responses(Gateway(monkeypatch, 1000, OSError("unknown host")))


def test_another_version_and_a_missing_throttle_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {**ANSWERS, "/openapi.json": Response(200, {}, {"info": {"version": "0.1"}})}
    monkeypatch.setattr(Client, "send", lambda _, __, path: other[path])
    monkeypatch.setattr(gateway, "_PATIENCE_SECONDS", -1)
    with mock_aws():
        client = boto3.client("apigateway")
        api_id = client.create_rest_api(name="cams")["id"]
        root = client.get_resources(restApiId=api_id)["items"][0]["id"]
        place = {"restApiId": api_id, "resourceId": root, "httpMethod": "GET"}
        client.put_method(**place, authorizationType="NONE")
        client.put_integration(**place, type="MOCK")
        client.create_deployment(restApiId=api_id, stageName="prod")
        sentences = problems(gateway.check_gateway(deployed(apigateway=client)._replace(api_id=api_id)))
    assert (
        sentences[0]
        == f"The API at http://localhost has version 0.1, but this checkout has {__version__}: run `chalice deploy`."
    )
    assert sentences[-2:] == [
        f"The stage prod of the API {api_id} has no {limit}: run `chalice deploy`."
        for limit in ("throttlingRateLimit", "throttlingBurstLimit")
    ]
    assert "The API's gateway response THROTTLED differs from the declaration: run `chalice deploy`." in sentences


@pytest.mark.parametrize(
    ("own", "rate", "is_named"),
    [({}, 1, True), ({}, 1_000, False), ({"throttle": {"rate": 50, "burst": 1_000}}, 1_000, True)],
)
def test_a_throttle_that_a_deployment_would_replace_is_named(
    own: dict[str, Any], rate: int, is_named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployed_settings, "read", lambda *_: deployed_settings.DeployedSettings({}, own))
    settings = {"throttlingRateLimit": float(rate), "throttlingBurstLimit": 1_000}
    found = [*gateway._throttle_problems(deployed(**{"lambda": Mappings()}), settings)]
    declared = own.get("throttle", {"rate": 1_000})["rate"]
    named = [f"The throttle of stage prod has the rate {rate}, not {declared}: run `chalice deploy`."]
    assert found == (named if is_named else [])
