"""CORS headers: which routes pages from other origins may call, and which responses they may read.

- Any page may call the visitor token routes, and read the responses to requests that carry such a token.
- Other responses can be read only by pages from the stage's allowed origin (`CAMS_CORS_ORIGIN`), if there is one.

The gateway responds to preflight requests itself, based on the route configuration. It cannot know the credential of
the actual request. Therefore, a visitor route's preflight response allows any origin, and the headers of the actual
response decide.
"""

from collections.abc import Callable

from chalice.app import CORSConfig, Request, Response

from chalicelib import settings
from chalicelib.credentials import tokens
from chalicelib.http import auth


def _allowing(origin: str) -> CORSConfig:
    return CORSConfig(
        origin,
        allow_headers=["If-Match", "If-None-Match", "Idempotency-Key", "Prefer"],
        expose_headers=["ETag", "Idempotency-Replayed", "Retry-After", "X-Request-Id"],
        max_age=86_400,
    )


# Off by default, because the edge routes accept an agent key, which is a server-side secret. Anyone who finds the key
# in a page can read all of the agent's conversations, and the platform keys in its record. A stage may allow one
# origin.
CORS = _allowing(settings.cors_origin()) if settings.cors_origin() else None
PREFIXES = ("/v2/agents/", "/agents/")
VISITORS = _allowing("*")


def allow_pages(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """Set a response's CORS headers. This middleware encloses `envelope`, so error responses also get the headers."""
    response = get_response(request)
    response.headers = {**_headers_for(request), **response.headers}
    return response


def _headers_for(request: Request) -> dict[str, str]:
    if request.path in auth.VISITOR_ROUTES and _has_visitor_token(request):
        return dict(VISITORS.get_access_control_headers())
    return dict(CORS.get_access_control_headers()) if CORS and request.path.startswith(PREFIXES) else {}


def _has_visitor_token(request: Request) -> bool:
    """Return whether the request has a visitor token. Expired tokens count, so that the page can read the error."""
    token = auth.unchecked_bearer(request)
    return token.startswith(tokens.VISITOR_PREFIX) and tokens.kind(token) == tokens.VISITOR
