"""Renders HTML pages, and sets the headers of each response."""

from typing import Any
from urllib.parse import urlencode

from chalice.app import Response

from chalicelib import clock, errors, ids
from chalicelib.extensions.console import routes
from chalicelib.extensions.console.presentation import rendering, theme
from chalicelib.extensions.console.presentation.rendering import LANGUAGES as LANGUAGES
from chalicelib.extensions.console.presentation.rendering import texts as texts
from chalicelib.http import current_request

NAVIGATION = tuple(filter(routes.has_page, ("/overview", "/convos", "/analytics", "/leads", "/agents", "/settings")))
"""The pages in the navigation, in order. `canAccess` lists the pages that a person may open."""
_HTML = "text/html; charset=utf-8"
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; trusted-types 'none'; require-trusted-types-for 'script'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def page(template: str, language: str, status: int = 200, **context: Any) -> Response:
    """Return a page. Its times are in the time zone of the context's `session`, or in UTC."""
    session = context.get("session")
    zone = rendering.zone_of(*session.records) if session else None
    values = {
        "t": texts(language, zone),
        "language": language,
        "root": root(),
        "now": clock.seconds(),
        "form_id": ids.new_id(),
        "theme": theme.from_request(),
        "http_status": status,
        "navigation": NAVIGATION,
        **context,
    }
    text = rendering.environment().get_template(template).render(**values)
    return Response(text, headers={"Content-Type": _HTML, **_HEADERS}, status_code=status)


def download(name: str, media: str, text: str) -> Response:
    """Return a file that the browser saves with this name."""
    disposition = f'attachment; filename="{name}"'
    headers = {"Content-Type": media, "Content-Disposition": disposition}
    return Response(text, headers={**headers, **_HEADERS})


def private_file(media: str, text: str) -> Response:
    """Return a file that only this browser keeps. Its address changes with its content."""
    headers = {"Content-Type": media, "Cache-Control": "private, max-age=31536000, immutable"}
    return Response(text, headers={**headers, **_HEADERS})


def redirect(location: str, cookie: str | list[str] | None = None) -> Response:
    """Redirect the browser to a page under the console root, in response to a form."""
    headers = {"Location": f"{root()}{location}", "Content-Type": _HTML, **_HEADERS}
    return Response("", headers={**headers, **({"Set-Cookie": cookie} if cookie else {})}, status_code=303)


def saved(workspace_id: str, page: str, confirmation: str, **others: str) -> Response:
    """Redirect to a workspace's page, which shows a confirmation. The page's path may end with a fragment.

    `others` are further query parameters of the page.
    """
    path, hash_sign, fragment = page.partition("#")
    return redirect(f"/{workspace_id}{path}?{urlencode({'saved': confirmation, **others})}{hash_sign}{fragment}")


def cookie(name: str, workspace: str, value: str, seconds: int) -> str:
    """Return a cookie for a workspace's pages, which scripts cannot read. With 0 seconds, it deletes the cookie."""
    return f"{name}={value}; Path={root()}/{workspace}; Max-Age={seconds}; HttpOnly; Secure; SameSite=Strict"


def asset(name: str) -> Response:
    """Return a static file. Its name changes with its content. Raise NotFound."""
    for file, text in rendering.assets().items():
        if name == rendering.hashed_name(file, text):
            headers = {"Content-Type": _TYPES[file.suffix], "Cache-Control": "public, max-age=31536000, immutable"}
            return Response(text, headers={**headers, **_HEADERS})
    raise errors.NotFound.of("file")


def browser_language() -> str:
    """Return the language that the browser prefers."""
    return rendering.preferred_language(current_request.request().headers.get("accept-language", ""))


def service_url() -> str:
    """Return the API's URL as the browser sees it, or `$CAMS` if the request has no `Host` header.

    API Gateway adds the scheme to each request. A local run receives requests without it, over HTTP.
    """
    headers = current_request.request().headers
    host, scheme = headers.get("host"), headers.get("x-forwarded-proto", "http")
    return f"{scheme}://{host}{root().removesuffix('/console')}" if host else "$CAMS"


def root() -> str:
    """Return the console's path as the browser sees it, including the API Gateway stage."""
    request = current_request.request()
    path: str = request.context.get("path", request.path)
    below = request.path.strip("/").count("/")
    return path.rstrip("/").rsplit("/", below)[0] if below else path.rstrip("/")
