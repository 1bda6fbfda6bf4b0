"""Operators issue and revoke access tokens in the console."""

import re

import pytest

from chalicelib.extensions.console.settings_pages import operators
from tests.api import Api
from tests.extensions.console.browser import Browser, is_asked_once


def test_a_token_is_shown_once_and_revoked(operator: Browser, workspace_api: Api) -> None:
    page = operator.open("/settings")
    assert "<button>Create token</button>" in page.text and "The system that uses it, such as" in page.text
    issued = operator.submit(page, "/settings/tokens", {"name": "Import", "days": "90", "scopes.leads:read": "on"})
    (token,) = re.findall(r"cams_access_\w+", issued.text)
    assert Api(token).get("/v3/leads").status == 200 and Api(token).get("/v3/agents").status == 403
    page = operator.open("/settings")
    assert "Import" in page.text and token not in page.text and "leads:read" in page.text
    (row,) = [one for one in workspace_api.get("/v3/tokens").data if one["name"] == "Import"]
    assert is_asked_once(page, f"/settings/tokens/{row['id']}")
    revoked = operator.submit(page, f"/settings/tokens/{row['id']}", {})
    assert "Import" not in revoked.text and "The token has been revoked." in revoked.text
    wrong = {"name": "x", "days": "30", "scope_set": "unknown"}
    for fields in ({"name": "", "days": "30"}, {"name": "x", "days": "9999"}, wrong):
        answer = operator.submit(page, "/settings/tokens", fields)
        assert (answer.status, 'id="wrong-' in answer.text) == (400, True)


def test_the_address_of_a_form_explains_itself(operator: Browser) -> None:
    page = operator.open("/settings/tokens")  # the address bar shows it after a token was created
    assert (page.status, "This address only receives forms;" in page.text) == (405, True)
    assert f'href="{operator.home}/overview">Go to Overview</a>' in page.text and ">Sign in<" not in page.text
    stranger = operator.another().open("/settings/tokens")
    assert (stranger.status, ">Sign in</a>" in stranger.text, "signed-in" in stranger.text) == (405, True, False)


def test_a_new_token_can_only_read_by_default(operator: Browser) -> None:
    assert '<option value="read" selected>' in operator.open("/settings").text


@pytest.mark.parametrize(
    ("seconds", "text", "is_soon"),
    [
        (86_400 * 90 + 60, "in 90 days", False), (86_400 * 14 + 60, "in 14 days", False),
        (86_400 * 13 + 60, "in 13 days", True), (86_400 + 60, "in one day", True), (3_600, "in less than a day", True),
    ],
)  # fmt: skip
def test_the_expiry_of_a_token_is_in_words_and_stands_out_in_the_last_days(
    operator: Browser, workspace_api: Api, seconds: int, text: str, is_soon: bool
) -> None:
    workspace_api.post("/v3/tokens", {"token": {"name": "Import", "expiresInSeconds": seconds}})
    times = re.findall(
        '<time datetime="[^"]*" title="([^"]+)"( class="soon")?>([^<]*)</time>', operator.open("/settings").text
    )
    assert [(bool(soon), shown) for _, soon, shown in times[-1:]] == [(is_soon, text)]


def test_the_settings_begin_with_organisations_and_a_result_with_its_list(operator: Browser) -> None:
    start = operator.open("/settings")
    issued = operator.submit(start, "/settings/tokens", {"name": "Import", "days": "90"})
    shown = [re.findall('class="panel first" id="([a-z]+)"', page.text) for page in (start, issued)]
    assert shown == [["organisations"], ["tokens"]]


def test_a_named_set_of_scopes_gives_its_rights(operator: Browser, workspace_api: Api) -> None:
    for name, granted in operators.SCOPE_SETS.items():
        fields = {"name": name, "days": "30", "scope_set": name}
        assert operator.submit(operator.open("/settings"), "/settings/tokens", fields).status == 200
        (row,) = [one for one in workspace_api.get("/v3/tokens").data if one["name"] == name]
        assert sorted(row.get("scopes", ())) == sorted(granted)
    assert "Leads for a CRM</td>" in operator.open("/settings").text
    single = {"name": "one", "days": "30", "scope_set": "all", "scopes.leads:read": "on"}
    operator.submit(operator.open("/settings"), "/settings/tokens", single)
    assert [one["scopes"] for one in workspace_api.get("/v3/tokens").data if one["name"] == "one"] == [["leads:read"]]
