"""The routes of the public OpenAPI document, the page that displays it, and the guide (`auth.OPEN_ROUTES`).

The document and the page are built when first requested, so that other requests are not delayed. These routes are not
API operations: the document does not describe them, and they ignore query parameters.
"""

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from chalice.app import Blueprint, Response

from chalicelib import errors, storage
from chalicelib.http import current_request

routes = Blueprint(__name__)

_PAGE_FOLDER = Path(__file__).with_name("page")
_PAGE = ("guide.html", "page.css", "page.js")
# The Python package also contains two other viewers, which are not served.
_SWAGGER = ("swagger_bundle.js", "swagger_style.css")
_HTML = "text/html; charset=utf-8"
_TYPES = {".html": _HTML, ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_HEADERS = {
    # The policy allows no third-party content and no requests to other origins. Swagger UI needs inline styles.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@routes.route("/", methods=["GET"])
def redirect_to_page() -> Response:
    """Redirect to the documentation page."""
    # The location is relative to the last path segment, which is the API Gateway stage if the caller omitted the slash.
    stage = _path().rpartition("/")[2]
    location = f"{stage}/docs" if stage else "docs"
    return Response("", headers={"Location": location, "Content-Type": _HTML}, status_code=302)


@routes.route("/openapi.json", methods=["GET"])
def read_document() -> Response:
    """Read the OpenAPI document."""
    return _answer(_document(), "application/json", "no-cache")


@routes.route("/docs", methods=["GET"])
def read_page() -> Response:
    """Read the documentation page."""
    # Relative links work under any API Gateway stage. `/docs/` is the same page as `/docs`.
    page = _read(_PAGE_FOLDER / "docs.html").replace("{assets}", "" if _path().endswith("/") else "docs/")
    return _answer(page, _HTML, "no-cache")


@routes.route("/docs/{asset}", methods=["GET"])
def read_asset(asset: str) -> Response:
    """Read one of the documentation page's files."""
    file = errors.require(_assets().get(asset), "file")
    return _answer(_read(file), _TYPES[file.suffix], "max-age=86400")


@lru_cache
def _document() -> str:
    from chalicelib.openapi import document

    return storage.encode_json(document.build(routes.current_app.routes)).decode()


@lru_cache
def _assets() -> dict[str, Path]:
    # The package is located without importing it, because the import would load 9 MB.
    spec = find_spec("offapi")
    folders = spec.submodule_search_locations if spec else None
    swagger = [Path(folder) / name for folder in folders or () for name in _SWAGGER]
    return {file.name: file for file in (*swagger, *(_PAGE_FOLDER / name for name in _PAGE))}


@lru_cache
def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _path() -> str:
    """Return the request path as the caller sees it, including the API Gateway stage."""
    path: str = current_request.request().context.get("path", "/")
    return path


def _answer(text: str, media_type: str, caching: str) -> Response:
    return Response(text, headers={"Content-Type": media_type, "Cache-Control": caching, **_HEADERS})
