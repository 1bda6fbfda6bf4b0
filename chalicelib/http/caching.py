"""The `Cache-Control` header: browsers and proxies may store only files without secrets.

Other responses may contain secrets. For example, a browser once served a cached password to a page without a
credential. Callers that cache responses themselves can still use `ETag` and `If-None-Match`.
"""

from collections.abc import Callable

from chalice.app import Request, Response

from chalicelib import extensions
from chalicelib.http import auth

CACHE_CONTROL, _NO_STORE = "Cache-Control", "no-store"
# Routes whose successful responses specify who may store them, and for how long.
STORABLE_ROUTES = auth.OPEN_ROUTES.union(*(extension.storable_routes for extension in extensions.enabled()))


def forbid_storing(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """Forbid browsers and proxies from storing the response, unless its route names who may store it (middleware)."""
    response = get_response(request)
    if request.path not in STORABLE_ROUTES or CACHE_CONTROL not in response.headers:
        response.headers = {**response.headers, CACHE_CONTROL: _NO_STORE}
    return response
