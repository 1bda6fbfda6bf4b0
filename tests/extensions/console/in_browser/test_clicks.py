"""The number of clicks that frequent tasks take. A click into a field counts, and typing does not."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.remote.webelement import WebElement

from tests.extensions.console.in_browser.person import Person, converse
from tests.reliability import runs
from tests.reliability.runs import Run
from tests.selection import whole

_TWO_MINUTES = 120


class CountedPerson(Person):
    """A person whose clicks are counted."""

    clicks = 0

    def leave(self, element: WebElement) -> None:
        """Click an element that leads to another page."""
        self.clicks += 1
        super().leave(element)

    def write(self, name: str, text: str) -> None:
        """Click into the field with this name, and type."""
        self.clicks += 1
        self.find(f"[name={name}]:not([type=hidden])").click()
        ActionChains(self.driver).send_keys(text).perform()


@pytest.fixture
def empty_run(tmp_path: Path) -> Iterator[Run]:
    """Return a run whose workspace is empty."""
    run = runs.begin(tmp_path / "empty", runs.free_port())
    yield run
    runs.kill(run)


def test_the_longest_wait_is_two_clicks_away(browsers: tuple[Chrome, Chrome], run: Run) -> None:
    for name in ("first", "second"):
        converse(run, name, {"state": "requested_chat", "userName": name}, [{"item": {"text": "A person, please"}}])
        time.sleep(1.1)  # waits are compared by the second
    person = CountedPerson(browsers[0], run)
    person.be_signed_in()
    person.clicks = 0
    person.open("/overview")
    person.leave(person.find(".waits li a"))
    person.write("text", "Good morning")
    assert person.clicks == 2
    assert person.driver.current_url.endswith("/first")
    assert person.find("#text").get_attribute("value") == "Good morning"


@whole
def test_a_new_agent_has_a_conversation_after_nine_clicks(browsers: tuple[Chrome, Chrome], empty_run: Run) -> None:
    person = CountedPerson(browsers[0], empty_run)
    person.sign_in_as_operator()
    person.clicks, start = 0, time.monotonic()
    person.press("Create an agent")
    person.write("title", "Bikes")
    person.press("Create agent")
    person.press("Try it")
    person.write("text", "Is the shop open?")
    person.press("Send as the visitor")
    person.press("Answer as a person")
    person.write("text", "Yes, until six.")
    person.clicks += 1
    person.find("[name=action][value=reply]").click()
    person.sees("With a person")
    assert "Yes, until six." in person.find(".turns").text
    assert person.clicks <= 9
    assert time.monotonic() - start < _TWO_MINUTES
