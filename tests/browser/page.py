"""The documentation page, operated by clicks and keystrokes, as a reader would."""

import json
import time
from typing import Any

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

_SECONDS = 60
# The page also shows events as operations, but they cannot be executed.
_OPERATION = ".opblock-tag-section .opblock"


class Page:
    """The page `/docs` of a running service."""

    def __init__(self, driver: Chrome, url: str) -> None:
        self.driver = driver
        self.url = url

    def open(self) -> "Page":
        """Open the documentation and wait for the first operation."""
        self.driver.get(f"{self.url}/docs")
        self.find(".opblock-summary-control")
        return self

    def authorize(self, key: str) -> None:
        """Enter the key in the dialog's only field."""
        self.find(".btn.authorize").click()
        self.find(".auth-container input")
        (box,) = self.all(".auth-container input")
        box.send_keys(key)
        self.find(".auth-btn-wrapper .authorize").click()
        self.find(".btn-done").click()

    def operations(self) -> list[str]:
        """Return the page's operations in order, as `METHOD /path`."""
        methods, paths = (self.all(f"{_OPERATION} .opblock-summary-{part}") for part in ("method", "path"))
        return [f"{method.text} {path.get_attribute('data-path')}" for method, path in zip(methods, paths, strict=True)]

    def execute(self, place: int, ids: dict[str, str]) -> tuple[int, Any]:
        """Execute the operation at this position on the page; return the status and the body.

        Values that the page fills in stay unchanged. `ids` are typed into empty path parameters.
        """
        block = self.all(_OPERATION)[place]
        control = block.find_element(By.CSS_SELECTOR, ".opblock-summary-control")
        self.click(control)
        button = self.find(".btn.execute", block)
        for row in self.all("tr[data-param-in=path]", block):
            box = row.find_element(By.CSS_SELECTOR, "input")
            if not box.get_attribute("value"):
                box.send_keys(ids[row.get_attribute("data-param-name") or ""])
        answer = self._press(button, block)
        body = self.all(".live-responses-table tr.response .highlight-code code", block)
        text = body[0].get_attribute("textContent") if body else None
        status = int(answer.text.split()[0])
        self.click(control)
        return status, json.loads(text) if text else None

    def _press(self, button: WebElement, block: WebElement) -> WebElement:
        """Press Execute until the page sends the request; return the element that contains the response's status.

        A click right after an operation is expanded may be lost, because the page builds the form in several steps.
        """

        selector = ".live-responses-table tr.response .response-col_status"
        for _ in range(_SECONDS):
            button.send_keys(Keys.ENTER)  # a click may miss while the page still moves because an example is inserted
            for _ in range(20):
                is_sent = bool(self.all(".loading-container", block))
                if found := self.all(selector, block):
                    return found[0]
                time.sleep(0.05)
            if is_sent:
                return self.find(selector, block)
        problems = [one.text for one in self.all(".validation-errors, .invalid", block)]
        raise AssertionError(f"Execute does not send a request: {problems}")

    def find(self, selector: str, inside: WebElement | None = None) -> WebElement:
        """Return the first matching element as soon as it exists."""
        return WebDriverWait(self.driver, _SECONDS, 0.05).until(lambda _: self.all(selector, inside), selector)[0]

    def all(self, selector: str, inside: WebElement | None = None) -> list[WebElement]:
        """Return all matching elements that currently exist."""
        return (inside or self.driver).find_elements(By.CSS_SELECTOR, selector)

    def click(self, element: WebElement) -> None:
        """Scroll the element to the middle of the screen and click it."""
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()
