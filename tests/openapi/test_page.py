"""The page at /docs works without a token and under any gateway stage, and loads no resources from other sites."""

import re
from urllib.parse import urljoin, urlsplit

import pytest
from chalice.local import LambdaContext

from app import app
from chalicelib.http import responses
from tests.api import Api
from tests.openapi.document import document
from tests.selection import first_case, one_of_each

ASSETS = {
    "swagger_bundle.js": "text/javascript; charset=utf-8",
    "swagger_style.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "guide.html": "text/html; charset=utf-8",
}
LOADED = ASSETS.keys() - {"guide.html"}
# The page's addresses: on this machine, under a gateway stage, and with a trailing slash.
ADDRESSES = [
    "http://127.0.0.1:8000/docs",
    "http://127.0.0.1:8000/docs/",
    "https://gateway.example/api/docs",
    "https://gateway.example/api/docs/",
]


# The addresses of the service root.
ROOTS = [
    "http://127.0.0.1:8000/",
    "https://api.example/api",
    "https://api.example/api/",
    "https://api.example/in/front/api",
]


def loads(html: str) -> set[str]:
    """Return the addresses that the page loads."""
    return set(re.findall(r'<(?:script src|link rel="stylesheet" href)="([^"]*)"', html))


def links(html: str) -> set[str]:
    """Return the targets of the links that a reader can follow."""
    return set(re.findall(r'<a href="([^"]*)"', html))


@one_of_each(lambda address: address.endswith("/"))
@pytest.mark.parametrize("address", ROOTS)
def test_the_root_leads_to_the_page(address: str) -> None:
    event = Api().event("GET", "/")
    event["requestContext"]["path"] = urlsplit(address).path
    response = app(event, LambdaContext("api", 256))
    assert response["statusCode"] == 302
    assert urljoin(address, response["headers"]["Location"]) == f"{address.rstrip('/')}/docs"


def test_the_page_is_served_without_a_token() -> None:
    page = Api().get("/docs")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<title>CAMS" in page.text


@pytest.mark.parametrize(("name", "media_type"), ASSETS.items(), ids=ASSETS.keys())
@first_case
def test_an_asset_is_served_without_a_token(name: str, media_type: str) -> None:
    asset = Api().get(f"/docs/{name}")
    assert (asset.status, asset.headers["content-type"]) == (200, media_type)
    assert responses.fits(asset.text)


@pytest.mark.parametrize(
    ("path", "status"), [("/", 302), ("/docs", 200), ("/docs/page.js", 200), ("/openapi.json", 200)]
)
@first_case
def test_query_parameters_are_ignored(path: str, status: int) -> None:
    assert Api().get(f"{path}?utm_source=mail").status == status


@pytest.mark.parametrize("path", ["/docs", "/docs/page.js", "/openapi.json"])
@first_case
def test_an_invalid_token_is_ignored(path: str) -> None:
    assert Api("wrong").get(path).status == 200


# The package contains more files than the page needs.
@first_case
@pytest.mark.parametrize("name", ["unknown.js", "redoc.js", "__init__.py", "url.json", "docs.html", "routes.py"])
def test_any_other_name_is_not_found(name: str) -> None:
    answer = Api().get(f"/docs/{name}")
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("name", ["..", "..%2Froutes.py", "%2Fetc%2Fpasswd", "page.js%00"])
@first_case
def test_a_path_is_not_an_asset_name(name: str) -> None:
    answer = Api().get(f"/docs/{name}")
    assert (answer.status, answer.json["code"]) == (400, "INVALID")


@first_case
@pytest.mark.parametrize("address", ADDRESSES)
def test_the_page_loads_its_own_assets_at_every_address(address: str) -> None:
    stage = address.rstrip("/").removesuffix("/docs")
    page = Api().get(urlsplit(address.removeprefix(stage)).path)
    assert {urljoin(address, link) for link in loads(page.text)} == {f"{stage}/docs/{name}" for name in LOADED}
    followed = {urljoin(address, link).partition("#")[0] for link in links(page.text)}
    assert followed == {f"{stage}/docs/guide.html", f"{stage}/openapi.json"}


def test_the_page_links_every_section_of_the_guide() -> None:
    guide = Api().get("/docs/guide.html").text
    anchors = [link.partition("#")[2] for link in links(Api().get("/docs").text)]
    assert sorted(filter(None, anchors)) == sorted(re.findall(r'<h2 id="(\w+)">', guide))
    assert links(guide) == {"../docs"}


def test_no_operation_has_an_example_that_a_viewer_would_send_in_vain() -> None:
    parameters = document()["components"]["parameters"].values()
    with_example = {one["name"] for one in parameters if "example" in one or "examples" in one}
    required = {one["name"] for one in parameters if one["in"] == "query" and one.get("required")}
    assert with_example - required == {"agent_id", "client_id", "convo_id", "message_id", "org_id", "user_id"}


@pytest.mark.parametrize("path", ["/docs", "/docs/page.js", "/docs/page.css", "/docs/guide.html"])
@first_case
def test_the_assets_contain_no_other_address(path: str) -> None:
    text = Api().get(path).text
    assert not re.search(r"https?:|//\w|@import", text)


def test_the_style_sheet_loads_nothing() -> None:
    style = Api().get("/docs/swagger_style.css").text
    assert "@import" not in style
    assert [url for url in re.findall(r'url\(["\']?([^)"\']+)', style) if not url.startswith("data:")] == []


def test_the_script_loads_the_relative_document_without_a_validator() -> None:
    script = Api().get("/docs/page.js").text
    assert 'new URL("..", document.currentScript.src)' in script
    assert "validatorUrl: null" in script


@pytest.mark.parametrize("path", ["/docs", "/docs/page.js", "/openapi.json"])
@first_case
def test_the_content_security_policy_blocks_other_sites(path: str) -> None:
    headers = Api().get(path).headers
    policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self' 'unsafe-inline'",  # Swagger UI sets inline styles on its elements
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["/docs", "/docs/guide.html"])
def test_a_page_has_no_inline_script_or_style_that_the_policy_blocks(path: str) -> None:
    html = Api().get(path).text
    assert not re.search(r"<style|<script>|\son\w+=|\sstyle=", html)
