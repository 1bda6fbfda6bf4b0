"""The links on pages follow the request's path, whatever the deployment's address."""

import re

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.extensions.console.conftest import PASSWORD
from tests.http.test_custom_domain import PREFIXES, call


@pytest.mark.parametrize("prefix", PREFIXES)
def test_links_redirects_and_the_cookie_are_below_the_path_of_the_request(
    prefix: str, api: Api, workspace: NewWorkspace
) -> None:
    client = {"email": "someone@example.com", "dashboardPassword": PASSWORD, "name": "Someone"}
    assert api.post("/v3/clients", {"client": client}).status == 200
    home = f"/console/{workspace.workspace_id}"
    form = f"email=someone%40example.com&password={PASSWORD.replace(' ', '+')}".encode()
    kind = {"content-type": "application/x-www-form-urlencoded"}
    signed_in = call(prefix, "POST", home, form, **kind)
    assert signed_in["headers"]["Location"] == f"{prefix}{home}"
    cookie = signed_in["headers"]["Set-Cookie"]
    assert f"Path={prefix}{home};" in cookie
    page = call(prefix, "GET", f"{home}/overview", cookie=cookie.partition(";")[0])
    assert page["statusCode"] == 200
    links = re.findall(r'(?:href|src|action)="([^"]*)"', page["body"])
    assert links
    assert [one for one in links if not one.startswith((f"{prefix}/console/", "#"))] == []
