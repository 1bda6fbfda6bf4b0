"""Every console page with hostile texts: no text runs as a script, and the page is accessible and fits on the
screen."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from chalicelib.extensions.console.presentation import pages
from tests.browser import axe, chromium
from tests.extensions.console.in_browser import hostile
from tests.extensions.console.in_browser.person import NARROW, SECONDS, WIDE, Person, ask
from tests.reliability import runs
from tests.reliability.runs import Run
from tests.selection import each_value_once, first_case, whole

OTHER_PAGES = (
    "/convos?tab=all",
    "/convos?tab=mine",
    "/convos?q=nobody",
    "/convos/support/all",
    "/convos/support/one-1",
    "/convos/support/none",
    "/analytics?by=origin&tz=Mars",
    "/analytics?by=agent&chart=messages&sort=change",
    *(f"/analytics?by={one}&days=7" for one in ("origin", "country")),
    "/leads?q=nobody",
    f"/leads?q={hostile.PAYLOADS[3]}&agent={hostile.PAYLOADS[3]}",
    "/agents/support",
    "/agents/support/versions",
    "/settings/orgs/acme/clients/acme",
    "/settings/orgs/acme/new-client",
    "/account",
)
PAGES = (*pages.NAVIGATION, *OTHER_PAGES)
OPERATOR_PAGES = (
    "/agents",
    "/agents/support#messages",
    "/agents/support#tools",
    "/agents/support/site",
    "/agents/support/replies",
    "/agents/support/try",
    "/settings",
    "/settings#webhooks",
    "/settings#tokens",
    "/settings/new-org",
    "/settings/orgs/acme",
    "/settings/orgs/acme/agents",
    "/settings/orgs/acme/clients/acme",
    "/settings/usage",
    "/settings/audit",
    "/settings/erasures",
    f"/settings/erasures?email={quote(hostile.PAYLOADS[2])}",
)
# Pages that operators rarely open, without the pages of records whose ids the service creates.
FORM_PAGES = (
    "/settings/workspace",
    "/settings/new-webhook",
    "/settings/orgs/acme/new-client",
    "/new-agent",
    "/agents/support/delete",
    "/agents/support/new-tool",
    "/convos/support/one-1/delete",
)
VIEW = "[form=view]"
_STOPS = "a[href], button, input:not([type=hidden]), select, textarea, summary"
_FOCUS = """
const one = document.activeElement, style = getComputedStyle(one), box = one.getBoundingClientRect();
const shown = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
return [one.outerHTML.slice(0, 120), shown && style.outlineStyle === 'solid' && parseFloat(style.outlineWidth) >= 2];
"""
_DISPLAYS = "return [...document.querySelectorAll('table')].map((one) => getComputedStyle(one).display)"
# Elements and attributes that only unescaped text can create.
_FIND_UNESCAPED = """
// The pages focus wrong fields, the result of a tool's test and, before the sign-in, the first field.
const result = '.result[tabindex="-1"], #wrong-arguments[tabindex="-1"], [aria-describedby="wrong-arguments"]';
const focused = `[autofocus]:not([aria-invalid], ${result}, .signed-out :is(#workspace, #email, #key)[tabindex])`;
const pictures = 'img:not([src*="/photos/"])';  // the pages show people's photos
const unsafe = `iframe, ${pictures}, style, base, object, embed, main script, b, ${focused}`;
const made = [...document.querySelectorAll(unsafe)];
for (const one of document.querySelectorAll('*')) for (const attribute of one.attributes) {
  if (attribute.name.startsWith('on') || attribute.name === 'style') made.push(one);
  const isAddress = ['href', 'src', 'action', 'formaction'].includes(attribute.name);
  if (isAddress && !/^(https?:|\\/|#|\\?)/.test(attribute.value)) made.push(one);
}
return [window.__x ?? null, ...made.map((one) => one.outerHTML.slice(0, 200))];
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Run the same service as `make run` on a free port, with hostile records."""
    directory: Path = tmp_path_factory.mktemp("run")
    started = runs.begin(directory, runs.free_port())
    hostile.fill(started)
    yield started
    runs.kill(started)


@pytest.fixture(scope="module")
def signed_in(run: Run) -> Iterator[Person]:
    with chromium.started() as driver:
        person = Person(driver, run)
        person.be_signed_in()
        yield person


@pytest.fixture(scope="module")
def stranger(run: Run) -> Iterator[Person]:
    """Return a person who is not signed in."""
    with chromium.started() as driver:
        yield Person(driver, run)


@pytest.fixture
def person(signed_in: Person) -> Iterator[Person]:
    """Return the signed-in person. Fail if the browser reports an error or opens a dialog during the test."""
    chromium.resize(signed_in.driver, *WIDE)
    signed_in.prefer("light")
    yield signed_in
    assert signed_in.log() == []


@pytest.mark.parametrize("path", PAGES)
def test_nothing_that_was_sent_runs(path: str, person: Person) -> None:
    person.open(path)
    assert unescaped_elements(person) == [None]
    assert "'unsafe" not in policy(person)


@first_case
@pytest.mark.parametrize("seed", range(20))
def test_nothing_of_texts_composed_at_random_runs(seed: int, person: Person, run: Run) -> None:
    hostile.refill(run, Random(seed))
    for path in PAGES:
        person.open(path)
        assert unescaped_elements(person) == [None], path


def test_nothing_that_was_sent_runs_after_a_live_update(person: Person, run: Run) -> None:
    person.open("/convos/support/one-0")
    for payload in hostile.PAYLOADS:
        body = {"messages": [{"from": "human", "item": {"text": f"{payload} live"}}]}
        runs.ask(run, "POST", "/v3/agents/support/convos/one-0/messages", run.credentials["workspace_key"], body)
    person.sees(f"{hostile.PAYLOADS[-2]} live")
    assert unescaped_elements(person) == [None]


def test_the_check_finds_what_runs(person: Person) -> None:
    person.open("/overview")
    person.driver.execute_script("document.body.append(document.createElement('img'))")
    assert len(unescaped_elements(person)) == 2
    person.driver.get_log("browser")


@each_value_once
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_no_violation(path: str, scheme: str, person: Person) -> None:
    person.open(path)
    check(person, scheme)
    charts = {"line", "line on its area", "text of a chart"}
    has_charts = path == "/overview" or (path.startswith("/analytics") and "Mars" not in path)
    assert {what for what, *_ in axe.contrasts(person.driver)} >= (charts if has_charts else set())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["", "/..", "/forgot-password", "/password/x"])
def test_axe_finds_no_violation_before_the_sign_in(path: str, scheme: str, stranger: Person) -> None:
    stranger.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    stranger.open(path)
    check(stranger, scheme)
    assert unescaped_elements(stranger) == [None]


def check(person: Person, scheme: str) -> None:
    """Fail if axe-core finds a violation, a text has insufficient contrast or a wide table is not laid out as one."""
    if shutil.which("npm") is None:
        pytest.skip("NOT TESTED with axe-core: npm is missing.")
    axe.install()
    person.prefer(scheme)
    for size in (WIDE, NARROW):
        chromium.resize(person.driver, *size)
        assert axe.violations(person.driver) == []
        assert [one for one in axe.contrasts(person.driver) if one[1] < one[2]] == []
        assert person.driver.execute_script("return document.documentElement.scrollWidth") <= size[0]
        assert size == NARROW or {*person.driver.execute_script(_DISPLAYS)} <= {"table", "none"}


def test_a_version_and_the_test_of_a_tool_pass_the_same_checks(person: Person) -> None:
    person.open("/agents/support/versions")
    person.leave(person.driver.find_elements("css selector", ".rows a")[-1])
    for scheme in ("light", "dark"):
        check(person, scheme)
    assert unescaped_elements(person) == [None]
    chromium.resize(person.driver, *WIDE)
    person.open("/agents/support#tools")
    person.driver.find_elements("css selector", "#tools li summary")[0].click()
    person.press("Testen")
    check(person, "light")
    assert unescaped_elements(person) == [None]
    person.driver.get_log("browser")  # discard this page's log entry: the tool's server rejects the test


def test_what_operators_see_passes_the_same_checks(stranger: Person) -> None:
    stranger.sign_in_as_operator()
    for path in OPERATOR_PAGES:
        check_page(path, stranger)
    stranger.open("/settings#webhooks")
    for link in ("/webhooks/", "/deliveries/"):
        # On phones, the bar at the bottom covers what has not been scrolled up.
        chromium.resize(stranger.driver, *WIDE)
        stranger.leave(stranger.driver.find_elements("css selector", f"a[href*='{link}']")[0])
        check(stranger, "light")
        assert unescaped_elements(stranger) == [None]
    for page, button in (
        ("/agents/support/site", "[action$='/site'] button"),
        ("/settings/orgs/acme/clients/acme", VIEW),
    ):
        chromium.resize(stranger.driver, *WIDE)
        stranger.open(page)
        stranger.leave(stranger.find(button))
        check(stranger, "dark")
        assert unescaped_elements(stranger) == [None]
    stranger.leave(stranger.find(".viewing button"))
    assert stranger.driver.current_url.endswith("/settings/orgs/acme/clients/acme")


@whole
def test_forms_and_records_pass_the_same_checks(stranger: Person) -> None:
    stranger.sign_in_as_operator()
    stranger.log()
    for path in (*FORM_PAGES, *record_pages(stranger)):
        check_page(path, stranger)
        assert stranger.driver.current_url.endswith(path)
    assert stranger.log() == []


def record_pages(person: Person) -> list[str]:
    """Return the pages of a lead, a message, its form, two erasures, a tool, versions, and a delivery."""
    run, wait = person.run, WebDriverWait(person.driver, SECONDS)
    lead = ask(run, "GET", "/v3/leads?agentId=support")["data"][0]["id"]
    unknown = {"userID": f"{hostile.PAYLOADS[1]} is unknown", "email": f"{hostile.PAYLOADS[2]}@acme.test"}
    erasures = [ask(run, "POST", "/v3/erasures", {"erasure": unknown})["data"]["id"] for _ in range(2)]
    tool = ask(run, "GET", "/v3/agents/support/tools")["data"][0]["id"]
    ask(run, "PATCH", f"/v3/tools/{tool}", {"tool": {"name": f"{hostile.LONG} {hostile.ALL}"}})
    ask(run, "PATCH", "/v3/workspace", {"workspace": {"name": hostile.ALL[:200]}})
    message = ask(run, "GET", "/v3/agents/support/convos/one-1/messages")["data"][0]["mid"]
    below = f"/agents/support/tools/{tool}"
    versions = wait.until(lambda _: ask(run, "GET", f"/v3/tools/{tool}/versions")["data"])
    pages_of_tool = [f"{below}/settings", f"{below}/versions", f"{below}/versions/{versions[-1]['number']}"]
    of_visitor = [f"/leads/support/{lead}", f"/convos/support/one-1/messages/{message}"]
    of_visitor.append(f"/convos/support/one-1?change={message}")
    version = ask(run, "GET", "/v3/agents/support/versions")["data"][0]["number"]
    webhook = ask(run, "GET", "/v3/webhooks")["data"][0]["id"]
    delivery = ask(run, "GET", f"/v3/webhooks/{webhook}/deliveries")["data"][0]["id"]
    others = [f"/agents/support/versions/{version}", f"/settings/webhooks/{webhook}/deliveries/{delivery}"]
    return [*of_visitor, *(f"/settings/erasures/{one}" for one in erasures), *pages_of_tool, *others]


@whole
@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_too_wide(path: str, person: Person) -> None:
    check_width(path, person)


def test_nothing_is_too_wide_with_the_navigation_at_the_top(stranger: Person) -> None:
    stranger.be_signed_in(hostile.EMAIL_AT_THE_TOP)
    for path in pages.NAVIGATION:
        check_width(path, stranger)
        check(stranger, "light")


def test_a_name_of_any_length_takes_one_line_in_the_navigation(person: Person) -> None:
    measure = """
    const name = document.querySelector('.who span');
    name.textContent = arguments[0];
    const fits = name.parentElement.getBoundingClientRect().right <= document.querySelector('.side').clientWidth;
    return [fits, name.clientHeight < 25];
    """
    for size in (WIDE, (900, 700), (700, 700)):
        chromium.resize(person.driver, *size)
        person.open("/account")
        assert person.driver.execute_script(measure, "Noor Visser-van den Berg " * 4) == [True, True], size


def test_texts_for_screen_readers_stay_out_of_sight_in_the_third_column(person: Person) -> None:
    person.open("/agents")
    person.driver.execute_script(
        "const card = document.querySelector('.agents > li');card.after(card.cloneNode(true), card.cloneNode(true))"
    )
    in_sight = (
        "return [...document.querySelectorAll('.unseen')].filter(one => one.getBoundingClientRect().right > 0).length"
    )
    assert person.driver.execute_script("return document.querySelectorAll('.agents .unseen').length") > 2
    assert person.driver.execute_script(in_sight) == 0


def test_a_typed_password_can_be_shown_and_hidden(stranger: Person) -> None:
    stranger.driver.delete_all_cookies()
    stranger.open()
    button = stranger.find("#password + .show")
    assert button.accessible_name == "Show: Password"
    types = []
    for _ in range(2):
        button.click()
        types.append((stranger.find("#password").get_attribute("type"), button.get_attribute("aria-pressed")))
    assert types == [("text", "true"), ("password", "false")]


def test_the_conversations_have_a_heading_on_phones(person: Person) -> None:
    person.open("/convos")
    chromium.resize(person.driver, *NARROW)
    assert person.driver.execute_script("return document.querySelector('h1').getBoundingClientRect().left") >= 0


def test_the_three_templates_of_an_empty_page_fill_its_width(person: Person) -> None:
    person.open("/agents")
    columns = """
    const blank = document.createElement("div"), starters = document.createElement("nav");
    [blank.className, starters.className] = ["blank", "starters narrow"];
    starters.append(document.createElement("ul"));
    blank.append(starters);
    document.querySelector("main").append(blank);
    return getComputedStyle(starters.firstChild).gridTemplateColumns.split(" ").length;
    """
    assert person.driver.execute_script(columns) == 3


def test_a_chosen_theme_replaces_that_of_the_system(person: Person) -> None:
    background = "return getComputedStyle(document.body.parentElement).backgroundColor"
    person.open("/account")
    light = person.driver.execute_script(background)
    person.prefer("dark")
    dark = person.driver.execute_script(background)
    for theme, scheme, colour in (("dark", "light", dark), ("light", "dark", light), ("", "dark", dark)):
        person.open("/account")
        person.prefer(scheme)
        person.fill("name", "Noor")
        person.find(f"label:has([name=theme][value='{theme}'])").click()
        assert person.driver.execute_script(background) == colour and person.read("#name", "value") == "Noor"
        person.leave(person.find(".sticky button"))
        assert person.driver.execute_script(background) == colour != {dark: light, light: dark}[colour]
        check(person, scheme)
        chromium.resize(person.driver, *WIDE)


def check_page(path: str, person: Person) -> None:
    """Fail if a page violates a rule of `check` in either scheme, contains unescaped text, or is too wide."""
    for scheme in ("light", "dark"):
        person.open(path)
        check(person, scheme)
    assert unescaped_elements(person) == [None], path
    check_width(path, person)


def check_width(path: str, person: Person) -> None:
    """Fail if a page with all details open is wider than the screen at any of four widths."""
    for size in (NARROW, (320, 700), (900, 700), WIDE):
        chromium.resize(person.driver, *size)
        person.open(path)
        for folded in person.driver.find_elements("css selector", "details:not([open]) > summary")[:3]:
            person.driver.execute_script("arguments[0].parentElement.open = true", folded)
        widths = "return ['html', 'main'].map((name) => document.querySelector(name).scrollWidth)"
        assert max(person.driver.execute_script(widths)) <= size[0]


@pytest.mark.parametrize("path", ["/overview", "/convos/support/one-1", "/analytics", "/leads", "/settings"])
def test_the_keyboard_reaches_everything_in_sight(path: str, person: Person) -> None:
    person.open(path)
    seen: list[Any] = []
    stops = [stop for stop in person.driver.find_elements("css selector", _STOPS) if stop.is_displayed()]
    for _ in stops[:40]:
        person.driver.switch_to.active_element.send_keys(Keys.TAB)
        seen.append(person.driver.execute_script(_FOCUS))
    assert 'class="skip"' in seen[0][0]
    assert [html for html, is_visible in seen if not is_visible] == []


def test_the_skip_link_leads_to_the_content(person: Person) -> None:
    person.open("/convos")
    person.driver.switch_to.active_element.send_keys(Keys.TAB)
    person.driver.switch_to.active_element.send_keys(Keys.ENTER)
    person.driver.switch_to.active_element.send_keys(Keys.TAB)
    assert person.driver.execute_script("return document.activeElement.closest('main') !== null")


def unescaped_elements(person: Person) -> list[Any]:
    found: list[Any] = person.driver.execute_script(_FIND_UNESCAPED)
    return found


def policy(person: Person) -> str:
    script = "return fetch(location.href).then((answer) => answer.headers.get('content-security-policy'))"
    return str(person.driver.execute_script(script))
