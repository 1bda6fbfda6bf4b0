"""Pages and emails have the person's time zone and language, or else the organisation's."""

import re

import pytest

from chalicelib import clock
from chalicelib.extensions import has
from chalicelib.extensions.console.access import sessions
from chalicelib.extensions.console.presentation import rendering, time_zones
from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import HOSTILE
from tests.extensions.console.mailing import Mailing, request_person, text_of
from tests.moto_tables import snapshot

NOON = 1_795_435_200  # 2026-11-23 12:00 UTC
PAGE = "/convos/support/ann"
TOKYO, NEW_YORK = "Asia/Tokyo", "America/New_York"
RULE = "must be the name of a time zone, such as Europe/Amsterdam"


def change(api: Api, path: str, **members: str | None) -> None:
    """Change the client or the organisation."""
    name = {"name": "Acme"} if "orgs" in path else {}
    assert api.post(path, {**name, **members}).status == 200
    sessions.clear_cache()


def converse(api: Api, *hours: int) -> None:
    """Add messages at these numbers of hours after noon."""
    messages = [{"ts": NOON + hour * 3600, "item": {"text": "Hello"}} for hour in hours]
    assert api.post("/agents/support/interact/ann/state", {"turns": [{"messages": messages}]}).status == 200


def times(page: Answer) -> list[str]:
    """Return the times in the transcript, with the days between the messages."""
    return re.findall(r'<time [^>]*data-as="(?:day|time)">([^<]*)<', page.text)


def test_times_are_in_the_zone_of_the_person_or_the_organisation_or_utc(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, 0, 4)
    assert times(signed_in.open(PAGE)) == ["23 Nov", "12:00 UTC", "16:00 UTC"]
    change(workspace_api, "/v2/orgs/acme", timezone=TOKYO)
    assert times(signed_in.open(PAGE)) == ["23 Nov", "21:00 JST", "24 Nov", "01:00 JST"]
    change(workspace_api, "/v2/clients/bo", timezone=NEW_YORK)
    assert times(signed_in.open(PAGE)) == ["23 Nov", "07:00 EST", "11:00 EST"]


def test_only_the_zone_of_the_person_replaces_that_of_the_browser(signed_in: Browser, workspace_api: Api) -> None:
    change(workspace_api, "/v2/orgs/acme", timezone=TOKYO)
    assert "data-time-zone" not in signed_in.open("/account").text
    change(workspace_api, "/v2/clients/bo", timezone=NEW_YORK)
    assert (
        '<html lang="en-GB" ' in (text := signed_in.open("/account").text) and f' data-time-zone="{NEW_YORK}">' in text
    )


def test_pages_are_in_the_language_of_the_person(signed_in: Browser, workspace_api: Api) -> None:
    for own, of_organisation, lang in (
        ("nl", "en", "nl"),
        ("en", "nl", "en-GB"),
        ("de", "nl", "nl"),
        (None, "nl", "nl"),
    ):
        change(workspace_api, "/v2/orgs/acme", preferredLanguage=of_organisation)
        change(workspace_api, "/v2/clients/bo", preferredLanguage=own)
        assert f'<html lang="{lang}" ' in signed_in.open("/account").text


def test_a_stored_zone_that_is_no_longer_known_is_ignored() -> None:
    unknown = {"timezone": "Mars/Base"}
    assert str(rendering.zone_of(unknown, {"timezone": TOKYO})) == TOKYO
    assert str(rendering.zone_of(unknown, {})) == "UTC"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Mars/Base",
        "Europe",
        "../UTC",
        "/UTC",
        "UTC\0",
        "localtime",
        "Factory",
        "A" * 100,
        "Europe/../UTC",
        "right/UTC",
        "posix/UTC",
    ],
)
def test_only_names_of_zones_are_accepted(name: str) -> None:
    with pytest.raises(ValueError, match=RULE):
        clock.time_zone(name)


def test_a_person_chooses_a_language_and_a_zone(signed_in: Browser, workspace_api: Api) -> None:
    page = signed_in.open("/account")
    assert '<option value="Europe/Amsterdam"></option>' in page.text
    chosen = {"name": "Bo de Vries", "preferredLanguage": "nl", "timezone": "Asia/Kolkata"}
    saved = signed_in.submit(page, "/account", chosen)
    assert (
        '<html lang="nl" ' in saved.text
        and ' data-time-zone="Asia/Kolkata">' in saved.text
        and " IST</time>" in saved.text
    )
    client = workspace_api.get("/v2/clients/bo").data
    assert (client["preferredLanguage"], client["timezone"]) == ("nl", "Asia/Kolkata")
    signed_in.submit(saved, "/account", {**chosen, "preferredLanguage": "", "timezone": ""})
    assert not {"preferredLanguage", "timezone"} & workspace_api.get("/v2/clients/bo").data.keys()


@pytest.mark.parametrize(
    ("city", "zone"),
    [
        ("Amsterdam", "Europe/Amsterdam"),
        (" new york ", "America/New_York"),
        ("utc", "UTC"),
    ],
)
@pytest.mark.parametrize("kind", ["signed_in", "operator"])
def test_a_city_is_a_time_zone(kind: str, city: str, zone: str, request: pytest.FixtureRequest) -> None:
    browser: Browser = request.getfixturevalue(kind)
    saved = browser.submit(browser.open("/account"), "/account", {"name": "Bo", "timezone": city})
    assert (saved.status, f' data-time-zone="{zone}">' in saved.text) == (200, True)


@pytest.mark.parametrize("name", ["Mars/Base", HOSTILE])
def test_an_unknown_zone_is_shown_again_with_the_rule(name: str, signed_in: Browser) -> None:
    page, before = signed_in.open("/account"), snapshot()
    answer = signed_in.submit(page, "/account", {"name": "Bo", "timezone": name})
    assert (answer.status, RULE in answer.text, HOSTILE in answer.text) == (400, True, False)
    assert 'id="wrong-timezone"' in answer.text and snapshot() == before


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("New Yrok", ["America/New_York"]),
        ("Europe/Amsterdm", ["Europe/Amsterdam"]),
        ("san", ["America/Santiago"]),
        ("par", ["America/Paramaribo", "Europe/Paris"]),
        ("Mars/Base", []),
        (" ", []),
        (HOSTILE * 100, []),
    ],
)
def test_zones_like_an_unknown_name_are_known(typed: str, nearest: list[str]) -> None:
    assert time_zones.nearest(typed) == nearest


def test_a_person_chooses_among_the_zones_like_an_unknown_name(signed_in: Browser, workspace_api: Api) -> None:
    typed = {"name": "Bo de Vries", "preferredLanguage": "nl", "timezone": "New Yrok"}
    refused = signed_in.submit(signed_in.open("/account"), "/account", typed)
    assert 'value="Bo de Vries"' in refused.text and '<option value="nl" selected>' in refused.text
    assert re.findall('name="timezone" type="radio" value="([^"]*)"', refused.text) == [NEW_YORK]
    signed_in.submit(refused, "/account", {**typed, "timezone": NEW_YORK})
    assert workspace_api.get("/v2/clients/bo").data["timezone"] == NEW_YORK


def test_an_administrator_sets_the_zone_of_the_organisation(signed_in: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "canSelfEdit": True})
    change(workspace_api, "/v2/clients/bo", isOrgAdmin=True)  # type: ignore[arg-type]
    path = "/settings/orgs/acme"
    refused = signed_in.submit(signed_in.open(path), path, {"name": "Acme", "timezone": "Mars"})
    assert (refused.status, RULE in refused.text) == (400, True)
    signed_in.submit(signed_in.open(path), path, {"name": "Acme", "timezone": TOKYO})
    assert workspace_api.get("/v2/orgs/acme").data["timezone"] == TOKYO
    assert " JST</time>" in signed_in.open("/account").text


def test_settings_show_the_zone_of_an_organisation_that_its_people_cannot_change(
    signed_in: Browser, workspace_api: Api
) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "canSelfEdit": False})
    change(workspace_api, "/v2/clients/bo", isOrgAdmin=True)  # type: ignore[arg-type]
    for zone in ("UTC", TOKYO):
        assert f"<dt>Time zone</dt><dd>{zone} " in signed_in.open("/settings/orgs/acme").text
        change(workspace_api, "/v2/orgs/acme", timezone=TOKYO)


@pytest.mark.skipif(not has("reports"), reason="the charts need the extension")
def test_charts_have_the_days_of_the_zone(signed_in: Browser, workspace_api: Api) -> None:
    pattern = r'<a href="[^"]*/account" title="Time zone: [^"]*">([^<]*)</a>, compared with'
    assert ", UTC</p>" in signed_in.open("/overview").text
    assert re.findall(pattern, signed_in.open("/analytics").text) == ["UTC"]
    change(workspace_api, "/v2/clients/bo", timezone="Asia/Kathmandu")
    assert ", Asia/Kathmandu</p>" in signed_in.open("/overview").text
    assert re.findall(pattern, signed_in.open("/analytics").text) == ["Asia/Kathmandu"]
    page = signed_in.open(f"/analytics?tz={TOKYO}")
    assert ", Asia/Tokyo, compared with" in page.text and 'name="tz"' in page.text and "set-cookie" not in page.headers


@pytest.mark.skipif(not has("reports"), reason="the charts need the extension")
def test_the_browser_of_an_operator_remembers_the_zone(operator: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/agents/support", {"title": "Support"})
    assert ", UTC</p>" in operator.open("/overview").text
    assert ", Asia/Tokyo, compared with" in operator.open(f"/analytics?tz={TOKYO}").text
    operator.open("/analytics?tz=Mars")
    for path, end in (("/overview", "</p>"), ("/analytics", ", compared with")):
        page = operator.open(path).text
        assert f", Asia/Tokyo{end}" in page and f'data-time-zone="{TOKYO}"' in page
    assert "<option selected>Asia/Tokyo<" in page


def test_emails_are_in_the_language_and_zone_of_the_person(mailing: Mailing, workspace_api: Api) -> None:
    change(workspace_api, "/v2/orgs/acme", preferredLanguage="en", timezone=TOKYO)
    request_person(workspace_api, "ann")
    mailing.happen()
    change(workspace_api, "/v2/clients/bo", preferredLanguage="nl", timezone=NEW_YORK)
    mailing.run(600)
    request_person(workspace_api, "bob")
    mailing.happen()
    first, second = mailing.mails
    assert (
        " JST" in text_of(first) and " JST" in text_of(first, "html") and '<html lang="en">' in text_of(first, "html")
    )
    assert re.search(" E[SD]T", text_of(second)) and re.search(" E[SD]T", text_of(second, "html"))
    assert '<html lang="nl">' in text_of(second, "html")
