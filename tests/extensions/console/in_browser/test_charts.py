"""The point of a chart that a person selects with the pointer, a finger or the arrow keys."""

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests import extensions
from tests.browser import chromium
from tests.extensions.console.in_browser.person import NARROW, WIDE, Person, count
from tests.reliability.runs import Run

extensions.require("reports")

_RIGHT_EDGES = """
const right = (selector) => Math.round(document.querySelector(selector).getBoundingClientRect().right);
return [".plot .before", ".plot", ".trend"].map(right);
"""
# The number of different points that a chart marks.
_DOTS = "return new Set(arguments[0].closest('.chart').querySelector('.dots').getAttribute('d').split('M')).size - 1"
_IS_MARKED = "return getComputedStyle(arguments[0].closest('.chart').querySelector('.dots')).visibility === 'visible'"
_TO_MIDDLE = "arguments[0].scrollIntoView({block: 'center'})"
_TAP = "Input.dispatchTouchEvent"


@pytest.fixture(scope="module")
def counted_run(run: Run) -> Run:
    """Return the run, with 12 conversations of today."""
    count(run, "website", 12)
    return run


@pytest.fixture
def person(browsers: tuple[Chrome, Chrome], counted_run: Run) -> Iterator[Person]:
    """Return a signed-in person. Fail if the browser reports an error during the test."""
    person = Person(browsers[0], counted_run)
    person.be_signed_in()
    yield person
    assert person.log() == []


def date(days: int) -> str:
    """Return the date some days before today, as pages show it."""
    return f"{datetime.now(timezone.utc) - timedelta(days=days):%-d %b}"


def value_at(days: int, number: int) -> str:
    """Return the text for a day in the chart of a week."""
    return f"This period, {date(days)}: {number}; Previous period, {date(days + 7)}: 0"


def slider(person: Person) -> WebElement:
    person.open("/analytics?days=7")
    return person.find(".chart input")


def test_arrow_keys_move_along_a_chart(person: Person) -> None:
    point = slider(person)
    assert point.get_attribute("aria-label") == "Conversations"
    person.driver.execute_script("arguments[0].focus()", point)
    for key, days, number in ((None, 0, 12), (Keys.LEFT, 1, 0), (Keys.HOME, 6, 0), (Keys.END, 0, 12)):
        if key:
            point.send_keys(key)
        assert point.get_attribute("aria-valuetext") == value_at(days, number)
        assert person.driver.execute_script(_DOTS, point) == (2 if number else 1)
        assert person.driver.execute_script(_IS_MARKED, point)
    point.send_keys(Keys.TAB)
    assert not person.driver.execute_script(_IS_MARKED, point)


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_the_pointer_selects_the_nearest_point(size: tuple[int, int], person: Person) -> None:
    chromium.resize(person.driver, *size)
    point = slider(person)
    person.driver.execute_script(_TO_MIDDLE, point)
    right = (point.size["width"] - 16) // 2
    for offset, days, number in ((right, 0, 12), (-right, 6, 0), (right // 3 + 4, 2, 0), (right // 3 - 4, 2, 0)):
        ActionChains(person.driver, 0).move_to_element_with_offset(point, offset, 0).perform()
        assert point.get_attribute("aria-valuetext") == value_at(days, number), offset
        assert person.driver.execute_script(_IS_MARKED, point)
    ActionChains(person.driver, 0).move_to_element(person.find("h1")).perform()
    assert not person.driver.execute_script(_IS_MARKED, point)


def test_a_finger_selects_a_point(person: Person) -> None:
    point = slider(person)
    person.driver.execute_script(_TO_MIDDLE, point)
    box = person.driver.execute_script("return arguments[0].getBoundingClientRect()", point)
    at = {"x": box["x"] + 9, "y": box["y"] + 50}
    person.driver.execute_cdp_cmd(_TAP, {"type": "touchStart", "touchPoints": [at]})
    person.driver.execute_cdp_cmd(_TAP, {"type": "touchEnd", "touchPoints": []})
    assert point.get_attribute("aria-valuetext") == value_at(6, 0)
    assert person.driver.execute_script(_IS_MARKED, point)


def test_a_chart_has_its_values_in_a_table_without_javascript(person: Person) -> None:
    person.use_javascript(False)
    try:
        assert not slider(person).is_displayed()
        person.find(".chart summary").click()
        assert f"{date(0)} 12 {date(7)} 0" in person.text()
    finally:
        person.use_javascript(True)


def test_charts_fit_a_resized_window(person: Person) -> None:
    chromium.resize(person.driver, *WIDE)
    person.open("/analytics?days=7")
    wide = person.driver.execute_script(_RIGHT_EDGES)
    chromium.resize(person.driver, *NARROW)
    narrow = person.driver.execute_script(_RIGHT_EDGES)
    assert [abs(line - plot) <= 1 for line, plot, _ in (wide, narrow)] == [True, True]
    assert max(narrow) < NARROW[0] < max(wide)


def test_a_bar_is_visible(person: Person) -> None:
    person.open("/overview")
    assert (
        person.driver.execute_script("return document.querySelector('.amount rect').getBoundingClientRect().width") > 50
    )
