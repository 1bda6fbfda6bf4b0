"""Helpers for credential tests: issue a token, use it, and find its two rows."""

from typing import Any

from chalicelib.credentials import tokens
from tests.api import Api
from tests.assertions import stored

MINUTE, DAY = 60, 24 * 60 * 60
MONTH, YEAR = 30 * DAY, 365 * DAY


def credential_item(token: str) -> dict[str, Any]:
    """Return a token's stored item."""
    (found,) = [one for one in stored()["cams-credentials"] if one["token_hash"]["S"] == tokens.fingerprint(token)]
    return found


def entry_item(token: str) -> dict[str, Any]:
    """Return the item that lists a token in its workspace."""
    (found,) = [
        one for one in stored()["cams-workspaces"] if one.get("token_hash", {}).get("S") == tokens.fingerprint(token)
    ]
    return found


def issue(api: Api, **members: Any) -> dict[str, Any]:
    """Issue an access token through the API; return the token and its description."""
    issued: dict[str, Any] = api.post("/v3/tokens", {"token": {"name": "ci", **members}}).data
    return issued


def agent_key(api: Api, agent_id: str = "support") -> str:
    """Return an agent's key from the API."""
    key: str = api.get(f"/v3/agents/{agent_id}").data["SECRET_API_KEY"]
    return key


def status_with(token: str, path: str = "/v3/agents") -> int:
    """Send a request with this token; return the response's status."""
    return Api(token).get(path).status
