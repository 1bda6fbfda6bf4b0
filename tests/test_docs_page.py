"""The page at /docs works without a token, under any stage of a gateway, and loads no other site."""

import re
from urllib.parse import urljoin, urlsplit

import pytest

from chalicelib.http import messages
from tests.api import Api
from tests.selection import one_of_each

ASSETS = {
    "swagger_bundle.js": "text/javascript; charset=utf-8",
    "swagger_style.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
}
# The page's addresses: on this machine, under the stage of a gateway, and with a trailing slash.
ADDRESSES = [
    "http://127.0.0.1:8000/docs",
    "http://127.0.0.1:8000/docs/",
    "https://gateway.example/api/docs",
    "https://gateway.example/api/docs/",
]


def links(html: str) -> set[str]:
    """The addresses that the page loads."""
    return set(re.findall(r'(?:src|href)="([^"]*)"', html)) - {"data:,"}


def test_the_page_is_served_without_a_token() -> None:
    page = Api().get("/docs")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<title>CAMS" in page.text


@pytest.mark.parametrize(("name", "media_type"), ASSETS.items(), ids=ASSETS.keys())
@one_of_each(lambda: None)
def test_an_asset_is_served_without_a_token(name: str, media_type: str) -> None:
    asset = Api().get(f"/docs/{name}")
    assert (asset.status, asset.headers["content-type"]) == (200, media_type)
    assert messages.fits(asset.text)


@pytest.mark.parametrize("path", ["/docs", "/docs/page.js", "/openapi.json"])
@one_of_each(lambda: None)
def test_an_invalid_token_is_ignored(path: str) -> None:
    assert Api("wrong").get(path).status == 200


# The package has more files than the page needs.
@one_of_each(lambda: None)
@pytest.mark.parametrize("name", ["unknown.js", "redoc.js", "__init__.py", "url.json", "docs.html", "..", "routes.py"])
def test_any_other_name_is_not_found(name: str) -> None:
    answer = Api().get(f"/docs/{name}")
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("name", ["..%2Froutes.py", "%2Fetc%2Fpasswd", "page.js%00"])
@one_of_each(lambda: None)
def test_a_path_is_not_an_asset_name(name: str) -> None:
    answer = Api().get(f"/docs/{name}")
    assert (answer.status, answer.json["code"]) == (400, "INVALID")


@one_of_each(lambda: None)
@pytest.mark.parametrize("address", ADDRESSES)
def test_the_page_loads_its_own_assets_at_every_address(address: str) -> None:
    stage = address.rstrip("/").removesuffix("/docs")
    page = Api().get(urlsplit(address.removeprefix(stage)).path)
    loaded = {urljoin(address, link) for link in links(page.text)}
    assert loaded == {f"{stage}/docs/{name}" for name in ASSETS}


@pytest.mark.parametrize("path", ["/docs", "/docs/page.js", "/docs/page.css"])
@one_of_each(lambda: None)
def test_the_assets_contain_no_other_address(path: str) -> None:
    text = Api().get(path).text
    assert not re.search(r"https?:|//\w|@import", text)


def test_the_style_sheet_loads_nothing() -> None:
    style = Api().get("/docs/swagger_style.css").text
    assert "@import" not in style
    assert [url for url in re.findall(r'url\(["\']?([^)"\']+)', style) if not url.startswith("data:")] == []


def test_the_script_loads_the_relative_document_without_a_validator() -> None:
    script = Api().get("/docs/page.js").text
    assert 'new URL("../openapi.json", document.currentScript.src)' in script
    assert "validatorUrl: null" in script


@pytest.mark.parametrize("path", ["/docs", "/docs/page.js", "/openapi.json"])
@one_of_each(lambda: None)
def test_the_content_security_policy_blocks_other_sites(path: str) -> None:
    headers = Api().get(path).headers
    policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self' 'unsafe-inline'",  # Swagger UI sets styles on its elements
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_the_page_has_no_inline_script_or_style_that_the_policy_blocks() -> None:
    html = Api().get("/docs").text
    assert not re.search(r"<style|<script>|\son\w+=|\sstyle=", html)
