"""An operator creates and tests a tool on its page."""

import json

from selenium.webdriver import Chrome

from tests import extensions
from tests.browser import chromium
from tests.extensions.console.in_browser import hostile
from tests.extensions.console.in_browser.person import NARROW, WIDE, Person
from tests.extensions.console.in_browser.test_pages import check, unescaped_elements
from tests.reliability.runs import Run
from tests.sending.receivers import receiver

extensions.require("tool_calls")

from tests.extensions.tool_calls.servers import HEAD, reads_any

_FOCUSED = "return document.activeElement.name || document.activeElement.className"
_IS_IN_SIGHT = "const at = arguments[0].getBoundingClientRect(); return at.top >= 0 && at.top < innerHeight - 100"


def test_a_tool_is_created_tested_changed_and_tested_again(browsers: tuple[Chrome, Chrome], run: Run) -> None:
    person = Person(browsers[0], run)
    person.sign_in_as_operator()
    body = json.dumps({"boats": [{"name": hostile.ALL, "seats": number} for number in range(30)]}).encode()
    with receiver(reads_any(HEAD + b"X-Boat: <b>\r\n\r\n" + body)) as server:
        chromium.resize(person.driver, *WIDE)
        person.open("/agents/support/new-tool")
        person.fill("name", "find_boats")
        person.fill("serverUrl", f"{server.url}/{{pier}}")
        person.press("Create and test")
        assert person.driver.execute_script(_FOCUSED) == "argument.pier"
        person.sees("Enter a value for pier")
        check(person, "light")
        for size, pier in ((WIDE, "7"), (NARROW, "<b>")):
            chromium.resize(person.driver, *size)
            person.fill("'argument.pier'", pier)
            person.press("Save and test")
            assert person.driver.execute_script(_FOCUSED) == "result"
            assert person.driver.execute_script(_IS_IN_SIGHT, person.find(".result"))
            person.sees("200 OK")
            assert person.find("[name='argument.pier']").get_attribute("value") == pier
        for summary in person.driver.find_elements("css selector", ".result summary"):
            # On a phone, the notice is at the bottom for ten seconds, so a person scrolls.
            person.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", summary)
            summary.click()
        for scheme in ("light", "dark"):
            check(person, scheme)
    assert unescaped_elements(person) == [None]
    assert person.log() == []
