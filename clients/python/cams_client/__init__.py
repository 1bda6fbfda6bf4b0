"""A client for CAMS, the conversational agent management service.

`api` contains a module for each operation, and `models` contains the records. Both are generated from the OpenAPI
document.
"""

from .answer import Answer
from .api_error import ApiError, NotModified
from .client import AsyncClient, Client
from .paging import export, export_async, iterate, iterate_async
from .retries import Retries
from .types import UNSET, Unset
from .version import __version__
from .webhooks import Event, InvalidWebhook, verify_webhook

__all__ = [
    "UNSET",
    "Answer",
    "ApiError",
    "AsyncClient",
    "Client",
    "Event",
    "InvalidWebhook",
    "NotModified",
    "Retries",
    "Unset",
    "__version__",
    "export",
    "export_async",
    "iterate",
    "iterate_async",
    "verify_webhook",
]
