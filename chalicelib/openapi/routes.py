"""The OpenAPI document and the page that shows it, open to everybody (`auth.OPEN_ROUTES`).

Document and page are made when they are first asked for: no other request pays for them.
"""

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from chalice.app import Blueprint, Response

from chalicelib import errors, storage
from chalicelib.http import messages
from chalicelib.http.operation import operation

routes = Blueprint(__name__)

_OWN = Path(__file__).with_name("page")
# The package's other files (of two more viewers) are not served.
_SWAGGER = ("swagger_bundle.js", "swagger_style.css")
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_HEADERS = {
    # Nothing from elsewhere, nothing sent elsewhere. Swagger UI sets styles on its elements.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@routes.route("/openapi.json", methods=["GET"])
@operation(whole="media.Document")
def read_document() -> Response:
    """Read this document."""
    return _answer(_document(), "application/json", "no-cache")


@routes.route("/docs", methods=["GET"])
@operation(whole="media.Page")
def read_page() -> Response:
    """Read the page that shows this document."""
    # Links are relative, so that they hold below any stage of a gateway; `/docs/` is the same page.
    at_slash = messages.request().context.get("path", "").endswith("/")
    page = _read(_OWN / "docs.html").replace("{assets}", "" if at_slash else "docs/")
    return _answer(page, "text/html; charset=utf-8", "no-cache")


@routes.route("/docs/{asset}", methods=["GET"])
@operation(whole="media.Asset", raises=(errors.NotFound,))
def read_asset(asset: str) -> Response:
    """Read a file of that page."""
    file = _assets().get(asset)
    if file is None:
        raise errors.NotFound.of("file")
    return _answer(_read(file), _TYPES[file.suffix], "max-age=86400")


@lru_cache
def _document() -> str:
    from chalicelib.openapi import document

    return storage.encode_json(document.build(routes.current_app.routes)).decode()


@lru_cache
def _assets() -> dict[str, Path]:
    # Found without importing the package, which would read all of its 9 MB.
    spec = find_spec("offapi")
    places = spec.submodule_search_locations if spec else None
    swagger = [Path(place) / name for place in places or () for name in _SWAGGER]
    return {file.name: file for file in (*swagger, *_OWN.glob("page.*"))}


@lru_cache
def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _answer(text: str, media_type: str, caching: str) -> Response:
    return Response(text, headers={"Content-Type": media_type, "Cache-Control": caching, **_HEADERS})
