"""The example servers that the console offers run with the chat widget in Chromium."""

from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from tests import extensions
from tests.reliability.runs import Run

extensions.require("console")

from tests.browser.test_widget import BackEnd, eventually, lines, problem, write
from tests.browser.test_widget import browser as browser
from tests.browser.test_widget import run as run
from tests.browser.test_widget import web as web
from tests.extensions.console import test_site_servers


@pytest.mark.parametrize("name", test_site_servers.COMMANDS)
def test_a_visitor_of_an_example_server_returns_to_the_conversation(
    name: str, browser: Chrome, web: BackEnd, run: Run, tmp_path: Path
) -> None:
    """The browser keeps the cookie, which is allowed only over HTTPS and on localhost."""
    service = f"http://127.0.0.1:{run.port}"
    with test_site_servers.started(name, service, tmp_path, web.agent_key) as server:
        browser.get(f"http://localhost:{server.port}/")
        write(browser, f"Hello, {name}")
        eventually(browser, lines, [f"Hello, {name}"])
        browser.refresh()
        eventually(browser, lines, [f"Hello, {name}"])
        assert problem(browser) == "" and browser.execute_script("return document.cookie") == ""
        browser.delete_all_cookies()  # of all ports of this host
        browser.get("about:blank")
