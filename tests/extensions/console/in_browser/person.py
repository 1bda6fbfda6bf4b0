"""A console user who clicks and types, with or without JavaScript."""

import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any
from urllib.parse import urlencode

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from infra.local.children import ROOT
from tests.browser import chromium
from tests.reliability import runs
from tests.reliability.runs import Run

SECONDS = 15
EMAIL, PASSWORD = "bo@acme.test", "correct horse"
WIDE, NARROW = (1400, 900), (390, 844)
LIVE = "/convos/support/live"  # the page that the fixture `person` opens
_HIDE = """
Object.defineProperty(document, "hidden", {value: arguments[0], configurable: true});
document.dispatchEvent(new Event("visibilitychange"));
"""


class Person:
    """A person who uses a run's console in a separate browser."""

    def __init__(self, driver: Chrome, run: Run) -> None:
        self.driver, self.run = driver, run
        self.home = f"http://127.0.0.1:{run.port}/console/{run.credentials['workspace_id']}"
        chromium.resize(driver, *WIDE)

    def use_javascript(self, value: bool) -> None:
        """Enable or disable JavaScript for the pages that are opened next. The driver's scripts always run."""
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not value})
        self.driver.get("data:text/html,<script>document.title = 'runs'</script>")
        assert self.driver.title == ("runs" if value else "")

    def hide(self, value: bool) -> None:
        """Hide or show the page."""
        self.driver.execute_script(_HIDE, value)

    def be_offline(self, value: bool) -> None:
        """Disconnect the browser from the network, or connect it again."""
        conditions = {"offline": value, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)

    def prefer(self, scheme: str) -> None:
        """Set the preferred colour scheme, `light` or `dark`."""
        features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", features)

    def open(self, path: str = "") -> None:
        """Open one of the workspace's pages."""
        self.driver.get(self.home + path)

    def sign_in(self, password: str = PASSWORD, email: str = EMAIL) -> None:
        """Delete the cookies of earlier tests, and submit the sign-in form."""
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.open()
        self.fill("email", email)
        self.fill("password", password)
        self.press("Sign in")

    def sign_in_as_operator(self) -> None:
        """Sign in with the workspace key."""
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.open()
        self.find("label[for=with-key]").click()
        self.fill("key", self.run.credentials["workspace_key"])
        self.leave(self.find(".with-key button:not([type=button])"))

    def be_signed_in(self, email: str = EMAIL) -> None:
        """Sign in, or reuse the session, because each email address is limited to ten attempts in five minutes."""
        self.open("/overview")
        if not self.driver.find_elements(By.CLASS_NAME, "who"):
            self.sign_in(email=email)
            self.find(".who")

    def fill(self, name: str, text: str) -> None:
        """Type into the field with this name."""
        field = self.find(f"[name={name}]:not([type=hidden])")
        field.clear()
        field.send_keys(text)

    def filter(self, name: str, value: str) -> None:
        """Change a filter, and wait for the next page."""
        self.apply(".filters", name, value)

    def apply(self, form: str, name: str, value: str) -> None:
        """Change a field that applies immediately, and wait for the next page. Without JavaScript, press the button."""
        button = self.find(f"{form} button")
        change = """
            const [field, value, button] = arguments;
            field.value = value;
            if (button.hidden) field.dispatchEvent(new Event("change", { bubbles: true }));
            else button.click();
        """
        page = self.driver.find_element(By.TAG_NAME, "html")
        self.driver.execute_script(change, self.find(f"{form} [name={name}]:not([type=hidden])"), value, button)
        self._await_page_after(page)

    def press(self, text: str) -> None:
        """Click the button or link with this text, and wait for the next page."""
        found = self.driver.find_elements(By.XPATH, f"//main//*[self::button or self::a][normalize-space()='{text}']")
        self.leave(found[0])

    def reply(self, text: str) -> None:
        """Send a reply in the open conversation, and wait until the page shows it and empties the form."""
        self.fill("text", text)
        self.find("[name=action][value=reply]").click()
        read = """
            const [turns, draft] = [document.querySelector(".turns"), document.querySelector("#text")];
            return turns?.innerText.includes(arguments[0]) && draft?.value === "";
        """
        self.wait_until(lambda: self.driver.execute_script(read, text), text)

    def leave(self, element: WebElement) -> None:
        """Click an element that leads to another page, and wait for that page."""
        page = self.driver.find_element(By.TAG_NAME, "html")
        element.click()
        self._await_page_after(page)

    def _await_page_after(self, page: WebElement) -> None:
        self.wait_until(lambda: self.driver.find_element(By.TAG_NAME, "html") != page)
        self.find("main")

    def wait_until(self, condition: Callable[[], Any], message: str = "", seconds: float = SECONDS) -> None:
        """Wait until the condition is true. Try again if the page replaces an element that it reads."""
        wait = WebDriverWait(self.driver, seconds, 0.02, [StaleElementReferenceException])
        wait.until(lambda _: condition(), message)

    def find(self, selector: str) -> WebElement:
        """Wait for an element, and return the first match."""
        wait = WebDriverWait(self.driver, SECONDS, 0.02)
        return wait.until(lambda driver: driver.find_elements(By.CSS_SELECTOR, selector), selector)[0]

    def read(self, selector: str, name: str = "innerText") -> Any:
        """Return a property of the first match, or None without a match.

        A single script reads it, because a live update may replace the element at any time.
        """
        script = "return document.querySelector(arguments[0])?.[arguments[1]]"
        return self.driver.execute_script(script, selector, name)

    def text(self) -> str:
        """Return the page's text."""
        return self.find("body").text

    def sees(self, text: str, seconds: float = SECONDS) -> None:
        """Wait until the page contains the text. Fail after `seconds`."""
        self.wait_until(lambda: text in self.text(), text, seconds)

    def log(self) -> list[str]:
        """Return the browser's log entries, such as policy violations. Ignore the responses to invalid forms."""
        messages = [entry["message"] for entry in self.driver.get_log("browser")]  # type: ignore[no-untyped-call]
        return [one for one in messages if "the server responded with a status of 40" not in one]


def ask(run: Run, method: str, path: str, body: Any = None) -> Any:
    """Send an API request with the workspace key, and return the response."""
    status, answer = runs.ask(run, method, path, run.credentials["workspace_key"], body)
    assert status == 200, answer
    return answer


def converse(run: Run, convo_id: str, metadata: Any, messages: list[Any]) -> None:
    """Create or replace a conversation of the agent `support`."""
    body = {"metadata": metadata, "turns": [{"from": one.get("from", "human"), "messages": [one]} for one in messages]}
    ask(run, "POST", f"/agents/support/interact/{convo_id}/state", body)


def count(run: Run, value: str, number: int) -> None:
    """Store counts for today. `value` is the conversations' origin."""
    today = datetime.now(timezone.utc).date().isoformat()
    names = ("conversations", "messages", "interactions", "newVisitors", "handoffs", "leads", "loads", "seconds")
    numbers = dict.fromkeys(names, number)
    arguments = (run.credentials["workspace_id"], "support", today, 0, value)
    code = f"from tests.extensions.console.stored_counts import count; count(*{arguments!r}, **{numbers!r})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=run.environment, check=True)


def address(path: str, **query: str) -> str:
    """Return a path with a query string."""
    return f"{path}?{urlencode(query)}"
