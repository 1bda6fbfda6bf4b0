"""The notices of what a form has done are above the page, and cover nothing that a person needs next."""

import pytest
from selenium.webdriver import Chrome

from tests.browser import axe, chromium
from tests.extensions.console.in_browser.person import Person
from tests.reliability.runs import Run

_TOP = "return document.querySelector('h1').getBoundingClientRect().top"
_FINISH = "for (const one of document.querySelector('.toast').getAnimations()) one.finish()"
# Whether the notice is within the window, and which of these elements it covers in part.
_COVERED = """
const box = (element) => element.getBoundingClientRect(), toast = box(document.querySelector(".toast"));
const overlaps = ({ left, right, top, bottom }) =>
  left < toast.right && right > toast.left && top < toast.bottom && bottom > toast.top;
const isInside = toast.left >= 0 && toast.right <= innerWidth && toast.top >= 0;
return [isInside, [...document.querySelectorAll("h1, .sticky, .side nav")].filter((one) => overlaps(box(one))).length];
"""


@pytest.mark.parametrize("size", [(1400, 900), (900, 900), (390, 844)], ids=["wide", "medium", "narrow"])
def test_a_notice_of_success_moves_nothing_and_disappears(size: tuple[int, int], person: Person) -> None:
    chromium.resize(person.driver, *size)
    person.open("/account")
    before = person.driver.execute_script(_TOP)
    person.press("Save")
    assert (person.read(".toast"), person.driver.execute_script(_TOP)) == ("Saved.", before)
    assert person.driver.execute_script(_COVERED) == [True, 0]
    person.driver.execute_script(_FINISH)
    assert not person.find(".toast").is_displayed()


def test_a_notice_with_a_link_stays_until_it_is_closed(browsers: tuple[Chrome, Chrome], run: Run) -> None:
    person = Person(browsers[0], run)
    person.sign_in_as_operator()
    person.open("/agents/support?saved=created")
    person.driver.execute_script(_FINISH)
    assert person.find(".toast a").is_displayed()
    for scheme in ("light", "dark"):
        person.prefer(scheme)
        axe.install()
        assert axe.violations(person.driver) == []
        assert [one for one in axe.contrasts(person.driver) if one[1] < one[2]] == []
    person.find(".close").click()
    assert not person.find(".toast").is_displayed()
