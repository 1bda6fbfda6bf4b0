"""Clients of the OpenAI SDK (`pip install cams-client[openai]`), whose repeated requests take effect once."""

from typing import TYPE_CHECKING, Any

from ._async.client import setting

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI


def openai(agent_id: str, *, api_key: str | None = None, url: str | None = None, **options: Any) -> "OpenAI":
    """Return a client of the OpenAI SDK for an agent's conversations, with these options of the SDK.

    `api_key` and `url` default to `CAMS_API_KEY` and `CAMS_URL`. Unlike a client that you create, it sends idempotency
    keys, so that a request whose response is lost is not stored twice.
    """
    from openai import OpenAI

    client = OpenAI(**_settings(agent_id, api_key, url), **options)
    client._idempotency_header = "Idempotency-Key"
    return client


def async_openai(agent_id: str, *, api_key: str | None = None, url: str | None = None, **options: Any) -> "AsyncOpenAI":
    """Return the asynchronous client. Otherwise, this is like `openai`."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(**_settings(agent_id, api_key, url), **options)
    client._idempotency_header = "Idempotency-Key"
    return client


def _settings(agent_id: str, api_key: str | None, url: str | None) -> dict[str, Any]:
    url = setting(url, "url", "CAMS_URL").rstrip("/")
    return {
        "api_key": setting(api_key, "api_key", "CAMS_API_KEY"),
        "base_url": f"{url}/agents/{agent_id}/openai/v1",
    }
