"""A site with the one line that the console shows opens the chat in a frame from an example server."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests import extensions
from tests.reliability import runs
from tests.reliability.runs import Run

extensions.require("console")

from tests.browser import axe, chromium
from tests.browser.test_widget import BackEnd, eventually, lines, texts, write
from tests.browser.test_widget import browser as browser
from tests.browser.test_widget import run as run
from tests.browser.test_widget import web as web
from tests.extensions.console import test_site_servers

_BUTTON = "document.querySelector('cams-chat').shadowRoot.querySelector('button')"
_FRAME = "document.querySelector('cams-chat').shadowRoot.querySelector('iframe')"
_STATE = f"return [{_BUTTON}.ariaExpanded, {_BUTTON}.ariaLabel, {_FRAME}.hidden, {_BUTTON}.className]"
_FOCUS = f"return document.querySelector('cams-chat').shadowRoot.activeElement === {_BUTTON}"
CLOSED, OPENED = ["false", "Open the chat", True, ""], ["true", "Close the chat", False, ""]
WELCOME = "Welcome to our shop."


class Site(ThreadingHTTPServer):
    """A site on another host than the chat. Its policy allows the chat's address and nothing inline."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.chat, self.url = "", f"http://127.0.0.1:{self.server_port}"


class _Page(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        chat, allowed = self.server.chat, "default-src 'none'; require-trusted-types-for 'script'"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Security-Policy", f"{allowed}; script-src {chat}; frame-src {chat}")
        self.end_headers()
        line = f'<script src="{chat}/embed.js" async></script>'
        head = f'<meta name="viewport" content="width=device-width"><title>Shop</title>{line}'
        page = f'<!doctype html><html lang="en">{head}<main><h1>Shop</h1></main>{line}</html>'
        self.wfile.write(page.encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    server = Site()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.fixture
def welcome(web: BackEnd, run: Run) -> Iterator[None]:
    """Give the agent a welcome message."""
    change = partial(runs.ask, run, "PATCH", "/v3/agents/support", run.credentials["workspace_key"])
    assert change({"agent": {"vg_initMessages": [WELCOME]}})[0] == 200
    yield
    change({"agent": {"vg_initMessages": []}})


@contextmanager
def opened(
    name: str, site: Site, browser: Chrome, web: BackEnd, folder: Path, sites: str | None = None
) -> Iterator[Any]:
    """Open the site with the chat from this example server, which allows the site."""
    service = f"http://127.0.0.1:{web.run.port}"
    allowed = site.url if sites is None else sites
    with test_site_servers.started(name, service, folder, web.agent_key, allowed) as server:
        site.chat = f"http://localhost:{server.port}"
        browser.get(site.url)
        eventually(browser, lambda page: page.execute_script("return !!document.querySelector('cams-chat')"), True)
        yield server
        browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
        browser.get("about:blank")


def state(page: Chrome) -> Any:
    page.switch_to.default_content()
    return page.execute_script(_STATE)


def enter_frame(page: Chrome) -> None:
    page.switch_to.frame(page.execute_script(f"return {_FRAME}"))


def press(page: Chrome, *keys: str) -> None:
    for key in keys:
        ActionChains(page).send_keys(key).perform()


def failures(page: Chrome) -> list[str]:
    """Return what Chromium logged, apart from the 404 of icons and before the first message."""
    logged = [one["message"] for one in page.get_log("browser") if one["level"] == "SEVERE"]
    return [one for one in logged if "status of 404" not in one]


@pytest.mark.parametrize("name", test_site_servers.COMMANDS)
def test_a_visitor_of_a_strict_site_opens_writes_and_returns(
    name: str, site: Site, browser: Chrome, web: BackEnd, welcome: None, tmp_path: Path
) -> None:
    """The cookie is of this site's partition, because the chat's host is another site."""
    failures(browser)
    with opened(name, site, browser, web, tmp_path):
        assert state(browser) == CLOSED
        assert browser.execute_script("return document.querySelectorAll('cams-chat').length") == 1
        press(browser, Keys.TAB, Keys.ENTER)
        assert state(browser) == OPENED
        enter_frame(browser)
        eventually(browser, partial(texts, selector="#chat li.welcome"), [WELCOME])
        eventually(browser, lambda page: page.execute_script("return document.activeElement.tagName"), "INPUT")
        write(browser, f"Hello, {name}")
        eventually(browser, lines, [WELCOME, f"Hello, {name}"])
        browser.get(site.url)
        eventually(browser, lambda page: page.execute_script("return !!document.querySelector('cams-chat')"), True)
        browser.execute_script(f"{_BUTTON}.click()")
        enter_frame(browser)
        eventually(browser, lines, [WELCOME, f"Hello, {name}"])
        assert browser.execute_script("return document.cookie") == ""
    assert failures(browser) == []


def test_escape_and_both_buttons_close_the_chat(site: Site, browser: Chrome, web: BackEnd, tmp_path: Path) -> None:
    with opened("server.py", site, browser, web, tmp_path):
        press(browser, Keys.TAB, Keys.ENTER)
        enter_frame(browser)
        eventually(browser, lambda page: page.execute_script("return document.activeElement.tagName"), "INPUT")
        press(browser, Keys.ESCAPE)
        eventually(browser, state, CLOSED)
        assert browser.execute_script(_FOCUS)
        press(browser, Keys.ENTER)
        assert state(browser) == OPENED
        enter_frame(browser)
        browser.find_element("css selector", "#chat h1 + button").click()
        eventually(browser, state, CLOSED)
        browser.execute_script(f"{_BUTTON}.click()")
        assert state(browser) == OPENED
        browser.execute_script(f"{_BUTTON}.click()")
        assert state(browser) == CLOSED and browser.execute_script(_FOCUS)


def test_a_message_to_a_closed_chat_marks_the_button(
    site: Site, browser: Chrome, web: BackEnd, welcome: None, tmp_path: Path
) -> None:
    """Welcome messages and the visitor's own do not mark it."""
    with opened("server.py", site, browser, web, tmp_path) as server:
        browser.execute_script("window.received = []; onmessage = ({data}) => received.push(data)")
        browser.execute_script(f"{_BUTTON}.click(); {_BUTTON}.click()")
        enter_frame(browser)
        eventually(browser, lambda page: page.execute_script("return document.querySelectorAll('#chat li').length"), 1)
        assert state(browser) == CLOSED
        browser.execute_script(f"{_BUTTON}.click()")
        enter_frame(browser)
        eventually(browser, lambda page: page.execute_script("return document.activeElement.tagName"), "INPUT")
        write(browser, "Hello")
        eventually(browser, lines, [WELCOME, "Hello"])
        address = browser.execute_async_script(
            "fetch('/chat-session', {method: 'POST'}).then((answer) => answer.json()).then(arguments[0])"
        )
        browser.switch_to.default_content()
        browser.execute_script(f"{_BUTTON}.click()")
        web.conversation = address["conversation"].rpartition("/")[2]
        web.say("We are open.")
        eventually(browser, state, ["false", "Open the chat", True, "unread"])
        assert browser.execute_script("return received") == ["message"]
        browser.execute_script(f"{_BUTTON}.click()")
        assert state(browser) == OPENED and server


def test_other_sites_cannot_show_the_chat(site: Site, browser: Chrome, web: BackEnd, tmp_path: Path) -> None:
    with opened("server.mjs", site, browser, web, tmp_path, "https://www.acme.test"):
        logged = failures(browser)
        browser.execute_script(f"{_BUTTON}.click()")
        eventually(browser, lambda page: logged.extend(failures(page)) or "frame-ancestors" in str(logged), True)
        enter_frame(browser)
        assert texts(browser, "#chat") == []


def test_the_chat_fills_a_phone_and_is_accessible(site: Site, browser: Chrome, web: BackEnd, tmp_path: Path) -> None:
    axe.install()
    with opened("server.py", site, browser, web, tmp_path):
        for width, height, size in ((1400, 900, [384, 600]), (390, 844, [390, 844])):
            chromium.resize(browser, width, height)
            assert state(browser) == CLOSED and axe.violations(browser) == []
            browser.execute_script(f"{_BUTTON}.click()")
            assert browser.execute_script(f"return [{_FRAME}.clientWidth, {_FRAME}.clientHeight]") == size
            shown = browser.execute_script(f"return getComputedStyle({_BUTTON}).display")
            assert shown == ("none" if width == 390 else "block") and axe.violations(browser) == []
            enter_frame(browser)
            eventually(browser, lambda page: texts(page, "#chat h1 + button"), ["✕"])
            assert axe.violations(browser) == []
            assert [one for one in axe.contrasts(browser) if one[1] < one[2]] == []
            browser.find_element("css selector", "#chat h1 + button").click()
            eventually(browser, state, CLOSED)
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
