"""A client for CAMS, the conversational agent management service.

`Client` and `AsyncClient` have the same methods. `models` contains the records, and `errors` has an exception class for
each error code. `openai` and `async_openai` return clients of the OpenAI SDK.
"""

from . import errors, events, models
from ._async.client import AsyncClient
from ._errors import ApiError, Error, InvalidResponse, NoResponse, NotModified
from ._openai import async_openai, openai
from ._sync.client import Client
from .version import __version__
from .webhooks import InvalidWebhook, verify_webhook

__all__ = [
    "ApiError",
    "AsyncClient",
    "Client",
    "Error",
    "InvalidResponse",
    "InvalidWebhook",
    "NoResponse",
    "NotModified",
    "__version__",
    "async_openai",
    "errors",
    "events",
    "models",
    "openai",
    "verify_webhook",
]
