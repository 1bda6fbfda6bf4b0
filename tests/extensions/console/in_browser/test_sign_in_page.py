"""The pages before the sign-in have a picture of a conversation beside the form, where there is room."""

import pytest
from selenium.webdriver import Chrome

from tests.browser import chromium
from tests.extensions.console.in_browser.person import Person
from tests.reliability.runs import Run


@pytest.mark.parametrize("path", ["", "/..", "/forgot-password"])
@pytest.mark.parametrize(("width", "has_picture"), [(1400, True), (900, True), (899, False), (390, False)])
def test_wide_windows_have_a_picture_beside_the_form(
    path: str, width: int, has_picture: bool, browsers: tuple[Chrome, Chrome], run: Run
) -> None:
    person = Person(browsers[0], run)
    person.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    chromium.resize(person.driver, width, 800)
    person.open(path)
    assert person.find(".talk").is_displayed() == has_picture
    button = person.find("main form button:not(.show)").rect
    assert button["y"] + button["height"] <= 800
    assert (button["x"] > width / 2) == has_picture
