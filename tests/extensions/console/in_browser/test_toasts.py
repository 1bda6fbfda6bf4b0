"""The notices of what a form has done are above the page, and cover nothing that a person needs next."""

import pytest
from selenium.webdriver import Chrome

from tests.browser import axe, chromium
from tests.extensions.console.in_browser.person import Person, converse
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
# The controls at whose middle the notice is, after one has scrolled there. A row is chosen, which shows the bulk bar.
_OUT_OF_REACH = """
document.querySelector(".pick input")?.click();
const toast = document.querySelector(".toast"), box = (element) => element.getBoundingClientRect();
const kinds = "a[href], button, input:not([type=hidden]), select, textarea, summary, .bar, .sticky";
const controls = [...document.querySelectorAll(kinds)].filter((one) => one.checkVisibility() && !toast.contains(one));
return controls.filter((one) => {
  one.scrollIntoView({ block: "center" });
  const { left, right, top, bottom } = box(one), at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  return toast.contains(at) || (one.matches(".bar") && bottom > box(toast).top && top < box(toast).bottom);
}).map((one) => one.outerHTML.slice(0, 80));
"""
_NOTICES = (
    "/convos?tab=all&done=end&changed=2&ended=support/live",
    "/agents?saved=deleted",
    "/agents/support?saved=created",
    "/settings/orgs/acme?saved=invited",
)


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


@pytest.mark.parametrize("width", [1400, 1250, 1100, 900, 700, 390])
def test_no_control_is_out_of_reach_below_a_notice(width: int, browsers: tuple[Chrome, Chrome], run: Run) -> None:
    converse(run, "live", {"userName": "Ann", "state": "requested_chat"}, [{"mid": "1", "item": {"text": "Hello"}}])
    person = Person(browsers[0], run)
    person.sign_in_as_operator()
    chromium.resize(person.driver, width, 800)
    for path in _NOTICES:
        person.open(path)
        assert person.driver.execute_script(_OUT_OF_REACH) == [], path
