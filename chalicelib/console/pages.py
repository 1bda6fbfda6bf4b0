"""Pages as HTML: templates, texts in the person's language, and the headers of each answer.

Jinja2 and the templates are loaded when the first page is asked for, so requests to the API do not pay for them.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chalice.app import Response

from chalicelib import clock, errors
from chalicelib.console import shown
from chalicelib.http import exchange

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent
SOURCES, COMPILED = "templates", "compiled"
LANGUAGES = ("en", "nl")
# The pages that the navigation shows.
OPENED = ("/overview", "/convos", "/analytics", "/leads", "/agents", "/settings")
_HTML = "text/html; charset=utf-8"
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; trusted-types cams; require-trusted-types-for 'script'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_HASH_LENGTH = 12


def page(template: str, language: str, status: int = 200, **context: Any) -> Response:
    """A page. Each person has their own, so nothing stores it."""
    given = {
        "t": texts(language),
        "language": language,
        "root": root(),
        "now": clock.seconds(),
        "opened_pages": OPENED,
        **context,
    }
    text = environment().get_template(template).render(**given)
    return Response(text, headers={"Content-Type": _HTML, "Cache-Control": "no-store", **_HEADERS}, status_code=status)


def download(name: str, media: str, text: str) -> Response:
    """A file that the browser saves under a name."""
    disposition = f'attachment; filename="{name}"'
    headers = {"Content-Type": media, "Content-Disposition": disposition, "Cache-Control": "no-store"}
    return Response(text, headers={**headers, **_HEADERS})


def redirect(location: str, cookie: str | None = None) -> Response:
    """Lead the browser to a page below the root of the console, as the answer to a form."""
    headers = {"Location": f"{root()}{location}", "Content-Type": _HTML, "Cache-Control": "no-store", **_HEADERS}
    return Response("", headers={**headers, **({"Set-Cookie": cookie} if cookie else {})}, status_code=303)


def asset(name: str) -> Response:
    """A file that pages link to, under a name that changes with its content. Raises NotFound."""
    for file, text in _assets().items():
        if name == _hashed(file, text):
            headers = {"Content-Type": _TYPES[file.suffix], "Cache-Control": "public, max-age=31536000, immutable"}
            return Response(text, headers={**headers, **_HEADERS})
    raise errors.NotFound.of("file")


def root() -> str:
    """The path of the console as the browser sees it, with the stage of a gateway."""
    request = exchange.request()
    path: str = request.context.get("path", request.path)
    below = request.path.strip("/").count("/")
    return path.rstrip("/").rsplit("/", below)[0] if below else path.rstrip("/")


@cache
def texts(language: str) -> "Texts":
    """The texts of a language."""
    return Texts(json.loads((_FOLDER / "texts" / f"{language}.json").read_text(encoding="utf-8")))


class Texts:
    """Texts by their key. `t("shown", count=5)` is the text of a key, with its placeholders filled in."""

    def __init__(self, by_key: dict[str, str]) -> None:
        self._by_key = by_key

    def __call__(self, key: str, **values: Any) -> str:
        """The text of a key."""
        return self._by_key[key].format(**values)

    def named(self, group: str, key: str) -> str:
        """The text of a key that a record has, such as a state; the key itself if there is no text for it."""
        return self._by_key.get(f"{group}.{key}", key)


@cache
def environment() -> "Environment":
    """The templates: those that the deployment package has compiled, otherwise their sources."""
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, ModuleLoader, StrictUndefined

    made = Environment(
        loader=ChoiceLoader([ModuleLoader(_FOLDER / COMPILED), FileSystemLoader(_FOLDER / SOURCES)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(shown.FILTERS)
    made.globals["assets"] = {file.name: _hashed(file, text) for file, text in _assets().items()}
    return made


@cache
def _assets() -> dict[Path, str]:
    return {file: file.read_text(encoding="utf-8") for file in sorted((_FOLDER / "assets").iterdir())}


def _hashed(file: Path, text: str) -> str:
    return f"{file.stem}.{hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]}{file.suffix}"
